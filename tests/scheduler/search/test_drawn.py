"""Schedules drawn from all that is legal, and searches that go on where they end."""

from collections.abc import Sequence

import pytest

from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule
from scheduler.search import make_search
from scheduler.search.drawn import Drawn
from scheduler.search.free import is_free
from scheduler.transform import Reschedule
from tests.scheduler import nests
from tests.scheduler.search.test_beam import PARAMETERS, pretended_seconds


def drawn(text: str, limit: int, seed: int = 0) -> tuple[Drawn, list[ScheduledNest], Space]:
    seen: list[ScheduledNest] = []

    def evaluate(schedules: Sequence[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [pretended_seconds(one) for one in schedules]

    space = Space(Replayer(nests.nest(text)), Target(threads=2), PARAMETERS)
    search = Drawn(space, evaluate, seed=seed, limit=limit)
    assert search.run().evaluated == len(seen)
    return search, seen, space


def test_matrices_and_free_sequences_by_turns() -> None:
    for text in (nests.GEMM, nests.JACOBI):
        _, seen, space = drawn(text, 20)
        assert len(seen) == 20 and all(space.legal(one.schedule) for one in seen)
        matrices = [isinstance(one.schedule[0], Reschedule) if one.schedule else False for one in seen]
        assert 6 <= sum(matrices) <= 14
        assert sum(is_free(one.schedule) for one in seen) >= 10


def test_the_same_for_the_same_seed() -> None:
    texts = [[format_schedule(s.schedule) for s in drawn(nests.GEMM, 12, seed)[1]] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_data_dependent_nests_have_sequences_only() -> None:
    _, seen, _ = drawn(nests.SPMM, 8)
    assert seen and not any(isinstance(step, Reschedule) for one in seen for step in one.schedule)


@pytest.mark.gcc
def test_a_search_goes_on_where_they_end() -> None:
    first, seen, space = drawn(nests.GEMM, 10)
    new: list[ScheduledNest] = []

    def evaluate(schedules: Sequence[ScheduledNest]) -> list[float | None]:
        new.extend(schedules)
        return [pretended_seconds(one) for one in schedules]

    search = make_search("beam", space, evaluate, seed=0, limit=15, expired=lambda: False)
    search.after(first)
    result = search.run()
    assert len(new) == 15 and not {one.tree for one in new} & {one.tree for one in seen}
    assert result.evaluated == len(result.ranked) == 25
