"""What a machine can do at best, measured once: bandwidth and latency by level, peak FLOP/s, the cost of threads.

`profilers.calibrate` measures, `CalibrationCache` keeps it, cost models and rooflines read `Calibration`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from profilers.contained.errors import ProfilersError
from profilers.kept import from_line, kept_at, load_kept, store_kept, strict_record, to_line
from profilers.machine import Machine

# The program's own vectors are explicit: with the compiler's vectorization off, scalar code stays scalar.
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fopenmp")
KINDS = ("load", "store", "copy", "triad")
PRECISIONS = ("float", "double")
UNITS = {"bandwidth": "GB/s", "latency": "s", "flops": "FLOP/s", "fork_join": "s", "barrier": "s"}
MEMORY = "memory"
MAX_OTHER_LOAD = 0.15  # cores
_VERSION = 1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity, in `UNITS[quantity]`.

    `quantity`, `subject`, `kind`: "bandwidth", a level, one of KINDS; "latency", a level, ""; "flops", one of
    PRECISIONS, "scalar" or "vector"; "fork_join" or "barrier", "", "". `value` is the best of `samples` repetitions,
    for fork_join and barrier their median; `spread` is their coefficient of variation. `working_set_bytes` is what
    each thread works on, 0 where there is no such thing.

    Bandwidth is that of all threads together and counts bytes as STREAM does: 8 for each double that the program
    reads or writes. What a store makes the hardware read first (write-allocate) is not counted: where lines are
    allocated, copy moves 1.5 times, triad 4/3 times and store twice the bytes it is credited with. Latency is that
    of one of a chain of dependent loads at random, on pages of the system's default size, misses of the TLB included;
    with several threads each follows its own chain.
    """

    quantity: str
    subject: str
    kind: str
    threads: int
    value: float
    spread: float
    samples: int
    working_set_bytes: int

    def __post_init__(self) -> None:
        measured = 0 < self.value < math.inf and 0 <= self.spread < math.inf and self.samples > 0
        if self.quantity not in UNITS or not measured or self.working_set_bytes < 0:
            raise ProfilersError(f"not a measured figure: {self}")

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What it is a figure of."""
        return self.quantity, self.subject, self.kind, self.threads


@dataclass(frozen=True, slots=True)
class Calibration:
    """All figures of one machine and compiler, for 1 thread and for `threads` threads.

    `machine` is the fingerprint, `compiler` the first line of `cc --version`, `date` as `datetime.isoformat` writes
    it. `other_load`: cores that others kept busy meanwhile. Raises ProfilersError where figures are missing or
    foreign.
    """

    machine: str
    compiler: str
    flags: tuple[str, ...]
    date: str
    threads: int
    other_load: float
    figures: tuple[Figure, ...]

    def __post_init__(self) -> None:
        try:
            dated = datetime.fromisoformat(self.date).isoformat() == self.date
        except ValueError:
            dated = False
        if not dated or self.threads < 1 or not 0 <= self.other_load < math.inf:
            raise ProfilersError(
                f"not a calibration: date {self.date!r}, {self.threads} threads, {self.other_load} cores used by others"
            )
        expected = {
            key
            for threads in {1, self.threads}
            for key in (
                *(("bandwidth", level, kind, threads) for level in (*self.levels, MEMORY) for kind in KINDS),
                *(("latency", level, "", threads) for level in (*self.levels, MEMORY)),
                *(("flops", precision, kind, threads) for precision in PRECISIONS for kind in ("scalar", "vector")),
                ("fork_join", "", "", threads),
                ("barrier", "", "", threads),
            )
        }
        keys = [figure.key for figure in self.figures]
        if set(keys) != expected or len(keys) != len(expected):
            raise ProfilersError(f"not a calibration: {len(keys)} figures that are not the {len(expected)} expected")

    @property
    def noisy(self) -> bool:
        """Whether others used enough of the machine to blur the figures."""
        return self.other_load > MAX_OTHER_LOAD

    @property
    def levels(self) -> tuple[str, ...]:
        """Names from the nearest to the farthest: "L1", "L2", …, "memory"."""
        return tuple(dict.fromkeys(figure.subject for figure in self.figures if figure.quantity == "bandwidth"))

    def figure(self, quantity: str, subject: str = "", kind: str = "", threads: int = 1) -> Figure:
        """The figure of that name. Raises ProfilersError where it was not measured."""
        for figure in self.figures:
            if figure.key == (quantity, subject, kind, threads):
                return figure
        what = " ".join(word for word in (subject, kind, quantity) if word)
        measured = " and ".join(map(str, sorted({1, self.threads})))
        raise ProfilersError(f"{what} of {threads} threads was not measured (threads: {measured})")

    def bandwidth(self, level: str, kind: str, threads: int) -> float:
        """GB/s (1e9 bytes) of all threads together, counted as in `Figure`. Raises ProfilersError."""
        return self.figure("bandwidth", level, kind, threads).value

    def peak_flops(self, precision: str, vector: bool, threads: int) -> float:
        """FLOP/s of all threads together; a fused multiply-add counts as two. Raises ProfilersError."""
        return self.figure("flops", precision, "vector" if vector else "scalar", threads).value

    def latency(self, level: str, threads: int = 1) -> float:
        """Seconds of a dependent load. Raises ProfilersError."""
        return self.figure("latency", level, "", threads).value

    def to_json(self) -> str:
        """One line; `from_json` gives an equal calibration back."""
        return to_line(self, _VERSION)

    @staticmethod
    def from_json(text: str) -> Calibration:
        """Raises ProfilersError for anything that `to_json` would not write."""

        def made(document: dict[str, Any]) -> Calibration:
            document["flags"] = tuple(map(str, document["flags"]))
            document["figures"] = tuple(strict_record(Figure, one) for one in document["figures"])
            return strict_record(Calibration, document)

        return from_line(text, _VERSION, "a calibration", made)


@dataclass(frozen=True, slots=True)
class Roofline:
    """The two limits of a loop: `peak_flops` in FLOP/s, `bandwidth` in GB/s."""

    peak_flops: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """FLOP/byte from which arithmetic is the limit."""
        return self.peak_flops / (self.bandwidth * 1e9)

    def attainable(self, intensity: float) -> float:
        """FLOP/s at `intensity` FLOP/byte."""
        return min(self.peak_flops, intensity * self.bandwidth * 1e9)


@dataclass(frozen=True, slots=True)
class CalibrationCache:
    """Calibrations in a folder, one file for each machine and compiler."""

    folder: Path

    def path(self, fingerprint: str, compiler: str) -> Path:
        """The file of a machine and a compiler (the first line of `cc --version`)."""
        return kept_at(self.folder, "calibration", fingerprint, compiler)

    def load(self, machine: Machine, compiler: str) -> Calibration | None:
        """What was stored; None where there is nothing, or something damaged, foreign or made with other flags."""
        found = load_kept(self.path(machine.fingerprint, compiler), Calibration.from_json)
        mine = (machine.fingerprint, compiler, FLAGS)
        return found if found is not None and (found.machine, found.compiler, found.flags) == mine else None

    def store(self, calibration: Calibration) -> Path:
        """Writes it all at once and returns the file. Raises ProfilersError where that cannot be done."""
        path = self.path(calibration.machine, calibration.compiler)
        store_kept(path, calibration.to_json(), "the calibration")
        return path
