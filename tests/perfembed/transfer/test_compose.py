"""Regions of several loop trees: schedules of their trees put together."""

from dataclasses import replace
from itertools import chain

import pytest

from perfembed.transfer.candidates import candidates
from perfembed.transfer.compose import compositions, core_of, partial, trees_of, wavefronts
from scheduler.ir.tree import find_loop
from scheduler.ir.walk import placed_statements
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform import Distribute, Fuse, Parallelize, Skew, Tile, Vectorize
from tests.perfembed.transfer_support import GEMM, JACOBI, MVT, MVT_SCHEDULE, SEIDEL, TWO, donor, side

HALF = "nest h { array A: double[5900][5900]; array x: double[5900]; array y: double[5900];"
HALF += "for a: int in [0, 5900) step 1 { for b: int in [0, 5900) step 1 { S0: x[a] += A[a][b] * y[b]; } } }"

# Scaled row by row, in the loop of the product.
SYRK = """nest syrk { array A: double[600][500]; array C: double[600][600];
for i: int in [0, 600) step 1 {
  for j: int in [0, i + 1) step 1 { S0: C[i][j] *= 2.0; }
  for k: int in [0, 500) step 1 { for l: int in [0, i + 1) step 1 { S1: C[i][l] += A[i][k] * A[l][k]; } }
} }"""


def scored(*wanted):
    """The more of the wanted kinds of steps a schedule has, each counted once a loop, the better."""
    return lambda pool: [1 / (1 + sum(isinstance(s, wanted) for s in c.scheduled.schedule)) for c in pool]


def test_trees_that_matter_as_nests_of_their_own():
    first, second = trees_of(side(MVT))[-1]
    assert first.statements | second.statements == {"S0", "S1"} and not first.statements & second.statements
    assert {array.name for array in first.nest.arrays} == {"A", "x1", "y1"} and len(first.nest.body) == 1
    assert abs(first.share - 0.5) < 0.01
    assert trees_of(side(SEIDEL)) == ()
    assert trees_of(side(GEMM)) == ()  # its first tree hardly counts


def test_the_core_is_a_nest_without_what_can_be_split_from_it():
    for nest, statement in ((GEMM, "S1"), (SYRK, "S1")):
        core = core_of(side(nest))
        assert core is not None and [p.statement.name for p in placed_statements(core)] == [statement]
        assert {array.name for array in core.arrays} == {"A", "C"} | ({"B", "alpha"} if nest is GEMM else set())
        assert core_of(side(core)) is None
    assert core_of(side(MVT)) is None  # two parts that matter
    assert core_of(side(SEIDEL)) is None


def test_a_part_leaves_the_other_trees_alone():
    target = side(MVT)
    for tree in chain(*trees_of(target)):
        found = partial(donor(HALF, "tile([a, b], [32, 64]); parallelize(a_t)"), target, tree)
        assert found
        (other,) = {"i", "i_2"} - ({"i"} if "S0" in tree.statements else {"i_2"})
        untouched = find_loop(target.replayer.tree(tree.base), other)
        assert all(find_loop(candidate.scheduled.tree, other) == untouched for candidate in found)


def test_each_tree_gets_what_suits_it():
    target = side(MVT)
    trees = trees_of(target)[-1]
    tiled, marked = donor(HALF, "tile([a, b], [32, 64])", "tiled"), donor(HALF, "parallelize(a)", "marked")
    partials = [partial(tiled, target, trees[0]), partial(marked, target, trees[1])]
    best, *_ = compositions(target, trees, partials, (), scored(Tile, Parallelize))
    assert {type(step) for step in best.scheduled.schedule} >= {Tile, Parallelize}
    assert best.donor is tiled and any("of donor marked" in entry.reason for entry in best.log)
    assert isinstance(target.replayer.replay(best.scheduled.schedule), ScheduledNest)


