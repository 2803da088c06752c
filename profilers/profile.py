"""A performance profile: what one nest did to the machine, thread by thread, and who counted it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profilers.contained.errors import ProfilersError
from profilers.counters import STATISTICS, counters, derived, statistics_of

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Profile:
    """Counts of one run of a nest in its canonical schedule.

    `source` is "likwid", "perf" or "simulated": profiles of different sources never mix unmarked. `counts` maps a
    counter's name to one value a thread; a counter that the source cannot count is absent. `sampling_error` is the
    greatest relative standard error of what was counted where only a part of the nest was observed, else 0.0.
    """

    source: str
    machine: str  # profilers.machine.Machine.fingerprint
    threads: int
    runtime_s: float
    line_bytes: int
    counts: tuple[tuple[str, tuple[float, ...]], ...]
    sampling_error: float = 0.0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {counter.name for counter in counters()}
        for name, values in self.counts:
            if name not in known:
                raise ProfilersError(f"{name} is no counter")
            if len(values) != self.threads or not all(math.isfinite(v) and v >= 0 for v in values):
                raise ProfilersError(
                    f"{name}: {len(values)} values for {self.threads} threads, or not all counts: {values}"
                )
        if self.threads < 1 or not self.runtime_s > 0:
            raise ProfilersError(f"a profile of {self.threads} threads and {self.runtime_s} s")

    def sums(self) -> dict[str, float]:
        """Every counter summed over the threads; NaN where it was not counted."""
        known = dict(self.counts)
        return {c.name: sum(known[c.name]) if c.name in known else math.nan for c in counters()}

    def features(self) -> tuple[float, ...]:
        """The 95 features in the order of `profilers.counters.feature_names`; NaN where a counter is missing."""
        known = dict(self.counts)
        found: list[float] = []
        for counter in counters():
            values = known.get(counter.name)
            found += statistics_of(values) if values is not None else [math.nan] * len(STATISTICS)
        return tuple(found)

    def metrics(self, lower_bound_bytes: float = math.nan) -> dict[str, float]:
        """The 20 derived metrics by name. `lower_bound_bytes`: the least memory traffic of the nest."""
        conditions = {
            "runtime": self.runtime_s,
            "threads": float(self.threads),
            "line": float(self.line_bytes),
            "lower_bound": lower_bound_bytes,
        }
        return derived(self.sums(), conditions)

    def to_json(self) -> str:
        """One line; `from_json` gives an equal profile back."""
        document = {
            "version": _VERSION,
            "source": self.source,
            "machine": self.machine,
            "threads": self.threads,
            "runtime_s": self.runtime_s,
            "line_bytes": self.line_bytes,
            "counts": {name: list(values) for name, values in self.counts},
            "sampling_error": self.sampling_error,
            "notes": list(self.notes),
        }
        return json.dumps(document, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Profile:
        """Raises ProfilersError for anything that `to_json` would not write."""
        try:
            document: Mapping[str, Any] = json.loads(text)
            if document["version"] != _VERSION:
                raise ProfilersError(f"a profile of version {document['version']}, this program knows {_VERSION}")
            return Profile(
                source=_text(document["source"]),
                machine=_text(document["machine"]),
                threads=int(document["threads"]),
                runtime_s=float(document["runtime_s"]),
                line_bytes=int(document["line_bytes"]),
                counts=tuple((str(n), tuple(float(v) for v in values)) for n, values in document["counts"].items()),
                sampling_error=float(document["sampling_error"]),
                notes=tuple(_text(note) for note in document["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ProfilersError(f"not a profile: {problem}") from problem


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
