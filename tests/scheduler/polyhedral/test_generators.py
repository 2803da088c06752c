"""Generators of known polyhedra, and of random ones against what subsets of their constraints meet in."""

import random
from fractions import Fraction
from itertools import combinations

import pytest

from scheduler.polyhedral.generators import (
    Constraint,
    Generators,
    TooManyGenerators,
    Vector,
    generators,
    reduced_lines,
)
from scheduler.transform.reschedule import rank


def box(*bounds: tuple[int, int]) -> list[Constraint]:
    unit = [tuple(int(k == one) for k in range(len(bounds))) for one in range(len(bounds))]
    low = [Constraint(u, -a) for u, (a, _) in zip(unit, bounds, strict=True)]
    return [*low, *(Constraint(tuple(-x for x in u), b) for u, (_, b) in zip(unit, bounds, strict=True))]


def test_a_square_has_four_corners() -> None:
    found = generators(box((0, 2), (-1, 1)), 2)
    assert {v for v, _ in found.vertices} == {(0, -1), (0, 1), (2, -1), (2, 1)}
    assert not found.rays and not found.lines and not found.is_empty


def test_rational_corners() -> None:
    found = generators([Constraint((2, 0), -1), Constraint((-3, 0), 2), Constraint((0, 1), 0, True)], 2)
    assert found.vertices == (((1, 0), 2), ((2, 0), 3))


def test_what_nothing_bounds() -> None:
    assert generators([], 2) == Generators((((0, 0), 1),), (), ((1, 0), (0, 1)))
    half = generators([Constraint((1, 1), 0)], 2)
    assert len(half.rays) == 1 and len(half.lines) == 1 and half.vertices == (((0, 0), 1),)
    quarter = generators([Constraint((1, 0), -3), Constraint((0, 1), 2)], 2)
    assert quarter == Generators((((3, -2), 1),), ((0, 1), (1, 0)), ())


@pytest.mark.parametrize(
    "constraints",
    [
        [Constraint((1,), -1), Constraint((-1,), 0)],
        [Constraint((0,), -1)],
        [Constraint((2,), 1, True), Constraint((1,), 0)],
    ],
)
def test_nothing_at_all(constraints: list[Constraint]) -> None:
    assert generators(constraints, 1).is_empty


def test_redundant_constraints_change_nothing() -> None:
    square = box((0, 1), (0, 1))
    assert generators([*square, Constraint((1, 1), 5), Constraint((-1, -1), 2), *square], 2) == generators(square, 2)


def test_too_many() -> None:
    with pytest.raises(TooManyGenerators, match="more than 100"):
        generators(box(*[(0, 1)] * 7), 7, most=100)
    assert len(generators(box(*[(0, 1)] * 7), 7, most=200).vertices) == 128


def test_lines_in_echelon_form() -> None:
    found = reduced_lines(Generators((((4, 2, 3), 2),), ((1, 0, 7),), ((2, 2, 0), (1, 2, 0))))
    assert found == Generators((((0, 0, 3), 2),), ((0, 0, 1),), ((1, 0, 0), (0, 1, 0)))


@pytest.mark.parametrize("seed", range(60))
def test_random_polyhedra(seed: int) -> None:
    """Corners are where as many constraints as dimensions meet; rays where one less do, as seen from far away."""
    rng = random.Random(seed)
    dimensions = rng.randint(1, 4)
    positive = [Constraint(tuple(int(k == one) for k in range(dimensions)), 3) for one in range(dimensions)]
    drawn = [
        Constraint(tuple(rng.randint(-3, 3) for _ in range(dimensions)), rng.randint(-4, 6), rng.random() < 0.1)
        for _ in range(rng.randint(0, 6))
    ]
    constraints = [*positive, *drawn]
    found = generators(constraints, dimensions)
    assert not found.lines
    corners = {tuple(Fraction(x, d) for x in v) for v, d in found.vertices}
    assert corners == expected_corners(constraints, dimensions)
    if corners:
        assert set(found.rays) == expected_rays(constraints, dimensions)


def fits(constraint: Constraint, point: tuple[Fraction, ...], constant: int) -> bool:
    value = sum((a * x for a, x in zip(constraint.coefficients, point, strict=True)), Fraction(constant))
    return value == 0 if constraint.equality else value >= 0


def expected_corners(constraints: list[Constraint], dimensions: int) -> set[tuple[Fraction, ...]]:
    found = set()
    for chosen in combinations(constraints, dimensions):
        point = solved([c.coefficients for c in chosen], [-c.constant for c in chosen])
        if point is not None and all(fits(c, point, c.constant) for c in constraints):
            found.add(point)
    return found


def expected_rays(constraints: list[Constraint], dimensions: int) -> set[Vector]:
    found = set()
    for chosen in combinations(constraints, dimensions - 1):
        rows = [c.coefficients for c in chosen]
        if rank(rows) < dimensions - 1:
            continue
        for one in range(dimensions):
            for sign in (1, -1):
                unit = tuple(int(k == one) for k in range(dimensions))
                point = solved([*rows, unit], [0] * (dimensions - 1) + [sign])
                if point is not None and all(fits(c, point, 0) for c in constraints):
                    scale = 1
                    for x in point:
                        scale *= x.denominator
                    whole = [int(x * scale) for x in point]
                    divisor = 0
                    for x in whole:
                        divisor = abs(x) if not divisor else gcd_of(divisor, x)
                    found.add(tuple(x // divisor for x in whole))
    return found


def gcd_of(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def solved(rows: list[Vector], values: list[int]) -> tuple[Fraction, ...] | None:
    """The one solution of a square system, None where there is not just one."""
    size = len(rows)
    matrix = [[Fraction(x) for x in (*row, value)] for row, value in zip(rows, values, strict=True)]
    for column in range(size):
        pivot = next((k for k in range(column, size) if matrix[k][column]), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = [x / matrix[column][column] for x in matrix[column]]
        matrix = [
            head if k == column else [x - r[column] * y for x, y in zip(r, head, strict=True)]
            for k, r in enumerate(matrix)
        ]
    return tuple(row[size] for row in matrix)
