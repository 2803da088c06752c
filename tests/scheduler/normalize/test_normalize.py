"""Normalization: fission, strides, re-fusion, scalar expansion; always as a legal schedule."""

from scheduler.ir.tree import format_tree, tree_loops
from scheduler.normalize.fission import maximal_fission, refuse_neighbours
from scheduler.normalize.scalars import expand_privates
from scheduler.normalize.stride import directions, minimize_strides
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from tests.scheduler import nests

CHAIN = """nest chain {
  param n: int in [1, ?];
  array A: double[n];
  array B: double[n];
  array C: double[n];
  for i: int in [0, n) step 1 { S0: B[i] = A[i] * 2.0; }
  for j: int in [0, n) step 1 { S1: C[j] = B[j] + 1.0; }
}"""


def test_fission_splits_what_may_be_split() -> None:
    replayer = Replayer(nests.nest(nests.COVARIANCE))
    schedule = maximal_fission(replayer)
    assert isinstance(replayer.replay(schedule), ScheduledNest)
    assert len(replayer.tree(schedule)) == 4


def test_fission_leaves_recurrences_together() -> None:
    replayer = Replayer(nests.nest(nests.JACOBI))
    assert maximal_fission(replayer) == ()


def test_strides_put_the_contiguous_loop_innermost() -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    schedule = minimize_strides(replayer, maximal_fission(replayer))
    assert format_schedule(schedule) == "distribute(i, 1); interchange(j, k)"


def test_an_illegal_order_is_not_taken() -> None:
    replayer = Replayer(nests.nest(nests.SEIDEL))
    assert minimize_strides(replayer) == ()


def test_refusion_joins_producer_and_consumer() -> None:
    replayer = Replayer(nests.nest(CHAIN))
    schedule = refuse_neighbours(replayer, ())
    assert format_tree(replayer.tree(schedule)).split() == ["i", "(S0:", "i,", "S1:", "j)", "S0", "S1"]


def test_expansion_adds_a_dimension_for_each_loop_around_the_scope() -> None:
    expanded = expand_privates(nests.nest(nests.PRIVATE))
    array = expanded.array("t")
    assert array.expanded == 2
    assert [str(extent) for extent in array.shape] == ["n", "m"]
    assert expand_privates(expanded) == expanded


def test_normalization_makes_variants_the_same() -> None:
    """Three spellings of one computation end in the same loop order."""
    bodies = []
    for loops in ("ijk", "kij", "jki"):
        text = (
            "nest g { param n: int in [1, ?]; array A: double[n][n]; array B: double[n][n]; array C: double[n][n]; "
            + " ".join(f"for {x}: int in [0, n) step 1 {{" for x in loops)
            + " S0: C[i][j] += A[i][k] * B[k][j]; } } } }"
        )
        replayer = Replayer(nests.nest(text))
        bodies.append(format_tree(replayer.tree(minimize_strides(replayer, maximal_fission(replayer)))))
    assert len(set(bodies)) == 1


def test_directions_along_skewed_loops() -> None:
    """In one step of j, t and i stand, though the row of j counts both."""
    replayer = Replayer(nests.nest(nests.SEIDEL))
    tree = replayer.tree(parse_schedule("skew(t, i, 1); skew(t, j, 2); skew(i, j, 1)"))
    t, i, j = (next(x for x in tree_loops(tree) if x.name == name) for name in "tij")
    assert directions(tree, j) == {"S0": {"j": 1}}
    assert directions(tree, i) == {"S0": {"i": 1, "j": -1}}
    assert directions(tree, t)["S0"] == {"t": 1, "i": -1, "j": -2}
    diagonal = replayer.tree(parse_schedule("skew(i, j, 2); interchange(i, j)"))
    inner = next(x for x in tree_loops(diagonal) if x.name == "i")
    assert directions(diagonal, inner) == {"S0": {"i": 1, "j": -2}}
