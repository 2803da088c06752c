"""Estimates of loop trees: traffic, vectors, dependences in the innermost loop, parallel regions."""

import math

import pytest

from scheduler.cost.estimate import Estimator
from scheduler.cost.estimated import Estimate, Line
from scheduler.machine.target import Target
from scheduler.polyhedral.model import Model
from scheduler.schedule import parse_schedule
from scheduler.transform.initial import initial_tree
from tests.scheduler import nests

TARGET = Target(threads=4, vector_bytes=32, l1_bytes=32 << 10, l2_bytes=512 << 10, l3_bytes=8 << 20)


def estimate(text: str, schedule: str = "", **parameters: int) -> Estimate:
    model = Model(nests.nest(text))
    tree = initial_tree(model.nest)
    for step in parse_schedule(schedule):
        tree = step.apply(tree)
    return Estimator(model, parameters, TARGET).estimate(tree)


def line(found: Estimate, statement: str) -> Line:
    return next(x for x in found.lines if x.shape.facts.name == statement)


GEMM_ORDER = "distribute(i, 1); interchange(j, k)"  # i, k, j


def test_matrix_product_moves_what_the_capacity_model_says() -> None:
    n = 2000  # B has 32 MB, a row 16 kB
    found = estimate(nests.GEMM, GEMM_ORDER, n=n, m=n, l=n)
    stream = n * n * n * 8  # B once for every i
    assert found.traffic[2] == pytest.approx(stream, rel=0.05)
    assert found.footprint == pytest.approx(3 * n * n * 8, rel=0.01)
    tiled = estimate(nests.GEMM, "distribute(i, 1); interchange(j, k); tile([i_d, k, j], [64, 64, 512])", n=n, m=n, l=n)
    assert tiled.traffic[2] < found.traffic[2] / 10 and tiled.traffic[0] < 1.2 * found.traffic[0]
    assert tiled.cycles < found.cycles


def test_what_fits_is_loaded_once() -> None:
    n = 40  # all three matrices: 38 kB
    found = estimate(nests.GEMM, GEMM_ORDER, n=n, m=n, l=n)
    touched = 3 * n * n * 8 + n * n * 8  # C twice: it is written
    assert found.traffic[1] == pytest.approx(touched, rel=0.1) and found.traffic[2] == pytest.approx(touched, rel=0.1)


def test_strides_decide_what_the_compiler_vectorizes() -> None:
    sizes = {"n": 500, "m": 500, "l": 500}
    written, swapped = (
        line(estimate(nests.GEMM, "", **sizes), "S1"),
        line(estimate(nests.GEMM, GEMM_ORDER, **sizes), "S1"),
    )
    assert written.body.carried and not written.body.automatic and written.body.latency == pytest.approx(4.0)
    assert swapped.body.automatic and not swapped.body.carried and swapped.body.lanes == 4
    assert written.body.read_shares == pytest.approx((1 / 3, 1 / 3, 0, 1 / 3, 0))
    assert swapped.body.read_shares == pytest.approx((1 / 3, 2 / 3, 0, 0, 0))
    assert swapped.body.cycles < written.body.cycles / 4


def test_register_blocks_share_loads_and_hide_latency() -> None:
    sizes = {"n": 500, "m": 500, "l": 500}
    plain = line(estimate(nests.GEMM, GEMM_ORDER, **sizes), "S1")
    blocked = line(estimate(nests.GEMM, "distribute(i, 1); register_block([i_d, j], [4, 8])", **sizes), "S1")
    assert blocked.place.registers and blocked.body.copies == pytest.approx(32, rel=0.02)
    assert blocked.body.accumulators == pytest.approx(8, rel=0.02)  # 4 x 8 elements in vectors of 4
    assert blocked.body.loads == pytest.approx((4 + 2) / 32, rel=0.1) and blocked.body.stores == 0
    assert blocked.body.loads < plain.body.loads / 2 and blocked.body.latency < 1