# The two products of MVT in one loop.
TOGETHER = """nest t { array A: double[5900][5900];
array x1: double[5900]; array y1: double[5900]; array x2: double[5900]; array y2: double[5900];
for i: int in [0, 5900) step 1 {
  for j: int in [0, 5900) step 1 { S0: x1[i] += A[i][j] * y1[j]; }
  for l: int in [0, 5900) step 1 { S1: x2[i] += A[l][i] * y2[l]; }
} }"""


def test_trees_written_into_one_are_trees_all_the_same() -> None:
    target = side(TOGETHER)
    (trees,) = trees_of(target)
    assert {tree.statements for tree in trees} == {frozenset({"S0"}), frozenset({"S1"})}
    (base,) = {tree.base for tree in trees}
    assert base and base[0] == Distribute("i", 1)
    partials = [partial(donor(HALF, "tile([a, b], [32, 64]); parallelize(a_t)"), target, tree) for tree in trees]
    made = compositions(target, trees, partials, (), scored(Tile, Parallelize))
    best = max(made, key=lambda c: sum(isinstance(step, Tile) for step in c.scheduled.schedule))
    assert best.scheduled.schedule[: len(base)] == base and best.scheduled.schedule.count(base[0]) == 1
    assert sum(isinstance(step, Tile) for step in best.scheduled.schedule) == 2
    assert sum(entry.steps == base for entry in best.log) == 1


def test_what_donors_gained_most_with_is_put_together_whatever_the_score_says() -> None:
    target = side(MVT)
    trees = trees_of(target)[-1]
    gained = replace(donor(HALF, "tile([a, b], [32, 64]); parallelize(a_t)", "gained"), speedup=30.0)
    others = [donor(HALF, text) for text in ("parallelize(a)", "interchange(a, b)", "unroll(b, 4)", "vectorize(b)")]
    partials = [[c for d in (*others, gained) for c in partial(d, target, tree)] for tree in trees]

    def against_tiles(pool):
        return [1 + 100.0 * sum(isinstance(s, Tile) for s in c.scheduled.schedule) for c in pool]

    found = compositions(target, trees, partials, (), against_tiles)
    assert any(sum(isinstance(step, Tile) for step in c.scheduled.schedule) == 2 for c in found)


@pytest.mark.gcc
def test_candidates_of_the_whole_are_taken_apart():
    target = side(MVT)
    trees = trees_of(target)[-1]
    pool = [
        *candidates(donor(MVT, "tile([i, j], [32, 64]); vectorize(j_2)"), target),
        *candidates(donor(MVT, "parallelize(i); interchange(i_2, j_2); vectorize(i_2)"), target),
        *candidates(donor(MVT, "interchange(i_2, j_2); fuse(i, j_2); fuse(j, i_2)"), target),
    ]
    found = compositions(target, trees, [(), ()], pool, scored(Tile, Vectorize, Fuse))
    assert found and not any(isinstance(step, Fuse) for c in found for step in c.scheduled.schedule)
    assert {type(step) for step in found[0].scheduled.schedule} >= {Tile, Vectorize}
    known = {c.scheduled.tree for c in pool}
    assert any(c.scheduled.tree not in known for c in found)
    assert compositions(target, trees, [(), ()], pool, scored(Tile), lambda: True) == ()


@pytest.mark.gcc
def test_a_time_loop_is_tiled_along_a_wavefront_though_no_donor_does() -> None:
    target = side(JACOBI)
    pool = candidates(donor(MVT, MVT_SCHEDULE), target)
    assert all(candidate.donated for candidate in pool)
    found = wavefronts(target, pool)
    assert found and all(any(isinstance(s, Skew) for s in c.scheduled.schedule) for c in found)
    assert len({s.loops for c in found for s in c.scheduled.schedule if isinstance(s, Tile)}) > 1  # several depths
    for candidate in found:
        assert isinstance(Replayer(target.replayer.nest).replay(candidate.scheduled.schedule), ScheduledNest)
        assert candidate.log[0].action == "inserted" and not candidate.donated
    assert wavefronts(target, ()) == () and wavefronts(side(TWO), candidates(donor(MVT, MVT_SCHEDULE), side(TWO))) == ()
