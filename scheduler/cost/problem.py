"""What cost models are trained on and asked: a nest on a machine, with schedules and, for training, their speedups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Problem:
    """A nest with what was measured of it. `speedups[i]`: original time / time of `schedules[i]`.

    `given_up`: schedules whose run was stopped; their speedups are known to be below `speedups[i]`. `seconds`: the
    original's time, where it is known.

    `parameters`: the sizes it ran with. `group`: what must not be on both sides of a split into training and test.
    """

    nest: LoopNest
    parameters: Mapping[str, int]
    target: Target
    schedules: tuple[Schedule, ...]
    speedups: tuple[float, ...]
    group: str
    name: str = ""
    given_up: frozenset[int] = frozenset()
    seconds: float | None = None


class CostModel(Protocol):
    """Predicts speedups over the nest as written."""

    @property
    def spread(self) -> tuple[float, float] | None:
        """What 8 of 10 measured speedups are of those predicted, from and to; None where that is not known."""
        ...

    def predict(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        schedules: Sequence[ScheduledNest],
        seconds: float | None = None,
    ) -> npt.NDArray[np.float64]:
        """Shape [len(schedules)], original time / time; all schedules are of the replayer's nest.

        `seconds`: what the nest as written takes on one thread, where that was measured.
        """
        ...
