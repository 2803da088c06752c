"""What this machine can do at best, measured once: bandwidth and latency by level, peak FLOP/s, the cost of threads.

`calibrate` compiles calibration.c and runs it contained, once with one thread and once with all of them.
`CalibrationCache` keeps the result. Cost models and rooflines read it through `Calibration` and `roofline`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from inspect import get_annotations
from pathlib import Path
from typing import Any, TypeVar

from profilers.build import compiler_path, compiler_version
from profilers.errors import HarnessError, ProfilersError
from profilers.harness import OpenMP, harness_environment
from profilers.machine import Machine
from profilers.run import Finished, Limits, run_contained
from profilers.timing import LoadMeter, coefficient_of_variation

# The program's own vectors are explicit: with the compiler's vectorization off, scalar code stays scalar.
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fopenmp")
KINDS = ("load", "store", "copy", "triad")
PRECISIONS = ("float", "double")
UNITS = {"bandwidth": "GB/s", "latency": "s", "flops": "FLOP/s", "fork_join": "s", "barrier": "s"}
MEMORY = "memory"
MAX_OTHER_LOAD = 0.15  # cores
_SOURCE = Path(__file__).with_name("calibration.c")
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
        return json.dumps({"version": _VERSION, **asdict(self)}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Calibration:
        """Raises ProfilersError for anything that `to_json` would not write."""
        try:
            document = json.loads(text)
            written = json.dumps(document, separators=(",", ":"))
            if document.pop("version") != _VERSION:
                raise ValueError(f"this program knows version {_VERSION}")
            document["flags"] = tuple(map(str, document["flags"]))
            document["figures"] = tuple(_record(Figure, one) for one in document["figures"])
            found = _record(Calibration, document)
            if found.to_json() != written:
                raise ValueError("fields of other types, or in another order")
            return found
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as problem:
            raise ProfilersError(f"not a calibration: {' '.join(str(problem).split())[:200]}") from problem


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


def roofline(
    calibration: Calibration,
    level: str,
    threads: int,
    *,
    precision: str = "double",
    vector: bool = True,
    kind: str = "triad",
) -> Roofline:
    """The roofline of data that lies in `level`. Raises ProfilersError where it was not measured."""
    return Roofline(calibration.peak_flops(precision, vector, threads), calibration.bandwidth(level, kind, threads))


@dataclass(frozen=True, slots=True)
class CalibrationCache:
    """Calibrations in a folder, one file for each machine and compiler."""

    folder: Path

    def path(self, fingerprint: str, compiler: str) -> Path:
        """The file of a machine and a compiler (the first line of `cc --version`)."""
        text = compiler.encode("utf-8", errors="surrogateescape")
        return self.folder / f"calibration-{fingerprint}-{hashlib.sha256(text).hexdigest()[:8]}.json"

    def load(self, machine: Machine, compiler: str) -> Calibration | None:
        """What was stored; None where there is nothing, or something damaged, foreign or made with other flags."""
        path = self.path(machine.fingerprint, compiler)
        try:
            if not path.is_file():
                return None
            found = Calibration.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, ProfilersError):
            return None
        same = (found.machine, found.compiler, found.flags) == (machine.fingerprint, compiler, FLAGS)
        return found if same else None

    def store(self, calibration: Calibration) -> Path:
        """Writes it all at once and returns the file. Raises ProfilersError where that cannot be done."""
        path = self.path(calibration.machine, calibration.compiler)
        unfinished = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, unfinished = tempfile.mkstemp(prefix=".calibration-", dir=self.folder)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(calibration.to_json() + "\n")
            os.replace(unfinished, path)
        except OSError as problem:
            if unfinished is not None:
                Path(unfinished).unlink(missing_ok=True)
            raise ProfilersError(f"cannot keep the calibration in {self.folder}: {problem.strerror}") from problem
        return path


def calibrate(
    machine: Machine,
    cc: str,
    environment: Mapping[str, str],
    workdir: Path,
    threads: int,
    *,
    date: str,
    seconds: float = 0.16,
) -> Calibration:
    """Measures everything with 1 and with `threads` threads; each figure gets about `seconds` seconds.

    The caller holds the machine's measurement lock. Raises CompilerMissing, and HarnessError where the program does
    not compile or run or the working sets do not fit into memory.
    """
    compiler = compiler_version(cc, environment)
    executable = build_calibration(machine, cc, environment, workdir)
    meter = LoadMeter()
    figures = []
    for count in sorted({1, threads}):
        figures += _measure(executable, machine, environment, count, seconds)
    return Calibration(machine.fingerprint, compiler, FLAGS, date, threads, meter.other_load(), tuple(figures))


def build_calibration(machine: Machine, cc: str, environment: Mapping[str, str], workdir: Path) -> Path:
    """Compiles calibration.c in `workdir`, which is made. Raises CompilerMissing and HarnessError."""
    workdir.mkdir(parents=True, exist_ok=True)
    executable = workdir.absolute() / "calibration"
    argv = (compiler_path(cc, environment), *FLAGS, "-std=gnu11", f"-DPE_VECTOR_BYTES={machine.vector_bytes}")
    env = {**environment, "LC_ALL": "C", "TMPDIR": str(workdir.absolute())}
    finished = run_contained(
        (*argv, str(_SOURCE), "-o", str(executable)), limits=Limits(wall_s=60.0), env=env, cwd=workdir
    )
    if not finished.ok:
        raise HarnessError(f"{cc} cannot compile the calibration: {_complaint(finished)}")
    return executable


def working_sets(machine: Machine, threads: int) -> tuple[tuple[str, int], ...]:
    """Each level's name and the bytes one of `threads` threads works on to stay in it, nearest level first.

    Half of a thread's share of L1 and L2, four times the last cache for the memory. Of L3 an eighth, for neighbours
    fill the rest, seen or unseen: at 16 of the 32 MiB that a virtual machine reports, a random load took 143 ns, as
    memory did, at 4 MiB 16 ns. In any case twice the level before, where the level is that large.
    """
    found = []
    inner = share = 0
    for cache in machine.caches:
        share = cache.size_bytes // _sharers(cache.shared_by, machine, threads)
        wanted = share // (2 if cache.level < 3 else 8)
        found.append((f"L{cache.level}", max(min(max(wanted, 2 * inner), share), 2 * cache.line_bytes)))
        inner = share
    return (*found, (MEMORY, 4 * share))


def _sharers(shared_by: int, machine: Machine, threads: int) -> int:
    """How many of the threads, spread evenly, are behind one cache."""
    return max(1, math.ceil(threads * shared_by / machine.logical_cores))


def _measure(
    executable: Path, machine: Machine, environment: Mapping[str, str], threads: int, seconds: float
) -> list[Figure]:
    sets = working_sets(machine, threads)
    largest = threads * max(size for _, size in sets)
    if largest > machine.memory_bytes // 2:
        raise HarnessError(f"{largest >> 20} MiB to measure the memory are more than half of it")
    line_bytes = max((cache.line_bytes for cache in machine.caches), default=64)
    arguments = (str(threads), repr(seconds), str(line_bytes), *(str(word) for level in sets for word in level))
    limits = Limits(wall_s=120.0, memory_bytes=largest + (1 << 30) + threads * (256 << 20))
    env = harness_environment(environment, threads, OpenMP(proc_bind="spread", places="cores"))
    finished = run_contained((str(executable), *arguments), limits=limits, env=env, cwd=executable.parent)
    try:
        if not finished.ok:
            raise ValueError(_complaint(finished))
        return [_figure(one, threads) for one in json.loads(finished.stdout)["figures"]]
    except (KeyError, TypeError, ValueError, ArithmeticError) as problem:
        raise HarnessError(f"the calibration with {threads} threads failed: {problem}") from problem


def _figure(said: dict[str, Any], threads: int) -> Figure:
    """A figure from what the program said; `amount` is what one repetition did."""
    quantity, amount = str(said["quantity"]), float(said["amount"])
    each = tuple(float(s) for s in said["seconds"])
    if quantity in ("bandwidth", "flops"):
        each = tuple(amount / s / (1e9 if quantity == "bandwidth" else 1.0) for s in each)
        value = max(each)
    else:
        each = tuple(s / amount for s in each)
        value = min(each) if quantity == "latency" else statistics.median(each)
    spread = coefficient_of_variation(each)
    return Figure(quantity, said["subject"], said["kind"], threads, value, spread, len(each), said["bytes"])


def _complaint(finished: Finished) -> str:
    lines = finished.stderr.decode(errors="replace").strip().splitlines()
    limit = f"went over the limit of {finished.limit}" if finished.limit else f"ended with code {finished.returncode}"
    return lines[0][:300] if lines else limit


def _record(cls: Callable[..., _T], document: dict[str, Any]) -> _T:
    """An instance whose fields have the very types they are declared with. Raises TypeError."""
    for name, declared in get_annotations(cls).items():
        if type(document[name]).__name__ != declared.partition("[")[0]:
            raise TypeError(f"{name} is no {declared}")
    return cls(**document)
