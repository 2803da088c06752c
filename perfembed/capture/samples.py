"""Samples of the program's main thread: which lines of a file it was at, and who had called them."""

from __future__ import annotations

import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.building.build import Build, Made
from perfembed.building.text import BOM, c_string
from perfembed.capture.program import ProgramFailed, ProgramRun, Runtime, build_plain, build_program, run_program
from perfembed.capture.stage import Stage
from perfembed.errors import EnvironmentMissing
from perfembed.world import World, run_failure
from profilers.build import compiler_path
from profilers.contained.child import Limits
from profilers.contained.errors import CompilerMissing
from profilers.run import DEFAULT_ENVIRONMENT, run_contained
from scheduler.frontend import SourceFile

_HERE = Path(__file__).parent
_SAMPLES, _FRAMES, _MODULES, _PATH = 1 << 14, 96, 64, 1000
_INTERVAL_NS = 1_000_000
_ENOUGH, _MOST_RUNS, _LONG_S = 500, 10, 5.0  # samples; runs; seconds of runs: shorter programs are run again
_LINE = re.compile(rb"^([ \t]*)#[ \t]*(?:line\b|\d)[^\n]*", re.MULTILINE)
_LIMITS = Limits(wall_s=60.0, memory_bytes=8 << 30, output_bytes=64 << 20)

_HEAD, _MODULE = struct.Struct("4Q"), struct.Struct(f"3Q{_PATH}s")
_SAMPLE = struct.Struct(f"{1 + _FRAMES}Q")
Stack = tuple[tuple[str, int], ...]
Places = Callable[[str, list[int]], Sequence[Stack]]
"""Where addresses of a program or a library (its path) are."""


@dataclass(frozen=True, slots=True)
class Samples:
    """How often each stack was seen, of (file, line), the innermost first, inlined calls included. Line 0: not known.

    `wall_s` and `cpu_s` (of the main thread) are those of a run on average.
    """

    stacks: Mapping[Stack, int]
    runs: int
    wall_s: float
    cpu_s: float


def sample_program(
    sources: Sequence[SourceFile],
    build: Build,
    world: World,
    workdir: Path,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
) -> Samples | ProgramFailed:
    """Builds the program with debugging information for the files, and samples its main thread in runs in its world.

    Raises EnvironmentMissing where there is no addr2line, and what building and running raise: CompilerMissing,
    UsageError (`Stage.run`), NotExecutable, ContainmentError.
    """
    program = ProgramRun(build, Stage(world, workdir / "stage"), environment)
    plain = build_plain({source.path: source.content for source in sources}, program, workdir)
    if isinstance(plain, ProgramFailed):
        return plain
    result = workdir.absolute() / "samples"
    # Of version 5 some assemblers and addr2line disagree which file is the first.
    flags = ("-g", "-gdwarf-4", "-fasynchronous-unwind-tables")
    runtime = Runtime("sample", _HERE / "sample_runtime.c", _HERE / "instrument.h", tables(result), flags, ("-lrt",))
    texts = {source.path: named(source.content, name_of(k)) for k, source in enumerate(sources)}
    built = build_program(texts, program, runtime, workdir)
    if isinstance(built, ProgramFailed):
        return built
    found = record(built, program, result, program.world.limits, _LONG_S)
    if isinstance(found, ProgramFailed):
        return found
    stacks = found.stacks(lambda path, addresses: _addr2line(path, addresses, program.environment))
    if stacks and not any(line for stack in stacks for _, line in stack):
        reason = "no line of what ran is known: it is linked without debugging information, or nothing of the files ran"
        return ProgramFailed("run", reason, unmeasured=True)
    cpu_s = sum(one.cpu_s for one in found.processes)
    return Samples(stacks, found.runs, found.wall_s / found.runs, cpu_s / found.runs)


def tables(result: Path) -> str:
    """What `sample_runtime.c` includes; it leaves its samples in files beginning as `result`."""
    return (
        f"#define PE_RESULT {c_string(str(result))}\n#define PE_SAMPLES {_SAMPLES}\n#define PE_FRAMES {_FRAMES}\n"
        f"#define PE_MODULES {_MODULES}\n#define PE_INTERVAL {_INTERVAL_NS}ULL\n"
    )


def name_of(position: int) -> str:
    """What stacks call the file at a position."""
    return f"/perfembed/source{position}.c"


