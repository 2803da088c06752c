"""Innermost bodies: which loop is innermost, what unrolling shares, what marks and packing change."""

import pytest

from scheduler.cost.body import Body, Place
from scheduler.cost.estimate import Estimator
from scheduler.machine.target import Target
from scheduler.polyhedral.model import Model
from scheduler.schedule import parse_schedule
from scheduler.transform.initial import initial_tree
from tests.scheduler import nests

ORDER = "distribute(i, 1); interchange(j, k); "  # i_d, k, j


def body(schedule: str, text: str = nests.GEMM, statement: str = "S1", vector_bytes: int = 32) -> tuple[Place, Body]:
    model = Model(nests.nest(text))
    tree = initial_tree(model.nest)
    for step in parse_schedule(schedule):
        tree = step.apply(tree)
    sizes = {"n": 512, "m": 512, "l": 512, "T": 8}
    found = Estimator(model, sizes, Target(2, vector_bytes)).estimate(tree)
    (line,) = (x for x in found.lines if x.shape.facts.name == statement)
    return line.place, line.body


def test_unroll_and_jam_shares_loads() -> None:
    plain_place, plain = body(ORDER)
    place, jammed = body(ORDER + "unroll_jam(k, 4); vectorize(j)")
    assert (plain_place.inner, plain_place.unrolled) == (2, ())
    assert (place.inner, place.unrolled) == (2, (3,)) and jammed.copies == pytest.approx(4.0)
    # C is loaded and stored once for four steps of k; B once for each: per element 1/4 + 1, in vectors of 4.
    assert jammed.loads == pytest.approx((0.25 + 1.0) / 4) and plain.loads == pytest.approx(2.0 / 4)
    assert jammed.stores == pytest.approx(plain.stores / 4)


def test_wider_vectors_need_fewer_operations() -> None:
    widths = [body(ORDER + "vectorize(j)", vector_bytes=size)[1] for size in (16, 32, 64)]
    assert [b.lanes for b in widths] == [2, 4, 8]
    assert widths[0].throughput == pytest.approx(2 * widths[1].throughput)


def test_short_loops_leave_remainders() -> None:
    text = nests.SEIDEL.replace("A[i - 1][j - 1] +", "").replace(
        "[1, n - 1) step 1 {\n        S0", "[0, 7) step 1 {\n        S0"
    )
    _, found = body("skew(i, j, 1); vectorize(j)", text, "S0")
    assert found.trips == pytest.approx(7.0) and found.lanes == pytest.approx(7 / 4)  # one vector, three single ones


def test_packing_makes_accesses_contiguous() -> None:
    across = "distribute(i, 1); tile([i_d, j, k], [64, 64, 64])"  # B goes down a column in k
    packed = body(across + "; pack(k_t, B, [1, 0], 1, 8)")[1]
    plain = body(across)[1]
    assert plain.read_shares[3] == pytest.approx(1 / 3) and packed.read_shares[3] == 0
    assert packed.mean_stride < plain.mean_stride


def test_marked_sums_run_in_lanes_beside_each_other() -> None:
    text = """nest dot {
      param n: int in [1, ?];
      array A: double[n];
      array s: double;
      for i: int in [0, n) step 1 { S0: s += A[i]; }
    }"""
    plain, marked = body("", text, "S0")[1], body("vectorize(i)", text, "S0")[1]
    assert plain.carried and not plain.automatic and plain.latency == pytest.approx(4.0)
    assert marked.latency == pytest.approx(1.0) and marked.cycles < plain.cycles
    integer = body("", text.replace("double", "int"), "S0")[1]
    assert integer.automatic  # integers may be summed in any order


def test_calls_and_strides_keep_the_compiler_from_vectorizing() -> None:
    text = """nest n {
      param n: int in [1, ?];
      array A: double[n];
      array B: double[n][n];
      for i: int in [0, n) step 1 { S0: A[i] = %s; }
    }"""
    assert body("", text % "A[i] * 2.0", "S0")[1].automatic
    assert body("", text % "sqrt(A[i])", "S0")[1].automatic
    assert not body("", text % "exp(A[i])", "S0")[1].automatic
    assert not body("", text % "B[i][0] * B[i][1]", "S0")[1].automatic
