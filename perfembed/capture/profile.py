"""The profile run: the program's own main with every nest timed, and what each call was given.

Long, because the search for nests that cannot be timed runs the same program again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from perfembed.building.build import Build, Made
from perfembed.building.text import c_string
from perfembed.capture.instrument import (
    Around,
    leaving,
    named_values,
    recorded_values,
    values_text,
    without_culprits,
    wrap,
)
from perfembed.capture.outputs import Outputs
from perfembed.capture.program import (
    ProgramFailed,
    ProgramRun,
    Runtime,
    build_plain,
    build_program,
    looks_at_errno,
    run_program,
)
from perfembed.capture.stage import Stage
from perfembed.world import Left, Ran, World, last_words, run_failure
from profilers.contained.child import Limits
from profilers.deadline import OutOfTime, forever, share_of_time, within
from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest

_HERE = Path(__file__).parent
RECORDS = 2048  # calls kept of each nest; even, for it is halved when full
_COMPARED_S = 2.0  # of programs that take longer, what they print is not compared with the original's
_TRIES, _TRYING_S = 4, 60.0  # runs that look for nests that cannot be watched: at least, and for how long
_TRYING_SHARE = 0.5  # of the time that is left, for them
_WATCHING_S, _WATCHED = 1e-7, 0.1  # what timing a call takes, and what share of a run it may take
_ALIKE = 0.05  # calls whose times differ by less are the same


@dataclass(frozen=True, slots=True)
class NestProfile:
    """What one nest did in the program. `typical_call` counts from 1; None where it was never called.

    `values` are the parameters and integer scalars at the typical call; `distinct` counts the different sets of values
    among the calls that were kept. `seconds` are the main thread's; `share` is, where other threads come to it, too,
    that of the one that spends most in it, for which the others wait. `other_threads` counts calls that were not made
    by the main thread; they are in no other figure. `inside`: the part of `share` in which another nest was running,
    which calls the function that this one is in.
    """

    name: str
    calls: int
    seconds: float
    share: float
    typical_call: int | None
    typical_seconds: float
    values: Mapping[str, int]
    distinct: int
    other_threads: int
    inside: float = 0.0
    problem: str = ""  # why it could not be watched; nothing is known of it then
    steady: Mapping[str, float] = field(default_factory=dict)  # of each value, its share of the nest's time


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """A good run of the program: its output, and its nests in the order of the file."""

    program: ProgramRun
    wall_s: float
    exit_code: int
    stdout: bytes
    stderr: bytes
    dropped: str  # a digest of output beyond what is kept
    files: Mapping[str, Left]
    nests: tuple[NestProfile, ...]
    errno: bool = True  # whether the program may look at errno
    built_s: float = 0.0  # what building it took

    @property
    def watching_s(self) -> float:
        """What timing the calls of the nests took, about."""
        return _WATCHING_S * sum(nest.calls for nest in self.nests)

    def nest(self, name: str) -> NestProfile:
        """Raises KeyError."""
        for nest in self.nests:
            if nest.name == name:
                return nest
        raise KeyError(name)


def profile_program(
    sources: Sequence[SourceFile],
    build: Build,
    world: World,
    workdir: Path,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    ran: Callable[[float], None] = lambda wall_s: None,
) -> ProgramProfile | ProgramFailed:
    """Builds the program with the nests of these files timed, and runs it in its world.

    It fails only where the program as it is fails, too. A nest that cannot be timed, or with whose calls the program
    says something else, is left alone: it has a `problem`. The nests of all files have different names. `ran` is told
    what the first run took, which no deadline but the world's ends. Raises what building and running raise:
    CompilerMissing, UsageError (`Stage.run`), NotExecutable, ContainmentError, OutOfTime.
    """
    program = ProgramRun(build, Stage(world, workdir / "stage"), environment)
    plain = build_plain(texts_of(sources), program, workdir)
    if isinstance(plain, ProgramFailed):
        return plain
    found = _Profiling(sources, program, plain, workdir, ran).run()
    return replace(found, errno=looks_at_errno(plain)) if isinstance(found, ProgramProfile) else found


def texts_of(sources: Sequence[SourceFile]) -> dict[str, bytes]:
    """The files as they were read, by their paths."""
    return {source.path: source.content for source in sources}


def instrumented(sources: Sequence[SourceFile], places: Iterable[tuple[LoopNest, Around]]) -> dict[str, bytes]:
    """The files with these places of nests wrapped, by their paths: only those that have one, unless none has."""
    of = {nest.name: place for nest, place in places}
    found = {s.path: [of[nest.name] for nest in s.nests if nest.name in of] for s in sources}
    return {s.path: wrap(s.content, found[s.path]) for s in sources if found[s.path] or not any(found.values())}


class _Profiling:
    """The program as it is, and copies of it with some nests timed."""

    def __init__(
        self,
        sources: Sequence[SourceFile],
        program: ProgramRun,
        plain: Made,
        workdir: Path,
        ran: Callable[[float], None],
    ) -> None:
        self.sources, self.program, self.workdir = sources, program, workdir
        self.tell_first: Callable[[float], None] | None = ran
        self.nests = tuple(nest for source in sources for nest in source.nests)
        self.world = program.world
        self.plain = plain
        self.compared = False

    def run(self) -> ProgramProfile | ProgramFailed:
        began = time.monotonic()
        found = self.timed(self.nests)
        took_s = time.monotonic() - began
        if isinstance(found, ProgramProfile) or found.unmeasured:
            return found
        original = self.original
        if reason := run_failure(original.finished, self.world.limits):
            advice = self.program.stage.advice(original.finished)
            return ProgramFailed("run", reason, original.stdout, original.stderr, advice=advice)
        self.compared = True
        tried: dict[tuple[str, ...], ProgramProfile | ProgramFailed] = {}

        def works(nests: tuple[LoopNest, ...]) -> bool:
            names = tuple(nest.name for nest in nests)
            tried[names] = self.timed(nests)
            return isinstance(tried[names], ProgramProfile)

        try:
            with share_of_time(_TRYING_SHARE):
                kept = without_culprits(self.nests, works, max(_TRIES, int(_TRYING_S / max(took_s, 0.1))))
                best = tried.get(tuple(nest.name for nest in kept)) if kept else self.timed(())
        except OutOfTime:  # the most of them that could be
            good = (found for found in tried.values() if isinstance(found, ProgramProfile))
            best = max(good, key=lambda found: len(found.nests), default=None)
        return self._without(best if isinstance(best, ProgramProfile) else None, tried)

    def _without(
        self, best: ProgramProfile | None, tried: Mapping[tuple[str, ...], ProgramProfile | ProgramFailed]
    ) -> ProgramProfile:
        """The profile with the nests that could not be timed."""
        good = {nest.name: nest for nest in best.nests} if best is not None else {}
        nests = []
        for nest in self.nests:
            last = [f for names, f in tried.items() if names[-1:] == (nest.name,) and isinstance(f, ProgramFailed)]
            problem = not_watched(last[-1].reason if last else "")
            blank = NestProfile(nest.name, 0, 0.0, 0.0, None, 0.0, MappingProxyType({}), 0, 0, problem=problem)
            nests.append(good.get(nest.name, blank))
        if best is not None:
            return replace(best, nests=tuple(nests))
        return _profile(self.program, self.original, tuple(nests))

    @cached_property
    def original(self) -> Ran:
        """A run of the program as it is."""
        return run_program(self.plain, self.program)

    @cached_property
    def outputs(self) -> Outputs:
        first = self.original
        return Outputs(self.program, self.plain, self.workdir / "clock", first.wall_s, first.exit_code, first)

    def timed(self, nests: tuple[LoopNest, ...]) -> ProgramProfile | ProgramFailed:
        """One run with these nests timed."""
        result = self.workdir.absolute() / "profile.txt"
        texts = instrumented(self.sources, ((nest, timed_place(k, nest)) for k, nest in enumerate(nests)))
        runtime = Runtime("profile", _HERE / "profile_runtime.c", _HERE / "instrument.h", _tables(result, nests))
        began = time.monotonic()
        executable = build_program(texts, self.program, runtime, self.workdir)
        if isinstance(executable, ProgramFailed):
            return executable
        built_s = time.monotonic() - began
        result.unlink(missing_ok=True)  # a program that the build runs may have left one
        ran = self._run(executable, self.program, self.world.limits)
        if reason := run_failure(ran.finished, self.world.limits):
            return ProgramFailed("run", reason, ran.stdout, ran.stderr)
        text = result.read_text(encoding="ascii") if result.exists() else ""
        if not text.endswith("end\n"):
            reason = "the program ended without its exit handlers (by _exit or exec), so nothing was measured"
            return ProgramFailed("run", reason, ran.stdout, ran.stderr, unmeasured=True)
        if ran.exit_code and ran.exit_code != self.original.exit_code:
            reason = f"the program ends with exit code {ran.exit_code}{last_words(ran.stderr)}"
            return ProgramFailed("run", reason, ran.stdout, ran.stderr)
        comparable = self.compared or ran.wall_s <= _COMPARED_S
        if comparable and (different := self.outputs.difference(lambda *how: self._run(executable, *how), ran)):
            return ProgramFailed("run", f"its output changes ({different})", ran.stdout, ran.stderr)
        found = replace(_profile(self.program, ran, self._read(text, nests, ran.wall_s)), built_s=built_s)
        if found.watching_s < _WATCHED * found.wall_s:
            return found
        # Timing the calls takes long: the shares are those of a run without that.
        wall_s = min(ran.wall_s, self.original.wall_s)
        return replace(found, wall_s=wall_s, nests=self._read(text, nests, wall_s))

    def _read(self, text: str, nests: tuple[LoopNest, ...], wall_s: float) -> tuple[NestProfile, ...]:
        """That several threads come to what a region shares is known."""
        known = {name for source in self.sources for name, sharing in source.sharing.items() if sharing.context}
        return tuple(replace(n, other_threads=0) if n.name in known else n for n in _read(text, nests, wall_s))

    def _run(self, executable: Made, program: ProgramRun, limits: Limits) -> Ran:
        if (tell := self.tell_first) is None:
            return run_program(executable, program, (self.workdir.absolute(),), limits)
        self.tell_first = None
        with within(forever):
            ran = run_program(executable, program, (self.workdir.absolute(),), limits)
        tell(ran.wall_s)
        return ran


def not_watched(reason: str) -> str:
    """Why a nest is left alone with which the program fails though it does not without."""
    lines = reason.splitlines()
    line = next((line for line in lines if "error:" in line), lines[0] if lines else "")
    return f"the program cannot be watched at it: {line}" if line else "it could not be watched"


def _profile(program: ProgramRun, ran: Ran, nests: tuple[NestProfile, ...]) -> ProgramProfile:
    return ProgramProfile(program, ran.wall_s, ran.exit_code, ran.stdout, ran.stderr, ran.dropped, ran.files, nests)


def timed_place(index: int, nest: LoopNest) -> Around:
    """The calls that time a nest."""
    assert nest.span is not None
    before = f"{leaving(str(index))} perfembed_begin({index}, {values_text(nest)});"
    return Around(nest.span.begin, nest.span.end, before, "")


def _tables(result: Path, nests: tuple[LoopNest, ...]) -> str:
    counts = ", ".join(str(len(recorded_values(nest))) for nest in nests)
    return (
        f"#define PE_RESULT {c_string(str(result))}\n#define PE_NESTS {len(nests)}\n#define PE_RECORDS {RECORDS}\n"
        f"static const int pe_values[PE_NESTS + 1] = {{{counts or '0'}}};\n"
    )


@dataclass(frozen=True, slots=True)
class _Call:
    nanoseconds: int
    number: int
    values: tuple[int, ...]


def _read(text: str, nests: tuple[LoopNest, ...], wall_s: float) -> tuple[NestProfile, ...]:
    lines = [line.split() for line in text.splitlines()]
    calls: list[list[_Call]] = [[] for _ in nests]
    for words in lines:
        if words[0] == "call":
            numbers = [int(word) for word in words[1:]]
            calls[numbers[0]].append(_Call(numbers[1], numbers[2], tuple(numbers[3:])))
    profiles = []
    for words in islice((w for w in lines if w[0] == "nest"), len(nests)):
        index, count, nanoseconds, foreign, inside, slowest = (int(word) for word in words[1:])
        nest, seconds = nests[index], nanoseconds / 1e9
        waited_for = max(nanoseconds, slowest if count else 0) / 1e9
        share = min(1.0, waited_for / wall_s) if wall_s > 0 else 0.0
        typical = _typical(calls[index])
        profiles.append(
            NestProfile(
                name=nest.name,
                calls=count,
                seconds=seconds,
                share=share,
                typical_call=typical.number if typical else None,
                typical_seconds=typical.nanoseconds / 1e9 if typical else 0.0,
                values=named_values(nest, typical.values) if typical else MappingProxyType({}),
                steady=_steady(nest, calls[index], typical.values) if typical else {},
                distinct=len({call.values for call in calls[index]}),
                other_threads=foreign,
                inside=share * inside / nanoseconds if nanoseconds else 0.0,
            )
        )
    return tuple(profiles)


def _steady(nest: LoopNest, calls: list[_Call], values: tuple[int, ...]) -> Mapping[str, float]:
    """Of the time of these calls, the share in which each value was this one."""
    total = sum(call.nanoseconds + 1 for call in calls)
    names = (name for name, _, _ in recorded_values(nest))
    return {
        name: sum(call.nanoseconds + 1 for call in calls if call.values[k] == values[k]) / total
        for k, name in enumerate(names)
    }


def _typical(calls: list[_Call]) -> _Call | None:
    """The call at the median of the time, in two steps.

    First the parameter values: half of the work was done with values whose product is no greater, a call's work being
    that product, so that the clock has no say in the sizes a nest is measured at. Then, of the calls with these
    values, the first that takes about as long as the one at the median of their time.
    """
    if not calls:
        return None
    work = {call.values: math.prod(max(value, 1) for value in call.values) for call in calls}
    values = _weighted_median(sorted(calls, key=lambda c: (work[c.values], c.values)), lambda c: work[c.values]).values
    same = [call for call in calls if call.values == values]
    # calls too short for the clock count too
    median = _weighted_median(sorted(same, key=lambda c: (c.nanoseconds, c.number)), lambda c: c.nanoseconds + 1)
    slack = _ALIKE * median.nanoseconds
    return min((c for c in same if abs(c.nanoseconds - median.nanoseconds) <= slack), key=lambda call: call.number)


def _weighted_median(ordered: list[_Call], weight: Callable[[_Call], int]) -> _Call:
    half, passed = sum(map(weight, ordered)) / 2, 0
    for call in ordered:
        passed += weight(call)
        if passed >= half:
            return call
    return ordered[-1]
