"""Where the time of a command goes, and when it has to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal[
    "starting",
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
"""`starting`: loading the command. `original`: runs of what was given, the program or one nest. `legality`: search,
proofs and the text of schedules. `confirming`: winner and original in turns. `checking`: outputs compared. `other
values`: winners run on values unlike the captured ones. `waiting`: for others that measure."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds of wall time by phase; where phases nest, time counts for the innermost one.

    `began`: when what is measured did (None: now).
    """

    now: Callable[[], float] = time.monotonic
    began: float | None = None
    _seconds: dict[Phase, float] = field(default_factory=dict)
    _open: list[Phase] = field(default_factory=list)
    _since: float = 0.0

    def __post_init__(self) -> None:
        self._since = self.now()
        if self.began is None:
            self.began = self._since
        elif self._since > self.began:
            self._seconds["starting"] = self._since - self.began

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
    Searching ends when nothing is `left`; what has begun by then may go on until nothing is left `at_last`.
    """

    seconds: float
    began: float
    watch: Stopwatch
    original_s: float = 0.0  # what one run of the program takes, once that is known
    originals: int = 3
    overrun: float = 1.1
    least_s: float = 10.0

    def left(self) -> float:
        """Seconds, never below 0."""
        capturing = min(self.watch.seconds("capture"), self.original_s)  # that is a run, too, or a part of one
        free = min(self.watch.seconds("original") + capturing, self.originals * self.original_s)
        return max(0.0, self.began + self.seconds + free - self.watch.now())

    def wall_s(self) -> float:
        """Seconds since the command began, waiting for others included."""
        return self.watch.now() - self.began + self.watch.seconds("waiting")

    def at_last(self) -> float:
        """Seconds until nothing may run any more, below 0 then: 1.1 times the budget and three runs of the original.

        To end what runs, to write and to clean up takes a while: it is promised for 1.2 times the budget. However short
        that is, ten seconds may pass: without them nothing would even be read and built.
        """
        most = max(self.overrun * self.seconds, self.least_s) + self.originals * self.original_s
        return self.began + most - self.watch.now()
