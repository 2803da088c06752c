"""Solved skews: proved legal, parallel where they were solved for, and right when they run."""

import random

import numpy as np
import pytest

from scheduler.ir.tree import find_loop
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.moves.unimodular import parallel_rows, single_steps
from scheduler.normalize.stride import chains
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Parallelize
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests
from tests.scheduler.polyhedral.test_distances import along


def space_of(text: str) -> Space:
    return Space(Replayer(nests.nest(text)), Target(2), {"n": 100, "T": 10})


def rows(space: Space) -> list[Schedule]:
    chain = chains(space.replayer.tree(()))[0]
    return list(parallel_rows(space, (), chain))


def test_the_wavefronts_of_gauss_seidel_are_solved() -> None:
    space = space_of(nests.SEIDEL)
    found = {format_schedule(one): space.sequential(one) for one in rows(space)}
    assert found["skew(i, j, 2); interchange(i, j)"] == {"t", "j"}
    both_inside = found["skew(t, j, 4); skew(i, j, 2); interchange(t, j); interchange(i, t)"]
    assert both_inside == {"j"}  # two parallel loops inside


def test_an_outer_parallel_loop_is_solved_and_the_rest_reversed_where_it_must_be() -> None:
    space = space_of(along("A[i - 2][j + 1] + 1.0"))
    (found,) = rows(space)
    assert format_schedule(found) == "interchange(i, j); skew(j, i, 2); interchange(j, i); reverse(j)"
    outer = space.replayer.tree(found)[0]
    assert find_loop(space.replayer.tree(found), outer.name) and outer.name not in space.sequential(found)  # type: ignore[union-attr]


def test_nothing_where_a_loop_of_the_chain_is_parallel_already() -> None:
    assert rows(space_of(nests.GEMM)) == []


@pytest.mark.parametrize(
    "reads", ["A[i - 1][j + 3] + A[i][j - 1]", "A[i - 2][j + 1] + 1.0", "A[i - 1][j - 1] * 2.0 + A[i - 3][j - 3]"]
)
def test_solved_rows_run_right_in_parallel(reads: str) -> None:
    space = space_of(along(reads))
    start = np.random.default_rng(0).uniform(size=(31, 31))
    expected = interpret(space.replayer.nest, {"n": 31}, {"A": start})["A"]
    found = rows(space)
    assert found
    for schedule in found:
        free = [name for name in ("i", "j") if name not in space.sequential(schedule)]
        assert free
        scheduled = space.replayer.replay((*schedule, Parallelize(free[0])))
        assert isinstance(scheduled, ScheduledNest)
        result = interpret_scheduled(scheduled, {"n": 31}, {"A": start}, parallel_order=random.Random(3))
        assert (result["A"] == expected).all()


def test_single_steps_are_of_all_kinds() -> None:
    space = space_of(nests.SEIDEL)
    steps = [format_schedule(one) for one in single_steps(space, (), chains(space.replayer.tree(()))[0])]
    assert {"reverse(i)", "interchange(t, i)", "skew(i, j, 2); interchange(i, j)"} <= set(steps)
