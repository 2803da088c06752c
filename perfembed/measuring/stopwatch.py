"""Where the time of a command goes, and when it has to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal[
    "front end",
    "capture",
    "retrieval",
    "legality",
    "compiling",
    "original",
    "candidates",
    "confirming",
    "checking",
    "other values",
    "waiting",
    "other",
]
"""`original`: runs of what was given, the program or one nest. `legality`: search, proofs and the text of schedules.
`confirming`: winner and original in turns. `checking`: outputs compared. `other values`: winners run on values
unlike the captured ones. `waiting`: for others that measure."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds of wall time by phase; where phases nest, time counts for the innermost one."""

    now: Callable[[], float] = time.monotonic
    _seconds: dict[Phase, float] = field(default_factory=dict)
    _open: list[Phase] = field(default_factory=list)
    _since: float = 0.0

    def __post_init__(self) -> None:
        self._since = self.now()

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def seconds(self, name: Phase) -> float:
        self._settle()
        return self._seconds.get(name, 0.0)

    def spent(self) -> Mapping[str, float]:
        """All phases that took time, in the order in which they were first entered."""
        self._settle()
        return {str(name): seconds for name, seconds in self._seconds.items()}

    def shift(self, seconds: float, source: Phase, target: Phase) -> None:
        """Seconds that were another phase's, as is known only afterwards."""
        moved = min(seconds, self.seconds(source))
        self._seconds[source] = self._seconds.get(source, 0.0) - moved
        self._seconds[target] = self._seconds.get(target, 0.0) + moved

    def _settle(self) -> None:
        now, name = self.now(), self._open[-1] if self._open else "other"
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now


@dataclass(slots=True)
class Budget:
    """A command's time: `seconds` from `began` on, and what runs of the original took, of up to `originals` of them.

    What is slow as written can only be known by running it: that is not taken from what the search may use.
    """

    seconds: float
    began: float
    watch: Stopwatch
    original_s: float = 0.0  # what one run of the program takes, once that is known
    originals: int = 3

    def left(self) -> float:
        """Seconds, never below 0."""
        capturing = min(self.watch.seconds("capture"), self.original_s)  # that is a run, too, or a part of one
        free = min(self.watch.seconds("original") + capturing, self.originals * self.original_s)
        return max(0.0, self.began + self.seconds + free - self.watch.now())
