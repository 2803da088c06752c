"""Progress of `populate` on stderr: a live line on a terminal, a line a nest elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from perfembed.populating.programs import PopulateEvent, ProgramDone, ProgramSkipped, ProgramStarted, Stored, Told
from perfembed.report.style import count, one_line, seconds, times


@contextmanager
def populate_progress(
    stream: TextIO, color: bool, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[PopulateEvent], None]]:
    """Gives the function that events are handed to; what is lost or not stored is told even when quiet."""
    state = _State(clock)
    if not color or quiet:

        def plain(event: PopulateEvent) -> None:
            text = state.take(event)
            if text and (not quiet or is_loud(event)):
                print(text, file=stream, flush=True)

        yield plain
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(file=stream, highlight=False, markup=False, force_terminal=True)
    text_column = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    # Drawn when something happens, never by a thread of its own: that would disturb what is being measured.
    with Progress(BarColumn(20), text_column, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=None)

        def live(event: PopulateEvent) -> None:
            text = state.take(event)
            if text:
                console.print(text, soft_wrap=True)
            bar.update(task, total=state.total, completed=state.done, description=state.summary(), refresh=True)

        yield live


class _State:
    """What is known so far, and the line that an event is worth."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self.labels = self.done = self.total = 0
        self.best: float | None = None
        self.program = ""

    def take(self, event: PopulateEvent) -> str:
        if isinstance(event, ProgramStarted):
            self.total, self.program = event.total, one_line(event.program.path)
            return ""
        if isinstance(event, Stored):
            return _stored(event)
        if isinstance(event, Told):
            return event.text
        if isinstance(event, ProgramSkipped | ProgramDone):
            self.done += 1
            if isinstance(event, ProgramDone):
                return ""
            what = "not done, waits for another run" if event.again else "skipped"
            return f"{self.done}/{self.total} {one_line(event.program.path)}: {what}: {event.reason}"
        self.labels += event.labels
        self.best = max(self.best or 0.0, event.best or 0.0) or None
        best = f"best {times(event.best)}" if event.best else event.reason
        place = f"{min(self.done + 1, self.total)}/{self.total} {one_line(event.program.path)}"
        return f"{place}: {event.nest}: {event.labels} measured, {best} ({self._rate()})"

    def summary(self) -> str:
        """`3/45 programs, 96 candidates, best 9.10x, 1200 labels/h, 20 s left: gemm.c`."""
        best = f", best {times(self.best)}" if self.best else ""
        labels = count(self.labels, "candidate")
        return f"{self.done}/{self.total} programs, {labels}{best}, {self._rate()}: {self.program}"

    def _rate(self) -> str:
        passed = max(self._clock() - self._began, 1e-9)
        left = f", {seconds(passed / self.done * (self.total - self.done))} left" if self.done else ""
        return f"{self.labels / passed * 3600:.0f} labels/h{left}"


def _stored(event: Stored) -> str:
    if event.problem:
        return f"not stored yet, kept in the spool: {event.problem}"
    if event.report and event.report.lost:
        return f"a damaged spool file: {event.report.lost} records lost: {event.report.problems[0].reason}"
    return ""


def is_loud(event: PopulateEvent) -> bool:
    """Whether it is told even when quiet."""
    return isinstance(event, Stored) or (isinstance(event, ProgramSkipped) and event.again)
