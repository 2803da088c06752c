"""What differs from a schedule in one decision, and free sequences drawn at random."""

import random

from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, format_schedule, parse_schedule
from scheduler.search.closely import variations
from scheduler.search.free import free_sequence, is_free
from scheduler.transform import Parallelize, Tile, Unroll
from tests.scheduler import nests
from tests.scheduler.search.test_beam import PARAMETERS


def space_of(text: str) -> Space:
    return Space(Replayer(nests.nest(text)), Target(threads=2), PARAMETERS)


def near(text: str, schedule: str) -> list[Schedule]:
    return list(variations(space_of(text), parse_schedule(schedule)))


def test_each_dimension_has_the_sizes_of_the_grid() -> None:
    found = near(nests.GEMM, "distribute(i, 1); tile([j, k], [32, 64]); parallelize(i_d)")
    sizes = {step.sizes for one in found for step in one if isinstance(step, Tile) and step.loops == ("j", "k")}
    assert {(8, 64), (256, 64), (32, 8), (32, 256)} <= sizes
    assert any(sum(isinstance(step, Tile) for step in one) == 2 for one in found)  # two levels
    assert {("j",), ("k",)} <= {step.loops for one in found for step in one if isinstance(step, Tile)}


def test_every_loop_that_may_is_made_parallel_and_innermost_ones_are_unrolled() -> None:
    found = near(nests.GEMM, "distribute(i, 1); parallelize(i_d)")
    marked = {step.loop for one in found for step in one if isinstance(step, Parallelize)}
    assert {"i", "j0", "i_d", "j"} <= marked and "k" not in marked
    assert {4, 8, 16} == {step.factor for one in found for step in one if isinstance(step, Unroll)}


def test_the_free_sequence_before_is_made_longer() -> None:
    found = [format_schedule(one) for one in near(nests.GEMM, "distribute(i, 1); parallelize(i_d)")]
    assert "distribute(i, 1); reverse(k); parallelize(i_d)" in found
    assert "distribute(i, 1); interchange(j, k); parallelize(i_d)" in found


def test_free_sequences_are_legal_and_the_same_for_the_same_seed() -> None:
    for text in (nests.GEMM, nests.JACOBI, nests.SEIDEL):
        space = space_of(text)
        drawn = [free_sequence(space, random.Random(seed), (), 4) for seed in range(12)]
        assert drawn == [free_sequence(space, random.Random(seed), (), 4) for seed in range(12)]
        assert all(map(space.legal, drawn))
        assert sum(map(is_free, drawn)) >= 4
