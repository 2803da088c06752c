"""What is computed of a nest: for each core it has, few in all; one that cannot be analysed hides no other."""

import pytest

from scheduler.computed import propose as module
from scheduler.computed.propose import MOST, computed
from scheduler.errors import SchedulerError
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import RegisterBlock, Tile
from tests.scheduler import nests


def space_of(text: str) -> Space:
    return Space(Replayer(nests.nest(text)), Target(2), {"n": 1000, "m": 900, "l": 800, "T": 50})


@pytest.mark.parametrize(("text", "kind"), [(nests.GEMM, RegisterBlock), (nests.JACOBI, Tile)])
def test_products_and_stencils_get_theirs(text: str, kind: type) -> None:
    space, told = space_of(text), list[str]()
    found = computed(space, told.append)
    assert 1 <= len(found) <= MOST and told == []
    assert all(any(isinstance(step, kind) for step in schedule) for schedule in found)
    assert all(isinstance(space.replayer.replay(schedule), ScheduledNest) for schedule in found)


def test_a_core_that_cannot_be_analysed_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_hard(space: Space) -> tuple[Schedule, ...]:
        raise SchedulerError("too hard")

    monkeypatch.setattr(module, "GENERATORS", (too_hard, *module.GENERATORS))
    told: list[str] = []
    assert computed(space_of(nests.JACOBI), told.append) and told == ["no too hard could be computed: too hard"]
