"""Progress on stderr: a live line on a terminal, plain lines elsewhere, when quiet only what is loud."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from perfembed.measuring.events import CandidateMeasured
from perfembed.report.style import Style, count, seconds, times
from perfembed.report.terminal import nest_line
from perfembed.tuning.result import Event, Message, NestFinished, NestStarted


@contextmanager
def progress_on(stream: TextIO, color: bool, *, quiet: bool, verbose: bool) -> Iterator[Callable[[Event], None]]:
    """Gives the function that events are handed to."""
    if quiet:
        yield lambda event: _plain(stream, event, False) if isinstance(event, Message) and event.loud else None
    elif color:
        with _live(stream, verbose) as show:
            yield show
    else:
        yield lambda event: _plain(stream, event, verbose)


def _plain(stream: TextIO, event: Event, verbose: bool) -> None:
    text = ""
    if isinstance(event, NestStarted):
        text = _started(event)
    elif isinstance(event, NestFinished):
        text = _finished(event, verbose)
    elif isinstance(event, Message):
        text = event.text
    elif verbose:
        text = "  " + _measured(event)
    if text:
        print(text, file=stream, flush=True)


@contextmanager
def _live(stream: TextIO, verbose: bool) -> Iterator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(file=stream, highlight=False, markup=False)
    columns = (
        TimeElapsedColumn(Column(min_width=7, no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    # Drawn when something happens, never by a thread of its own: that would disturb what is being measured.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=None)
        head = ""

        def show(event: Event) -> None:
            nonlocal head
            if isinstance(event, NestStarted):
                limit = f"of up to {seconds(event.budget_s)}"
                head = f"{limit}  {event.position}/{event.total} {event.nest} (line {event.line})"
                bar.reset(task, description=head)  # the time that is shown is that of the nest
                bar.refresh()
            elif isinstance(event, CandidateMeasured):
                bar.update(task, description=f"{head}: {_measured(event)}", refresh=True)
            elif isinstance(event, NestFinished):
                if text := _finished(event, verbose):
                    console.print(text, soft_wrap=True)
            elif event.loud:
                console.print(event.text, soft_wrap=True)
            else:
                bar.update(task, description=event.text, refresh=True)

        yield show


def _started(event: NestStarted) -> str:
    return f"nest {event.position} of {event.total}: {event.nest} (line {event.line}), up to {seconds(event.budget_s)}"


def _finished(event: NestFinished, verbose: bool) -> str:
    """The report tells of nests that were never worked on; progress leaves them out."""
    return nest_line(event.report, Style()) if verbose or event.report.status in ("tuned", "kept") else ""


def _measured(event: CandidateMeasured) -> str:
    gain = f" ({times(event.original_s / event.best_s)})" if event.best_s > 0 else ""
    return f"{count(event.count, 'candidate')}, best {seconds(event.best_s)}{gain}"