def named(content: bytes, name: str) -> bytes:
    """The text under a name of ours, and with its own lines: what generated it is not asked for."""
    return f"#line 1 {c_string(name)}\n".encode() + _LINE.sub(rb"\1", content.removeprefix(BOM))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What `processes` of so many runs left, which took `wall_s` together."""

    processes: tuple[Process, ...]
    runs: int
    wall_s: float

    @property
    def count(self) -> int:
        return sum(sum(one.samples.values()) for one in self.processes)

    def stacks(self, places: Places) -> Mapping[Stack, int]:
        found: Counter[Stack] = Counter()
        for one in self.processes:
            found.update(one.stacks(places))
        return found


def record(
    built: Made, program: ProgramRun, result: Path, limits: Limits, most_s: float, enough: int = _ENOUGH
) -> Recorded | ProgramFailed:
    """Runs what takes samples, in it or preloaded, until there are enough, or for `most_s` seconds."""
    found = Recorded((), 0, 0.0)
    while found.runs == 0 or (found.count < enough and found.runs < _MOST_RUNS and found.wall_s < most_s):
        for old in result.parent.glob(f"{result.name}.*"):  # also of a program that the build ran
            old.unlink()
        ran = run_program(built, program, (result.parent,), limits)
        if reason := run_failure(ran.finished, limits):
            return ProgramFailed("run", reason, ran.stdout, ran.stderr, advice=program.stage.advice(ran.finished))
        left = tuple(Process(file.read_bytes()) for file in result.parent.glob(f"{result.name}.*"))
        if not left:
            return ProgramFailed(
                "run", "the program left no samples: what is run is not what was built", unmeasured=True
            )
        found = Recorded((*found.processes, *left), found.runs + 1, found.wall_s + ran.wall_s)
    return found


class Process:
    """What one process left. `samples`: addresses, the innermost first."""

    def __init__(self, data: bytes) -> None:
        count, _, cpu_ns, modules = _HEAD.unpack_from(data)
        self.cpu_s = cpu_ns / 1e9
        at = _HEAD.size
        self.modules: list[tuple[int, int, int, str]] = []
        for number in range(modules):
            bias, begin, end, path = _MODULE.unpack_from(data, at + number * _MODULE.size)
            self.modules.append((bias, begin, end, os.fsdecode(path.partition(b"\0")[0])))
        at += _MODULES * _MODULE.size
        self.samples: Counter[tuple[int, ...]] = Counter()
        for number in range(count):
            depth, *addresses = _SAMPLE.unpack_from(data, at + number * _SAMPLE.size)
            self.samples[tuple(addresses[:depth])] += 1

    def stacks(self, places: Places) -> Counter[Stack]:
        at = self._places({address for stack in self.samples for address in stack}, places)
        found: Counter[Stack] = Counter()
        for stack, count in self.samples.items():
            found[tuple(place for address in stack for place in at.get(address, ()))] += count
        return found

    def _places(self, addresses: Iterable[int], places: Places) -> dict[int, Stack]:
        """The places of each address: its own, and those of the calls that were inlined there."""
        of: dict[int, list[int]] = {}
        for address in sorted(addresses):
            for number, (_, begin, end, _) in enumerate(self.modules):
                if begin <= address < end:
                    of.setdefault(number, []).append(address)
        found: dict[int, Stack] = {}
        for number, some in of.items():
            bias, _, _, path = self.modules[number]
            if path and not path.startswith(("/lib", "/usr/lib")) and os.path.isfile(path):
                found |= dict(zip(some, places(path, [a - bias for a in some]), strict=False))
        return found


def _addr2line(path: str, addresses: list[int], environment: Mapping[str, str]) -> list[Stack]:
    try:
        tool = compiler_path("addr2line", environment)
    except CompilerMissing:
        raise EnvironmentMissing("there is no addr2line, which says what line runs", "install binutils") from None
    found: list[Stack] = []
    for first in range(0, len(addresses), 1000):
        words = (tool, "-a", "-i", "-e", path, *(f"{address:#x}" for address in addresses[first : first + 1000]))
        finished = run_contained(words, limits=_LIMITS, env=environment, cwd=Path(path).parent)
        if not finished.ok:
            raise EnvironmentMissing(f"addr2line fails: {finished.stderr.decode(errors='replace').strip()[:200]}")
        found += _read(finished.stdout.decode(errors="replace"))
    return found


def _read(text: str) -> list[Stack]:
    """An address on a line of its own, then its places, `file:line` each, with a word behind sometimes."""
    found: list[list[tuple[str, int]]] = []
    for line in text.splitlines():
        if line.startswith("0x"):
            found.append([])
        elif found:
            name, _, number = line.partition(" (")[0].rpartition(":")
            found[-1].append((name, int(number) if number.isdecimal() else 0))
    return [tuple(places) for places in found]
