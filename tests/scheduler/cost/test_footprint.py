"""Trip counts and footprints against the same quantities counted instance by instance."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from scheduler.cost.estimate import Estimator
from scheduler.cost.footprint import LINE_BYTES, Shape
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Loop
from scheduler.ir.tree import TreeLoop, path_to
from scheduler.machine.target import Target
from scheduler.polyhedral.model import Model
from scheduler.schedule import parse_schedule
from scheduler.transform.initial import initial_tree
from tests.scheduler import nests

SIZES = {"n": 24, "m": 24, "l": 16, "T": 8}


def shaped(text: str, schedule: str, statement: str) -> tuple[Model, Estimator, tuple[TreeLoop, ...], Shape]:
    model = Model(nests.nest(text))
    tree = initial_tree(model.nest)
    for step in parse_schedule(schedule):
        tree = step.apply(tree)
    estimator = Estimator(model, SIZES, Target(2))
    path = tuple(node for _, node in path_to(tree, statement) if isinstance(node, TreeLoop))
    return model, estimator, path, estimator.shape(statement, path, None)


def instances(model: Model, statement: str) -> list[dict[str, int]]:
    """Every point of the domain (no guards)."""
    points: list[dict[str, int]] = [dict(SIZES)]
    for loop in model.placed[statement].loops:
        points = [{**p, loop.name: v} for p in points for v in _values(loop, p)]
    return points


def _values(loop: Loop, point: dict[str, int]) -> range:
    assert isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)
    return range(max(a.evaluate(point) for a in loop.start), min(a.evaluate(point) for a in loop.stop), loop.step)


def counted(
    model: Model, estimator: Estimator, path: tuple[TreeLoop, ...], statement: str
) -> tuple[list[float], list[float]]:
    """(mean trips of each loop, mean bytes of lines touched in one run of the loops from each level)."""
    points = instances(model, statement)
    rows = [tuple(loop.row(statement).evaluate(p) for loop in path) for p in points]
    touched: list[dict[tuple[int, ...], set[tuple[str, int]]]] = [defaultdict(set) for _ in range(len(path) + 1)]
    for row, point in zip(rows, points, strict=True):
        lines = [_line(estimator, use.access, point) for use in model.uses(statement)]
        for level in range(len(path) + 1):
            touched[level][row[:level]].update(lines)
    trips = [len({r[: k + 1] for r in rows}) / len({r[:k] for r in rows}) for k in range(len(path))]
    return trips, [LINE_BYTES * float(np.mean([len(lines) for lines in level.values()])) for level in touched]


def _line(estimator: Estimator, access: object, point: dict[str, int]) -> tuple[str, int]:
    array = estimator.model.nest.array(access.array)  # type: ignore[attr-defined]
    flat = 0
    for subscript, extent in zip(access.subscripts, array.shape, strict=True):  # type: ignore[attr-defined]
        assert isinstance(subscript, Affine) and extent is not None
        flat = flat * extent.evaluate(point) + subscript.evaluate(point)
    return array.name, flat * 8 // 64


RECTANGULAR = [
    (nests.GEMM, "S1", ""),
    (nests.GEMM, "S1", "distribute(i, 1); interchange(j, k)"),
    (nests.GEMM, "S1", "distribute(i, 1); tile([i_d, j, k], [8, 12, 4])"),
    (nests.GEMM, "S1", "distribute(i, 1); interchange(i_d, k); reverse(j)"),
    (nests.GEMM, "S1", "distribute(i, 1); register_block([i_d, j], [4, 12])"),
    (nests.SEIDEL, "S0", "skew(t, i, 1); skew(t, j, 1); interchange(i, j)"),
]
BOUNDS = [
    (nests.SEIDEL, "S0", "skew(i, j, 2); interchange(i, j)"),
    (nests.SEIDEL, "S0", "skew(t, i, 1); skew(t, j, 1); skew(i, j, 1); tile([t, i, j], [4, 8, 8])"),
    (nests.JACOBI, "S1", "tile([i2, j2], [8, 16]); skew(i2_t, j2_t, 1); interchange(i2_t, j2_t)"),
    (nests.CHOLESKY, "S0", ""),
    (nests.CHOLESKY, "S0", "tile([k], [8])"),
    (nests.LU, "S1", "tile([i, j], [8, 8])"),
    (nests.LU, "S1", "interchange(i, j)"),
    (nests.COVARIANCE, "S1", ""),
]


@pytest.mark.parametrize(("text", "statement", "schedule"), RECTANGULAR)
def test_boxes_are_counted_nearly_exactly(text: str, statement: str, schedule: str) -> None:
    model, estimator, path, shape = shaped(text, schedule, statement)
    trips, touched = counted(model, estimator, path, statement)
    assert list(shape.trips) == pytest.approx(trips, rel=0.08)
    assert shape.footprints.sum(1).tolist() == pytest.approx(touched, rel=0.45)
    assert shape.volumes[0] == pytest.approx(len(instances(model, statement)), rel=1e-6)


@pytest.mark.parametrize(("text", "statement", "schedule"), BOUNDS)
def test_skewed_and_triangular_domains_are_estimated(text: str, statement: str, schedule: str) -> None:
    model, estimator, path, shape = shaped(text, schedule, statement)
    trips, touched = counted(model, estimator, path, statement)
    for found, wanted in zip(shape.trips, trips, strict=True):
        assert wanted / 1.8 <= found <= wanted * 1.8
    for found, wanted in zip(shape.footprints.sum(1).tolist(), touched, strict=True):
        assert wanted / 2.5 <= found <= wanted * 2.5
    assert shape.volumes[0] == pytest.approx(len(instances(model, statement)), rel=0.1)
    assert math.prod(shape.trips) == pytest.approx(shape.volumes[0], rel=0.7)


def test_strides_are_bytes_along_the_coordinates() -> None:
    _, _, path, shape = shaped(nests.GEMM, "distribute(i, 1); interchange(i_d, k)", "S1")  # k, j, i
    assert [loop.origin for loop in path] == ["k", "j", "i"]
    by_array = {(a.array, a.is_write): shape.strides[k] for k, a in enumerate(shape.facts.accesses)}
    assert by_array[0, False] == [8.0, 0.0, 8.0 * SIZES["l"]]  # A[i][k]
    assert by_array[1, False] == [8.0 * SIZES["m"], 8.0, 0.0]  # B[k][j]
    assert by_array[2, True] == [0.0, 8.0, 8.0 * SIZES["m"]]  # C[i][j]


def test_footprints_shrink_inwards_and_never_exceed_the_arrays() -> None:
    for text, statement, schedule in (*RECTANGULAR, *BOUNDS):
        _, estimator, _, shape = shaped(text, schedule, statement)
        sums = shape.footprints.sum(1)
        assert (np.diff(sums) <= 1e-9).all()
        assert (shape.footprints[0] <= np.maximum(estimator.array_sizes, LINE_BYTES) + 1e-9).all()


def test_data_dependent_places_take_a_line_each() -> None:
    model = Model(nests.nest(nests.SPMM))
    estimator = Estimator(model, {"n": 1000, "m": 64}, Target(2))
    (placed,) = model.placed.values()
    path = tuple(n for _, n in path_to(initial_tree(model.nest), "S0") if isinstance(n, TreeLoop))
    shape = estimator.shape("S0", path, None)
    b = next(k for k, a in enumerate(shape.facts.accesses) if a.indirect)
    p = shape.coordinates[1]
    assert math.isinf(shape.strides[b][p]) and placed.loops[1].is_opaque
    rows_of_b = 16 * 64 * 8  # 16 places of 64 doubles in one iteration of i
    assert shape.footprints[1][estimator.numbers["B"]] == pytest.approx(rows_of_b, rel=0.3)


def test_every_path_gives_finite_numbers() -> None:
    for factor, first in product((1, 2, 3), ("i", "j")):
        _, _, _, shape = shaped(nests.SEIDEL, f"skew(t, {first}, {factor}); reverse(t)", "S0")
        assert np.isfinite(shape.footprints).all() and all(math.isfinite(t) and t > 0 for t in shape.trips)
