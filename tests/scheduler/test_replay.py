"""What the transformations must be able to express together, and what must be refused."""

import pytest

from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import Refused, Replayed, Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from tests.scheduler import nests


def replay(nest: str, schedule: str, reassociate: bool = False) -> Replayed:
    return Replayer(nests.nest(nest), reassociate).replay(parse_schedule(schedule))


EXPRESSIBLE = {
    "BLIS-like matmul": (
        nests.GEMM,
        "distribute(i, 1); interchange(j, k); tile([i_d, k, j], [96, 256, 512]); interchange(i_d_t, j_t); "
        "interchange(i_d, j); interchange(k, i_d); "
        "register_block([i_d, j], [6, 8]); pack(k_t, B, [1, 0], 1, 8); "
        "pack(i_d_t, A, [0, 1], 0, 6); parallelize(i_d_t)",
    ),
    "time-skewed tiled stencil": (
        nests.JACOBI,
        "shift(i2, S1, 1); fuse(i, i2); shift(j2, S1, 1); fuse(j, j2); skew(t, i, 2); skew(t, j, 2); "
        "tile([t, i, j], [32, 32, 32]); skew(t_t, i_t, 1); interchange(t_t, i_t); parallelize(t_t)",
    ),
    "wavefront of Gauss-Seidel": (
        nests.SEIDEL,
        "skew(t, i, 1); skew(t, j, 1); skew(i, j, 1); tile([t, i, j], [16, 16, 16]); "
        "skew(t_t, i_t, 1); interchange(t_t, i_t); parallelize(t_t)",
    ),
    "fission and interchange of covariance": (
        nests.COVARIANCE,
        "distribute(j, 3); distribute(j, 2); distribute(j, 1); distribute(i, 1); distribute(i_d, 1); "
        "distribute(i_d2, 1); "
        "interchange(j_d3, k); parallelize(i); parallelize(i_d); vectorize(j_d3)",
    ),
    "LU tiled and parallel": (
        nests.LU,
        "fuse(i0, i); sink(S0, j, k + 1); tile([k, i0, j], [32, 32, 32]); "
        "skew(i0_t, j_t, 1); interchange(i0_t, j_t); parallelize(i0_t)",
    ),
    "Cholesky tiled and parallel": (
        nests.CHOLESKY,
        "fuse(j, k2); sink(S3, j, i); sink(S1, k, j); sink(S2, k, k2); sink(S3, k, i); tile([i, j, k], [32, 32, 32]); "
        "skew(i_t, j_t, 1); interchange(i_t, j_t); parallelize(i_t)",
    ),
    "SpMM interchange": (nests.SPMM, "interchange(p, j); parallelize(i)"),
    "SpMM tiled around": (nests.SPMM, "tile([i], [64]); parallelize(i_t); vectorize(j)"),
    "privatized temporary": (nests.PRIVATE, "interchange(i, j); parallelize(j); tile([j, i], [8, 8])"),
    "fission of a privatized temporary": (nests.PRIVATE, "distribute(j, 1); distribute(i, 1); parallelize(i)"),
}


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_expressible(name: str) -> None:
    nest, schedule = EXPRESSIBLE[name]
    result = replay(nest, schedule)
    assert isinstance(result, ScheduledNest), str(result)
    assert parse_schedule(format_schedule(result.schedule)) == result.schedule