@pytest.mark.parametrize(
    ("statement", "carried"),
    [
        ("A[i] = A[i - 1] * 2.0;", True),
        ("A[i] = A[i + 1] * 2.0;", False),
        ("A[i] = A[i] * 2.0;", False),
        ("A[i] = B[i - 1] * 2.0;", False),
        ("s += B[i];", True),
        ("A[opaque(k[i])] += B[i];", True),
        ("A[2*i] = A[2*i - 1] + 1.0;", False),
    ],
)
def test_carried_dependences(statement: str, carried: bool) -> None:
    text = f"""nest n {{
      param n: int in [1, ?];
      array A: double[?];
      array B: double[?];
      array k: int[?];
      array s: double;
      for i: int in [1, n) step 1 {{ S0: {statement} }}
    }}"""
    assert line(estimate(text, n=1000), "S0").body.carried is carried


def test_a_temporary_that_is_written_first_carries_nothing() -> None:
    text = """nest n {
      param n: int in [1, ?];
      array A: double[n];
      array s: double;
      for i: int in [0, n) step 1 { S0: s = A[i] * 2.0; S1: A[i] = s + 1.0; }
    }"""
    assert not any(x.body.carried for x in estimate(text, n=1000).lines)
    earlier = text.replace("S0: s = A[i] * 2.0; S1: A[i] = s + 1.0;", "S0: A[i] = s + 1.0; S1: s = A[i] * 2.0;")
    assert line(estimate(earlier, n=1000), "S0").body.carried


def test_distances_divide_the_latency() -> None:
    def recurrence(distance: int) -> float:
        text = f"""nest n {{
          param n: int in [1, ?];
          array A: double[n];
          for i: int in [8, n) step 1 {{ S0: A[i] = A[i - {distance}] * 2.0; }}
        }}"""
        return line(estimate(text, n=1000), "S0").body.latency

    assert recurrence(4) == pytest.approx(recurrence(1) / 4)


def test_parallel_regions() -> None:
    inner = estimate(nests.JACOBI, "parallelize(i); parallelize(i2)", T=50, n=1002)
    assert [r.entries for r in inner.regions] == [50, 50] and inner.regions[0].trips == 1000
    assert inner.serial == 0 and inner.fork > 0 and inner.lines[0].efficiency == pytest.approx(4.0)
    assert inner.regions[0].written_step == 250 * 1002 * 8
    serial = estimate(nests.JACOBI, "", T=50, n=1002)
    assert serial.serial == pytest.approx(serial.compute) and inner.compute == pytest.approx(serial.compute / 4)


def test_triangles_load_threads_unevenly_unless_dynamic() -> None:
    static = estimate(nests.COVARIANCE, "parallelize(i)", n=100, m=400).regions[0]
    dynamic = estimate(nests.COVARIANCE, "parallelize(i, 1, 1)", n=100, m=400).regions[0]
    assert static.imbalance == pytest.approx(1.75, rel=0.1)  # the first quarter of a triangle has 7/16 of it
    assert dynamic.imbalance == pytest.approx(1.0)
    few = estimate(nests.GEMM, "tile([i], [200]); parallelize(i_t)", n=1000, m=64, l=64)
    assert few.regions[0].imbalance == pytest.approx(8 / 5)  # 5 blocks for 4 threads


def test_collapsed_loops_count_together() -> None:
    text = """nest n {
      param n: int in [1, ?];
      array A: double[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = 1.0; } }
    }"""
    (region,) = estimate(text, "parallelize(i, 0, 0, 2)", n=30).regions
    assert region.trips == 900


def test_statements_outside_loops_and_empty_domains() -> None:
    text = """nest n {
      param n: int in [1, ?];
      array A: double[n];
      S0: A[0] = 1.0;
      for i: int in [1, n) step 1 { S1: A[i] = A[i - 1]; }
    }"""
    for n in (1, 100):
        found = estimate(text, n=n)
        assert len(found.lines) == 2 and math.isfinite(found.cycles)
