"""Constraints on the coefficients of rows: what meets them keeps or carries the dependences, what does not does not."""

import random

import pytest

from scheduler.ir.affine import Affine
from scheduler.polyhedral.farkas import Pairs, Row, RowSpace, convex_parts
from scheduler.polyhedral.generators import Constraint, TooManyGenerators, generators
from scheduler.replay import Replayer
from tests.scheduler import nests

SKEWED = """nest skewed {
  param n: int in [2, ?]; array A: double[n][n];
  for i: int in [1, n) step 1 { for j: int in [0, n - 1) step 1 {
    S0: A[i][j] = A[i - 1][j + 1] + 1.0; } }
}"""
SOME = {
    "gemm": nests.GEMM, "jacobi": nests.JACOBI, "cholesky": nests.CHOLESKY, "lu": nests.LU,
    "covariance": nests.COVARIANCE, "seidel": nests.SEIDEL, "private": nests.PRIVATE, "skewed": SKEWED,
}  # fmt: skip


def space_of(text: str) -> tuple[RowSpace, tuple[Pairs, ...]]:
    replayer = Replayer(nests.nest(text))
    return RowSpace(replayer.model), convex_parts(replayer.dependences)


def meets(constraint: Constraint, vector: list[int]) -> bool:
    value = sum(a * x for a, x in zip(constraint.coefficients, vector, strict=True)) + constraint.constant
    return value == 0 if constraint.equality else value >= 0


def test_one_dependence_by_hand() -> None:
    """(i, j) -> (i + 1, j - 1): a row a*i + b*j keeps it where a >= b, carries it where a >= b + 1."""
    space, pairs = space_of(SKEWED)
    (one,) = pairs
    for a in range(-3, 4):
        for b in range(-3, 4):
            vector = [a, b, 5, -7]  # i, j, n, 1
            assert all(meets(c, vector) for c in space.constraints(one, "kept")) == (a >= b)
            assert all(meets(c, vector) for c in space.constraints(one, "carried")) == (a >= b + 1)
            assert all(meets(c, vector) for c in space.constraints(one, "equal")) == (a == b)


@pytest.mark.parametrize("name", SOME)
def test_random_rows(name: str) -> None:
    """The dependences of these nests have integer corners, so that Farkas' lemma is exact on them."""
    space, pairs = space_of(SOME[name])
    rng = random.Random(name)
    kept = 0
    for _ in range(150):
        vector = [rng.choice((0, 0, 0, 1, -1, 2)) for _ in range(space.dimensions)]
        row = space.row(vector)
        for one in rng.sample(pairs, min(3, len(pairs))):
            keeps = all(meets(c, vector) for c in space.constraints(one, "kept"))
            assert keeps == space.keeps(one, row), (str(one.relation), str(row))
            kept += keeps
            if all(meets(c, vector) for c in space.constraints(one, "carried")):
                assert keeps and not space.left(one, row)
            elif keeps:
                assert space.left(one, row)
    assert kept > 20


@pytest.mark.parametrize("name", SOME)
def test_generators_of_rows_keep_what_they_are_to(name: str) -> None:
    space, pairs = space_of(SOME[name])
    names = frozenset(name for one in pairs for name in (one.source, one.sink))
    found = space.generators(names, [c for one in pairs for c in space.constraints(one, "kept")])
    assert found.vertices and found.rays and found.lines
    for vector in (*(v for v, _ in found.vertices), *found.rays, *found.lines, *([-x for x in v] for v in found.lines)):
        assert all(space.keeps(one, space.row(vector)) for one in pairs)
    inner = tuple(map(sum, zip(*found.rays, strict=True)))
    for one in pairs:
        carried = [c for p in pairs for c in space.constraints(p, "carried" if p is one else "kept")]
        assert space.carriable(one, inner) == (not generators(carried, space.dimensions).is_empty)


def test_rows_of_some_statements() -> None:
    space, pairs = space_of(nests.JACOBI)
    with pytest.raises(TooManyGenerators):
        generators([c for p in pairs for c in space.constraints(p, "kept")], space.dimensions, most=3)
    found = space.generators({"S0"}, [])
    assert not found.rays and len(found.lines) == 6
    assert {str(space.row(line)["S1"]) for line in found.lines} == {"0"}
    row = Row((("S0", Affine.of("t")), ("S1", Affine.of("t"))))
    assert str(row) == "S0: t, S1: t" and row["S1"] == Affine.of("t")
