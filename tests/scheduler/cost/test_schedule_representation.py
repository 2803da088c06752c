"""Schedules as records, plans and nodes."""

import numpy as np
import pytest

from scheduler.cost.ranges import lg
from scheduler.cost.schedule_arrays import KINDS, ScheduleArrays
from scheduler.cost.schedule_representation import ScheduleEncoder
from scheduler.errors import NotApplicable
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from scheduler.transform import Interchange, Parallelize, Tile, Transformation
from tests.scheduler import nests
from tests.scheduler.cost.lstm_support import GEMM_SCHEDULES, STENCIL_SCHEDULES, arrays, encoded, renamed


def children(found: ScheduleArrays, node: int) -> list[int]:
    begin = found.child_counts[:node].sum()
    return [int(n) for n in found.children[begin : begin + found.child_counts[node]]]


def test_the_nest_as_written_comes_first() -> None:
    nest, found = encoded(nests.nest(nests.GEMM))
    assert len(found.root_counts) == 1
    assert found.steps.counts.tolist() == [0, 0]  # no step touches either statement
    assert found.levels.counts.tolist() == [2, 3]  # i j0, i j k
    assert found.plan_statements.tolist() == [0, 1]
    names = list(nest.loops)
    assert [names[n] for n in found.node_loops] == ["j0", "k", "j", "i"]
    assert found.node_heights.tolist() == [1, 1, 2, 3]
    assert children(found, 0) == [0] and children(found, 1) == [1]  # plans
    assert children(found, 2) == [2 + 1] and children(found, 3) == [2 + 0, 2 + 2]  # nodes
    assert found.roots.tolist() == [2 + 3]


def test_a_step_names_the_axes_it_works_on() -> None:
    nest, found = encoded(nests.nest(nests.GEMM), "interchange(j, k)")
    assert found.steps.counts.tolist() == [0, 0, 1]  # S0 and S1 as written, S1 interchanged
    kinds = found.steps.features[:, : len(KINDS)]
    assert kinds.argmax(1).tolist() == [KINDS.index(Interchange)]
    axes = {number: axis for axis, number in nest.axes.items()}
    assert [axes[n] for n in found.steps.operand_axes] == [("S1", "j"), ("S1", "k")]
    assert found.steps.operand_features[:, :2].tolist() == [[1, 0], [0, 1]]  # outer, inner


def test_steps_after_others_find_the_loops_behind_the_names() -> None:
    """A tile loop, a skewed loop and a distributed one are known by the loops as written they run."""
    nest, found = encoded(nests.nest(nests.JACOBI), *STENCIL_SCHEDULES)
    axes = {number: axis for axis, number in nest.axes.items()}
    kinds = found.steps.features[:, : len(KINDS)].argmax(1)

    def touched(kind: type[Transformation]) -> list[set[tuple[str, str]]]:
        records = np.flatnonzero(kinds == KINDS.index(kind))
        return [{axes[n] for n in found.steps.operand_axes[found.steps.operand_records == r]} for r in records]

    assert {("S0", "i")} in touched(Parallelize) and {("S1", "i2")} in touched(Parallelize)
    # The wavefront: t_t is a tile loop of t, and i_t one of i + 2*t, skewed by t_t.
    assert {("S0", "t")} in touched(Parallelize) and {("S1", "t")} in touched(Parallelize)
    assert {("S0", "t"), ("S0", "i")} in touched(Interchange) and {("S1", "t"), ("S1", "i2")} in touched(Interchange)
    tile = int(np.flatnonzero(kinds == KINDS.index(Tile))[0])
    sizes = found.steps.operand_features[found.steps.operand_records == tile, 4]
    assert set(sizes) == {np.float32(lg(32))}


