"""What decides how a stream is run: bandwidths with one thread and with all, and the cost of a parallel region.

A full calibration has these figures; where there is none, `profilers.calibrate.calibrate_streams` takes them alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profilers.calibration import FLAGS, MAX_OTHER_LOAD, MEMORY, Calibration, CalibrationCache
from profilers.contained.errors import ProfilersError
from profilers.kept import from_line, kept_at, load_kept, store_kept, strict_record, to_line
from profilers.machine import Machine

_VERSION = 1


@dataclass(frozen=True, slots=True)
class StreamRates:
    """Of one machine and compiler, with 1 thread and with `threads`.

    `memory_gbs`, `cache_gbs` (1 thread, all): GB/s of copies in memory and in the last cache, counted as
    `profilers.calibration.Figure` says. `region_s`: seconds of a parallel region of all threads. The other fields are
    those of a `Calibration`. Raises ProfilersError where figures are none.
    """

    machine: str
    compiler: str
    flags: tuple[str, ...]
    date: str
    threads: int
    other_load: float
    memory_gbs: tuple[float, float]
    cache_gbs: tuple[float, float]
    region_s: float

    def __post_init__(self) -> None:
        figures = (*self.memory_gbs, *self.cache_gbs, self.region_s)
        if len(figures) != 5 or not all(0 < figure < math.inf for figure in figures) or self.threads < 1:
            raise ProfilersError(f"not measured rates: {self}")

    @property
    def noisy(self) -> bool:
        """Whether others used enough of the machine to blur the figures."""
        return self.other_load > MAX_OTHER_LOAD

    def to_json(self) -> str:
        """One line; `from_json` gives equal rates back."""
        return to_line(self, _VERSION)

    @staticmethod
    def from_json(text: str) -> StreamRates:
        """Raises ProfilersError for anything that `to_json` would not write."""

        def made(document: dict[str, Any]) -> StreamRates:
            document["flags"] = tuple(map(str, document["flags"]))
            for name in ("memory_gbs", "cache_gbs"):
                document[name] = tuple(map(float, document[name]))
            return strict_record(StreamRates, document)

        return from_line(text, _VERSION, "stream rates", made)


def rates_of(calibration: Calibration) -> StreamRates:
    """Those of a full calibration."""
    c, last = calibration, calibration.levels[-2]
    memory, cache = ((c.bandwidth(level, "copy", 1), c.bandwidth(level, "copy", c.threads)) for level in (MEMORY, last))
    region_s = c.figure("fork_join", threads=c.threads).value
    return StreamRates(c.machine, c.compiler, c.flags, c.date, c.threads, c.other_load, memory, cache, region_s)


@dataclass(frozen=True, slots=True)
class RatesCache:
    """Rates in the folder of the calibrations, one file for each machine, compiler and number of threads."""

    folder: Path

    def path(self, fingerprint: str, compiler: str, threads: int) -> Path:
        """The file of a machine and a compiler (the first line of `cc --version`)."""
        return kept_at(self.folder, "streams", fingerprint, compiler, f"-{threads}")

    def load(self, machine: Machine, compiler: str, threads: int) -> StreamRates | None:
        """Those of a full calibration, or what was stored; None where there are none of so many threads."""
        full = CalibrationCache(self.folder).load(machine, compiler)
        if full is not None and full.threads == threads and len(full.levels) > 1:
            return rates_of(full)
        found = load_kept(self.path(machine.fingerprint, compiler, threads), StreamRates.from_json)
        mine = (machine.fingerprint, compiler, FLAGS, threads)
        theirs = (found.machine, found.compiler, found.flags, found.threads) if found is not None else None
        return found if theirs == mine else None

    def store(self, rates: StreamRates) -> Path:
        """Writes them all at once and returns the file. Raises ProfilersError where that cannot be done."""
        path = self.path(rates.machine, rates.compiler, rates.threads)
        store_kept(path, rates.to_json(), "the rates")
        return path