ILLEGAL = {
    "reduction loop in parallel": (nests.GEMM, "parallelize(k)"),
    "mark gone stale after a later interchange": (
        nests.SEIDEL,
        "skew(t, i, 1); skew(t, j, 1); skew(i, j, 1); tile([t, i, j], [16, 16, 16]); skew(t_t, i_t, 1); "
        "interchange(t_t, i_t); parallelize(t_t); interchange(i_t, t_t)",
    ),
    "time loop in parallel": (nests.JACOBI, "parallelize(t)"),
    "fused without a shift": (nests.JACOBI, "fuse(i, i2)"),
    "seidel in parallel over rows": (nests.SEIDEL, "parallelize(i)"),
    "seidel interchanged": (nests.SEIDEL, "interchange(t, i)"),
    "seidel tiled without skewing": (nests.SEIDEL, "tile([t, i, j], [4, 4, 4])"),
    "seidel vectorized": (nests.SEIDEL, "vectorize(j)"),
    "reversed time": (nests.SEIDEL, "reverse(t)"),
    "covariance's mirror split off before the sum": (nests.COVARIANCE, "parallelize(k)"),
    "register block over the reduction": (nests.GEMM, "distribute(i, 1); register_block([i_d, k], [4, 4])"),
    "spmm over p in parallel": (nests.SPMM, "interchange(p, j); parallelize(p)"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_with_a_witness(name: str) -> None:
    nest, schedule = ILLEGAL[name]
    result = replay(nest, schedule)
    assert isinstance(result, Illegal), str(result)
    replayer = Replayer(nests.nest(nest))
    assert [n for n, _ in result.source_instance] == list(replayer.model.iterators(result.source))
    assert str(result).startswith(("flow ", "anti ", "output "))


@pytest.mark.parametrize(
    ("nest", "schedule", "step", "words"),
    [
        (nests.GEMM, "interchange(i, j)", 0, "not perfectly nested"),
        (nests.GEMM, "tile([x], [4])", 0, "there is no loop x"),
        (nests.GEMM, "tile([j, k], [4])", 0, "2 loops but 1 sizes"),
        (nests.GEMM, "interchange(j, k); distribute(i, 5)", 1, "no split at 5"),
        (nests.SPMM, "interchange(i, p)", 1, "depend on i"),
        (nests.JACOBI, "fuse(i2, i)", 0, "does not follow"),
    ],
)
def test_refused_with_the_reason(nest: str, schedule: str, step: int, words: str) -> None:
    result = replay(nest, schedule)
    assert isinstance(result, Refused)
    assert result.step == step
    assert words in result.reason


@pytest.mark.parametrize("schedule", ["sink(S1, k, z)", "sink(S1, k, k)", "shift(i, S1, z)"])
def test_rows_are_made_of_what_a_statement_knows(schedule: str) -> None:
    """Even where no dependence asks for the row."""
    nest = """nest beside { param n: int in [2, ?]; array A: double[n]; array B: double[n];
      for i: int in [0, n) step 1 { S1: A[i] = 1.0; for k: int in [0, n) step 1 { S2: B[k] = 2.0; } } }"""
    verdict = replay(nest, schedule)
    assert isinstance(verdict, Refused) and "statement S1 knows no" in verdict.reason


def test_reassociation_reorders_a_sum_only_when_asked() -> None:
    text = """nest sum {
      param n: int in [1, ?];
      array s: double;
      array A: double[n];
      for i: int in [0, n) step 1 { S0: s += A[i]; }
    }"""
    assert isinstance(replay(text, "reverse(i)"), Illegal)
    assert isinstance(replay(text, "reverse(i)", reassociate=True), ScheduledNest)
    for mark in ("parallelize(i)", "vectorize(i)"):
        assert isinstance(replay(text, mark), Illegal)
        verdict = replay(text, mark, reassociate=True)
        assert isinstance(verdict, ScheduledNest)
        assert verdict.reductions == (("i", "S0", "s"),)


HISTOGRAM = """nest histogram {
  param n: int in [1, ?];
  array h: int[SIZE];
  array A: int[n];
  array out: int[n];
  for i: int in [0, n) step 1 { S0: h[opaque(A[i])] += 1; BODY }
}"""


def test_integer_sums_are_parallel_unasked() -> None:
    histogram = HISTOGRAM.replace("BODY", "")
    assert isinstance(replay(histogram.replace("SIZE", "256"), "parallelize(i)"), ScheduledNest)
    assert isinstance(replay(histogram.replace("SIZE", "256"), "reverse(i)"), ScheduledNest)
    assert isinstance(replay(histogram.replace("SIZE", "256"), "vectorize(i)"), Illegal)
    assert isinstance(replay(histogram.replace("SIZE", "n"), "parallelize(i)"), Illegal), "copies of unknown size"
    assert isinstance(replay(histogram.replace("SIZE", "1000000"), "parallelize(i)"), Illegal), "too large"
    floats = histogram.replace("h: int", "h: double").replace("SIZE", "256")
    assert isinstance(replay(floats, "parallelize(i)"), Illegal)
    read = HISTOGRAM.replace("BODY", "S1: out[i] = h[0];").replace("SIZE", "256")
    assert isinstance(replay(read, "parallelize(i)"), Illegal), "the sum is read on the way"
    mixed = HISTOGRAM.replace("BODY", "S1: h[opaque(A[i])] *= 2;").replace("SIZE", "256")
    assert isinstance(replay(mixed, "parallelize(i)"), Illegal), "two operators"


def test_reversed_sum_is_no_more_parallel() -> None:
    text = """nest columns {
      param n: int in [1, ?];
      array s: int[n];
      array A: int[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: s[i] += A[i][j]; } }
    }"""
    assert isinstance(replay(text, "reverse(j); skew(i, j, 2)"), ScheduledNest)
    assert isinstance(replay(text, "reverse(j); skew(i, j, 2); vectorize(j)"), Illegal)
    assert isinstance(replay(text, "reverse(j); parallelize(j)"), ScheduledNest)


@pytest.mark.parametrize(
    ("kind", "value", "op"), [("int", "double", "+="), ("long", "float", "*="), ("_Bool", "int", "-=")]
)
def test_sums_that_are_rounded_at_every_step_keep_their_order(kind: str, value: str, op: str) -> None:
    text = f"""nest mixed {{
      param n: int in [1, ?];
      array s: {kind};
      array A: {value}[n];
      for i: int in [0, n) step 1 {{ S0: s {op} A[i]; }}
    }}"""
    for schedule in ("parallelize(i)", "vectorize(i)", "reverse(i)"):
        for reassociate in (False, True):
            assert isinstance(replay(text, schedule, reassociate), Illegal)


@pytest.mark.parametrize(
    "schedule",
    [
        "vectorize(k); interchange(j, k); parallelize(i, 0, 0, 2)",
        "parallelize(j, 0, 0, 2)",
        "register_block([j, k], [4, 4]); vectorize(k)",
        "register_block([j, k], [4, 4]); parallelize(k)",
    ],
)
def test_reductions_without_a_clause_of_their_own(schedule: str) -> None:
    """Taken in by another loop's collapse, or inside a register block: the sum would race."""
    text = """nest sums {
      param n: int in [1, ?];
      array y: int[n];
      array A: int[n][n][n];
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
        S0: y[i] += A[i][j][k]; } } }
    }"""
    assert isinstance(replay(text, schedule), Illegal)


def test_contraction_follows_the_final_order() -> None:
    together = replay(nests.PRIVATE, "interchange(i, j)")
    assert isinstance(together, ScheduledNest)
    assert dict(together.contracted) == {"t": "i"}
    apart = replay(nests.PRIVATE, "distribute(j, 1)")
    assert isinstance(apart, ScheduledNest)
    assert dict(apart.contracted) == {}
