"""No loop steps for long through iterations in which nothing runs."""

import islpy as isl
import pytest

from scheduler.codegen.tree.gaps import check_known_gaps, gap_free
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule

APART = """nest s { param n: int; param m: int; array a: double[100]; array b: double[100];
  for i: int in [0, n) step 1 { S0: a[i] = 1.0; }
  for j: int in [m, m + n) step 1 { S1: b[j] = 1.0; } }"""
ENDS = """nest s { param n: int; array a: double[100]; array b: double[100];
  for i: int in [0, n) step 1 { S0: a[i] = 1.0; for j: int in [0, n) step 1 { S1: b[j] += a[i]; } S2: a[i] = 2.0; } }"""
TURNS = """nest s { param n: int; param t: long; array a: double[?]; array b: double[?];
  for k: long in [0, t) step 1 {
    for i: int in [1, n - 1) step 1 { S0: b[i] = a[i - 1]; }
    for j: int in [1, n - 1) step 1 { S1: a[j] = b[j - 1]; } } }"""
DATA = """nest s { param m: int; array a: double[100]; array b: double[100]; array r: int[100] const;
  for j: int in [opaque(r[0]), opaque(r[1])) step 1 { S0: a[j] = 1.0; S1: b[j] = 1.0; } }"""


def tree(text: str, schedule: str) -> PolyTree:
    replayer = Replayer(parse_nest(text))
    scheduled = replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest), scheduled
    return PolyTree(replayer.of(parse_schedule(schedule)).model, scheduled.tree)


def free(poly: PolyTree, values: str) -> bool:
    at = isl.Set.read_from_str(poly.model.context, f"{poly.prefix()}{{ : {values} }}").params()
    return not gap_free(poly).intersect(at).is_empty()


@pytest.mark.parametrize("tiled", ["", "; tile([i], [8])"])
def test_loops_that_are_fused_may_be_far_apart(tiled: str) -> None:
    """Without a loop inside, an innermost loop of several statements is split instead."""
    poly = tree(APART, f"fuse(i, j){tiled}")
    assert (
        free(poly, "n = 10 and m = 12") and free(poly, "n = 0 and m = 1000000") and free(poly, "n = 1000000 and m = 0")
    )
    assert free(poly, "n = 10 and m = 1000000") is not bool(tiled)
    assert free(poly, "n = 10 and m = -1000000") is not bool(tiled)


def test_what_is_sunk_to_the_ends_of_a_loop_is_not_far_apart() -> None:
    poly = tree(ENDS, "sink(S0, j, 0); sink(S2, j, n - 1); tile([i, j], [4, 4])")
    assert free(poly, "n = 1000000")
    assert poly.context().params().is_subset(gap_free(poly))


STEPS = """nest s { param n: int; param t: int; array a: double[900][900]; array b: double[900][900];
  for s: int in [0, t) step 1 {
    for i: int in [1, n - 1) step 1 { for j: int in [1, n - 1) step 1 { S0: b[i][j] = a[i - 1][j] + a[i + 1][j]; } }
    for k: int in [1, n - 1) step 1 { for l: int in [1, n - 1) step 1 { S1: a[k][l] = b[k - 1][l] + b[k + 1][l]; } }
  } }"""
TIME_TILES = "fuse(i, k); skew(s, i, 2); tile([s, i], [8, 128]); skew(s_t, i_t, 16); interchange(s_t, i_t)"


@pytest.mark.parametrize("last", [1, -700])
def test_tiles_of_several_steps(last: int) -> None:
    """Of loops that run to the same numbers, or nearly; with isl alone, this takes longer than its limits."""
    poly = tree(STEPS.replace("k: int in [1, n", f"k: int in [{last}, n"), f"shift(k, S1, 1); {TIME_TILES}")
    if last == 1:
        assert poly.context().params().is_subset(gap_free(poly))
    else:
        with pytest.raises(QuotaExceeded), poly.model.quota():
            gap_free(poly)


def test_what_is_sunk_may_be_far_from_the_loop() -> None:
    assert not free(tree(ENDS, "sink(S2, j, n + 1000000); tile([j], [4])"), "n = 5")


def test_as_many_steps_as_the_loop_has_are_none_too_many() -> None:
    poly = tree(APART, "fuse(i, j); tile([i], [8])")
    assert free(poly, "n = 1000000 and m = 4000000") and not free(poly, "n = 1000000 and m = 9000000")


def test_of_loops_over_data_it_must_be_known() -> None:
    with pytest.raises(CodegenUnsupported, match="further apart than there is time for"):
        check_known_gaps(tree(DATA, "shift(j, S1, m); tile([j], [4])"))
    check_known_gaps(tree(DATA, "shift(j, S1, 3); tile([j], [4])"))


def test_skewed_loops_with_the_same_bounds_are_not_apart() -> None:
    """That is plain, and asking isl takes long where there are many of them."""
    poly = tree(TURNS, "shift(j, S1, 1); fuse(i, j); skew(k, i, 2); tile([k, i], [16, 64])")
    assert poly.context().params().is_subset(gap_free(poly))
    apart = TURNS.replace("[1, n - 1) step 1 { S1: a[j] = b[j - 1]", "[m, m + n - 2) step 1 { S1: c[j] = d[j - 1]")
    apart = apart.replace("array a:", "param m: int; array c: double[?]; array d: double[?]; array a:")
    poly = tree(apart, "fuse(i, j); skew(k, i, 2); tile([k, i], [16, 64])")
    assert free(poly, "n = 5 and t = 5 and m = 2") and not free(poly, "n = 5 and t = 5 and m = 3000000")