def test_what_is_equal_is_stored_once() -> None:
    _, found = encoded(nests.nest(nests.GEMM), *GEMM_SCHEDULES)
    assert len(found.root_counts) == 1 + len(GEMM_SCHEDULES)
    assert found.roots[0] == found.roots[1]  # the empty schedule
    assert np.unique(found.roots).size == len(GEMM_SCHEDULES)  # no two others are the same
    assert (found.plan_statements == 0).sum() < len(GEMM_SCHEDULES)
    _, again = encoded(nests.nest(nests.GEMM), *GEMM_SCHEDULES, *GEMM_SCHEDULES)
    assert again.steps.features.shape == found.steps.features.shape
    assert len(again.node_loops) == len(found.node_loops)


def test_every_field_of_a_step_tells() -> None:
    pairs = [
        ("unroll(k, 4)", "unroll(k, 8)"),
        ("unroll_jam(j, 2)", "unroll(j, 2)"),
        ("skew(j, k, 1)", "skew(j, k, 2)"),
        ("parallelize(i)", "parallelize(i, 1)"),
        ("parallelize(i, 1, 4)", "parallelize(i, 1, 8)"),
        ("parallelize(j)", "parallelize(j, 0, 0, 2)"),
        ("tile([j, k], [16, 32])", "tile([j, k], [32, 16])"),
        ("tile([j], [16])", "tile([k], [16])"),
        ("reverse(j)", "reverse(k)"),
        ("distribute(i, 1)", ""),
        ("distribute(i, 1); pack(k, A, [0, 1])", "distribute(i, 1); pack(k, A, [0, 1], 0, 6)"),
        ("distribute(i, 1); pack(k, A, [0, 1])", "distribute(i, 1); pack(k, B, [0, 1])"),
        ("register_block([j], [4])", "register_block([j], [8])"),
    ]
    for one, other in pairs:
        _, found = encoded(nests.nest(nests.GEMM), one, other)
        assert found.roots[1] != found.roots[2], (one, other)


def test_tags_tell_what_became_of_a_loop() -> None:
    nest, found = encoded(nests.nest(nests.GEMM), "parallelize(i); vectorize(k); unroll(k, 4)")
    by_loop: dict[int, list[list[float]]] = {}
    for loop, tags in zip(found.node_loops, found.node_tags.tolist(), strict=True):
        by_loop.setdefault(int(loop), []).append(tags)
    before, after = by_loop[nest.loops["i"]]
    assert (before[0], after[0]) == (0, 1)
    before, after = by_loop[nest.loops["k"]]
    assert (before[3], after[3]) == (0, 1) and after[4] > before[4]
    before, after = by_loop[nest.loops["j0"]]
    assert before == after


def test_names_do_not_count() -> None:
    _, one = encoded(nests.nest(nests.GEMM), *GEMM_SCHEDULES)
    replayer = Replayer(nests.nest(renamed(nests.GEMM)))
    found = arrays(replayer.nest, {"len": 100, "n": 200, "m": 300})
    steps = [parse_schedule(renamed(text)) for text in GEMM_SCHEDULES]
    other = ScheduleEncoder(found, replayer.tree).encode([(s, replayer.tree(s)) for s in steps])
    for name in ("plan_statements", "node_loops", "node_tags", "children", "roots"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for table in ("steps", "levels"):
        for name in ("features", "operand_features", "operand_axes", "operand_records", "sequence", "counts"):
            assert np.array_equal(getattr(getattr(one, table), name), getattr(getattr(other, table), name)), name


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    encoder = ScheduleEncoder(arrays(replayer.nest), replayer.tree)
    with pytest.raises(NotApplicable):
        encoder.encode([(parse_schedule("interchange(j, x)"), replayer.tree(()))])


def test_loops_made_anew_tell_what_the_step_does_not() -> None:
    """No model knows the step; its loops look as those that steps it knows make."""
    anew = "reschedule([S0 -> (0, i, 0, j0, 0), S1 -> (1, k, 0, i, 0, j, 0)]); parallelize(i)"
    _, found = encoded(nests.nest(nests.GEMM), anew, "distribute(i, 1); interchange(j, k); interchange(i_d, k)")
    assert found.plan_statements.tolist()[:2] == [0, 1]
    levels = found.levels.counts.tolist()
    assert levels[2:4] == [2, 3] and len(found.root_counts) == 3
    assert found.node_tags[:, 0].max() == 1.0  # parallel
