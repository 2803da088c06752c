"""What decides how a stream is run: bandwidths with one thread and with all, and the cost of a parallel region.

A full calibration has these figures; where there is none, `profilers.calibrate.calibrate_streams` takes them alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from profilers.calibration import FLAGS, MAX_OTHER_LOAD, MEMORY, Calibration, CalibrationCache, strict_record
from profilers.errors import ProfilersError
from profilers.machine import Machine
from profilers.scratch import unfinished_file

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
        return json.dumps({"version": _VERSION, **asdict(self)}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> StreamRates:
        """Raises ProfilersError for anything that `to_json` would not write."""
        try:
            document = json.loads(text)
            written = json.dumps(document, separators=(",", ":"))
            if document.pop("version") != _VERSION:
                raise ValueError(f"this program knows version {_VERSION}")
            document["flags"] = tuple(map(str, document["flags"]))
            for name in ("memory_gbs", "cache_gbs"):
                document[name] = tuple(map(float, document[name]))
            found = strict_record(StreamRates, document)
            if found.to_json() != written:
                raise ValueError("fields of other types, or in another order")
            return found
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as problem:
            raise ProfilersError(f"not stream rates: {' '.join(str(problem).split())[:200]}") from problem


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
        text = compiler.encode("utf-8", errors="surrogateescape")
        return self.folder / f"streams-{fingerprint}-{hashlib.sha256(text).hexdigest()[:8]}-{threads}.json"

    def load(self, machine: Machine, compiler: str, threads: int) -> StreamRates | None:
        """Those of a full calibration, or what was stored; None where there are none of so many threads."""
        full = CalibrationCache(self.folder).load(machine, compiler)
        if full is not None and full.threads == threads and len(full.levels) > 1:
            return rates_of(full)
        path = self.path(machine.fingerprint, compiler, threads)
        try:
            if not path.is_file():
                return None
            found = StreamRates.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, ProfilersError):
            return None
        same = (found.machine, found.compiler, found.flags) == (machine.fingerprint, compiler, FLAGS)
        return found if same and found.threads == threads else None

    def store(self, rates: StreamRates) -> Path:
        """Writes them all at once and returns the file. Raises ProfilersError where that cannot be done."""
        path = self.path(rates.machine, rates.compiler, rates.threads)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with unfinished_file(self.folder) as unfinished:
                unfinished.write_text(rates.to_json() + "\n", encoding="utf-8")
                os.replace(unfinished, path)
        except OSError as problem:
            raise ProfilersError(f"cannot keep the rates in {self.folder}: {problem.strerror}") from problem
        return path
