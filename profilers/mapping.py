"""Which events of a machine make our counters: the files `groups/likwid-*.toml` and `groups/perf-*.toml`."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from profilers.contained.errors import ProfilersError
from profilers.counters import GROUPS_FOLDER, counters
from profilers.formula import evaluate, names

Values = Mapping[str, float]  # event -> count of one thread in one repetition; NaN or absent where not counted


@dataclass(frozen=True, slots=True)
class Mapped:
    """One of our counters: a formula over `events`, which it calls e1, e2, and so on.

    `scope` "socket": a socket counts as a whole, and the events of memory channels that a machine lacks count as 0.
    Without the CPU flag `zero_without` there is nothing to count: the counter is 0.
    """

    name: str
    events: tuple[str, ...]
    formula: str
    scope: Literal["thread", "socket"] = "thread"
    zero_without: str = ""
    note: str = ""

    def value(self, counted: Values) -> float:
        """The counter of one thread in one repetition; NaN where an event is missing."""
        values = [counted.get(event, math.nan) for event in self.events]
        if self.scope == "socket" and not all(math.isnan(value) for value in values):
            values = [0.0 if math.isnan(value) else value for value in values]
        return evaluate(self.formula, {f"e{number}": value for number, value in enumerate(values, 1)})


@dataclass(frozen=True, slots=True)
class Run:
    """Counters that are measured together, and their events, each once."""

    group: str
    counters: tuple[Mapped, ...]

    @property
    def events(self) -> tuple[str, ...]:
        """In the order of the files; none where nothing has to be measured."""
        return tuple(dict.fromkeys(event for counter in self.counters for event in counter.events))


@dataclass(frozen=True, slots=True)
class EventMap:
    """One file. `selects` says for which machines it is, `probe` is the event that shows whether anything counts."""

    name: str
    selects: Mapping[str, tuple[str, ...]]
    probe: str
    counters: tuple[Mapped, ...]
    missing: tuple[tuple[tuple[str, ...], str], ...]  # counters it has no events for, and why
    notes: tuple[str, ...]

    def runs(self, flags: tuple[str, ...]) -> tuple[Run, ...]:
        """The groups in the order of `counters.toml`, as a CPU with these flags can count them."""
        known = {counter.name: _of_cpu(counter, flags) for counter in self.counters}
        groups: dict[str, list[Mapped]] = {}
        for counter in counters():
            if counter.name in known:
                groups.setdefault(counter.group, []).append(known[counter.name])
        return tuple(Run(group, tuple(members)) for group, members in groups.items())

    def remarks(self, counted: frozenset[str]) -> tuple[str, ...]:
        """What a reader of a profile with these counters has to know, each once."""
        about = [counter.note for counter in self.counters if counter.note and counter.name in counted]
        absent = [f"not counted: {', '.join(listed)}: {why}" for listed, why in self.missing]
        return tuple(dict.fromkeys((*self.notes, *about, *absent)))


def load(path: Path) -> EventMap:
    """Reads one file. Raises ProfilersError where it is no map of our counters."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        selects: dict[str, tuple[str, ...]] = {
            key: tuple(data[key]) for key in ("cpu_short", "cpu_types", "vendors") if key in data
        }
        missing = tuple((tuple(entry["names"]), str(entry["note"])) for entry in data.get("missing", ()))
        mapped = tuple(_mapped(path.stem, entry) for entry in data["counter"])
        found = EventMap(path.stem, selects, str(data["probe"]), mapped, missing, tuple(data["notes"]))
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as problem:
        raise ProfilersError(f"{path} is no map of events: {problem!r}") from problem
    listed = [counter.name for counter in mapped] + [name for group, _ in missing for name in group]
    if len(set(listed)) < len(listed) or not set(listed) <= {counter.name for counter in counters()}:
        raise ProfilersError(f"{path}: a counter is unknown or listed twice")
    return found


@cache
def event_maps(tool: str) -> tuple[EventMap, ...]:
    """Those of "likwid" or "perf"."""
    return tuple(load(path) for path in sorted(GROUPS_FOLDER.glob(f"{tool}-*.toml")))


def medians(
    run: Run, repetitions: Sequence[Sequence[Values]]
) -> tuple[tuple[tuple[str, tuple[float, ...]], ...], tuple[str, ...]]:
    """The run's counters as a median over the repetitions for each thread, and the names of those not counted.

    `repetitions[r][t]` is what thread `t` counted in repetition `r`.
    """
    found, absent = [], []
    for counter in run.counters:
        each = [_of_sockets(counter, [counter.value(thread) for thread in threads]) for threads in repetitions]
        values = tuple(statistics.median(of_thread) for of_thread in zip(*each, strict=True))
        if any(math.isnan(value) for of_thread in each for value in of_thread):
            absent.append(counter.name)
        else:
            found.append((counter.name, values))
    return tuple(found), tuple(absent)


def _of_sockets(counter: Mapped, threads: list[float]) -> list[float]:
    """A socket's count is found with its first thread only: it stays there, and the other threads have 0."""
    if counter.scope == "thread" or all(math.isnan(value) for value in threads):
        return threads
    return [0.0 if math.isnan(value) else value for value in threads]


def _mapped(origin: str, entry: Mapping[str, Any]) -> Mapped:
    counter = Mapped(**{**entry, "events": tuple(entry["events"])})
    own = {f"e{number}" for number in range(1, len(counter.events) + 1)}
    if names(counter.formula) != own or counter.scope not in ("thread", "socket"):
        raise ProfilersError(f"{origin}: the formula of {counter.name} does not fit its events")
    return counter


def _of_cpu(counter: Mapped, flags: tuple[str, ...]) -> Mapped:
    if counter.zero_without and counter.zero_without not in flags:
        return Mapped(counter.name, (), "0")
    return counter
