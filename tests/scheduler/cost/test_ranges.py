"""Boxes around what loops do, and numbers on a logarithmic scale."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cost.ranges import interval, lg, linear_part, loop_range, parameter_values
from scheduler.ir.affine import parse_affine
from scheduler.ir.walk import loops
from tests.scheduler import nests


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_the_scale_keeps_order_and_sign(a: int, b: int) -> None:
    assert (lg(a) < lg(b)) == (a < b) or abs(a - b) < 1e-6 * max(a, b)
    assert lg(-a) == -lg(a)


def test_the_scale_is_one_at_15() -> None:
    assert lg(15) == 1.0
    assert lg(0) == 0.0


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=2, max_size=2))
@pytest.mark.parametrize("text", ["2*i - 3*j + 1", "floor((i - j)/3)", "i - 4*floor(j/4)", "7"])
def test_intervals_hold_all_values(text: str, ends: list[tuple[int, int]]) -> None:
    expr = parse_affine(text)
    ranges = {name: (low, low + size) for name, (low, size) in zip("ij", ends, strict=True)}
    points = itertools.product(*(range(low, high + 1) for low, high in ranges.values()))
    values = [expr.evaluate(dict(zip("ij", point, strict=True))) for point in points]
    low, high = interval(expr, ranges)
    assert low <= min(values) and high >= max(values)
    if "floor" not in text:
        assert (low, high) == (min(values), max(values))


def test_loops_are_boxed_from_outside_in() -> None:
    ranges = {"n": (50, 50)}
    for loop in loops(nests.nest(nests.CHOLESKY)):
        ranges[loop.name] = loop_range(loop, ranges)
    assert ranges["i"] == (0, 49)
    assert ranges["j"] == (0, 48)
    assert ranges["k"] == (0, 47)


def test_backward_and_data_dependent_loops() -> None:
    text = """nest back { param n: int in [1, ?]; array a: double[n];
      for i: int in [n - 1, 0) step -1 { S0: a[i] = 0.0; } }"""
    assert loop_range(next(loops(nests.nest(text))), {"n": (9, 9)}) == (1, 8)
    opaque = [loop for loop in loops(nests.nest(nests.SPMM)) if loop.is_opaque]
    assert loop_range(opaque[0], {}) == (0, 15)


def test_floors_count_by_their_denominator() -> None:
    assert linear_part(parse_affine("32*floor(i/32) + j")) == {"i": 1.0, "j": 1.0}
    assert linear_part(parse_affine("floor((i + 2*j)/4) - i")) == {"i": -0.75, "j": 0.5}


def test_parameters_get_values() -> None:
    nest = nests.nest(nests.GEMM)
    assert parameter_values(nest, {"n": 5, "unknown": 3}) == {"n": 5, "m": 1000, "l": 1000}
