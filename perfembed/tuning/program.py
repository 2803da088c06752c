"""The whole program with its tuned nests against the original; nests that make it say something else are given back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from perfembed.building.build import Build, Changes, Made, NotBuilt
from perfembed.capture import ProgramProfile
from perfembed.capture.compared import difference
from perfembed.capture.instrument import without_culprits
from perfembed.capture.outputs import Outputs
from perfembed.capture.program import ProgramRun, run_program
from perfembed.world import Ran, run_failure
from profilers.contained.child import Limits
from profilers.harness import harness_environment
from profilers.run import error_line
from scheduler.errors import SchedulerError

_LONG_S = 20.0
_KNOWN_S = 0.1  # of programs that take longer, the run that is known counts
_CLEAR = 1.25  # times faster, and the original need not be run again
_LIKELY = 1.03  # and where it was run again, or there is no time to
_ROUNDS = 3
_WATCHED = 0.02  # the share of a run that timing the calls of nests may take


EXACT_FLAGS = ("-ffp-contract=off",)
"""Compilers contract a*b + c to one rounding wherever they like; without it equal orders give equal bits."""


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """Fastest wall seconds of each program, start-up and input included.

    `equal`: same output, where both are compiled without contraction if need be; `difference` says what differs,
    `note` how they were compared (`Outputs.note`). `ran` False: one of them does not compile or run.
    """

    original_s: float
    tuned_s: float
    equal: bool
    difference: str = ""
    ran: bool = True
    note: str = ""


@dataclass(slots=True)
class Beside:
    """Another build of the program, made while these are: `made` is set then."""

    changes: Changes
    folder: Path
    made: Made | NotBuilt | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """The files of both programs, by path, and the `flags` of these files behind their own."""

    original: Mapping[str, bytes]
    tuned: Mapping[str, bytes]
    flags: tuple[str, ...]


def compare_programs(
    program: ProgramRun,
    texts: Texts,
    workdir: Path,
    threads: int,
    timed: bool = True,
    known: ProgramProfile | None = None,
    most_s: float = math.inf,
    beside: Beside | None = None,
) -> ProgramComparison:
    """Builds the program of both texts (by path) and runs it in turn; what it says and leaves must agree.

    The programs agree where both are compiled with the flags that make equal
    orders give equal bits, or as they are. `known`: a good run of the original; of one that takes long it is all that
    is run of it, unless more is needed to be sure, which may take `most_s` seconds unless the tuned one seems no
    faster. Not `timed`: they run once, and the seconds are 0. `beside`: is built, too, while they are.
    """
    pair = _Pair(program, texts, workdir, threads, beside)
    try:
        if timed and known is not None and _counts(known):
            return pair.against(known, most_s)
        pair.build("exact", *(("timed",) if timed else ()))
        equal = pair.exact()
        return pair.timed(equal) if timed else equal
    except _Broken as problem:
        return broken(str(problem))


def _counts(known: ProgramProfile) -> bool:
    """Whether a run with its nests timed says how long the program takes, and repeating it is dear."""
    return known.wall_s > _KNOWN_S and known.watching_s < _WATCHED * known.wall_s


class _Broken(Exception):
    """One of the programs does not compile or run."""


class _Pair:
    """The two programs, built and run when that is asked for."""

    def __init__(
        self,
        program: ProgramRun,
        texts: Texts,
        workdir: Path,
        threads: int,
        beside: Beside | None = None,
    ) -> None:
        self.texts = {"original": texts.original, "tuned": texts.tuned}
        self.workdir, self.beside = workdir, beside
        self.program = replace(program, environment=harness_environment(program.environment, threads))
        self.flags = {"timed": texts.flags, "exact": (*texts.flags, *EXACT_FLAGS)}
        self.built: dict[tuple[str, str], Made | NotBuilt] = {}

    def build(self, *hows: str) -> None:
        """Both programs in each of these ways, several compilers at a time."""
        wanted = [(how, name) for how in hows for name in self.texts if (how, name) not in self.built]
        self._build(wanted)

    def _build(self, wanted: Sequence[tuple[str, str]]) -> None:
        changes = [(Changes(self.texts[name], self.flags[how]), self.workdir / f"{how}-{name}") for how, name in wanted]
        beside = self.beside if self.beside is not None and self.beside.made is None else None
        others = [(beside.changes, beside.folder)] if beside is not None else []
        made = self.program.build.make_all((*changes, *others))
        self.built |= dict(zip(wanted, made[: len(wanted)], strict=True))
        if beside is not None:
            beside.made = made[-1]

    def run(self, how: str, name: str) -> Ran:
        """Raises _Broken."""
        return self._run(how, name, self.program, self.program.world.limits)

    def _run(self, how: str, name: str, program: ProgramRun, limits: Limits) -> Ran:
        ran = run_program(self.executable(how, name), program, limits=limits)
        if program is self.program and (problem := run_failure(ran.finished, limits)):
            raise _Broken(f"the {name} program fails: {problem}")
        return ran

    def executable(self, how: str, name: str) -> Made:
        """Raises _Broken."""
        if (how, name) not in self.built:
            self._build([(how, name)])
        executable = self.built[how, name]
        if isinstance(executable, NotBuilt):
            raise _Broken(f"the {name} program does not compile: {executable.reason}")
        return executable

    def exact(self, known: ProgramProfile | None = None) -> ProgramComparison:
        """Whether they say the same without contraction; `known`: a run of the original, whose output was another."""
        first, tuned = (self.run("exact", "original"), self.run("exact", "tuned")) if known is None else (None, None)
        like = first or known
        assert like is not None
        original = self.executable("exact", "original")
        outputs = Outputs(self.program, original, self.workdir / "clock", like.wall_s, like.exit_code, first)
        different = outputs.difference(lambda *how: self._run("exact", "tuned", *how), tuned)
        return ProgramComparison(0.0, 0.0, not different, different, note=outputs.note)

    def timed(self, equal: ProgramComparison) -> ProgramComparison:
        """In turns; more of them before we believe that it became slower."""
        times: dict[str, list[float]] = {name: [] for name in self.texts}
        rounds = _ROUNDS
        while len(times["original"]) < rounds:
            for name in self.texts:
                times[name].append(self.run("timed", name).wall_s)
            if sum(times["original"]) > _LONG_S and len(times["original"]) > 1:
                break
            if len(times["original"]) == rounds == _ROUNDS and min(times["tuned"]) > min(times["original"]):
                rounds = 4 * _ROUNDS
        return replace(equal, original_s=min(times["original"]), tuned_s=min(times["tuned"]))

    def against(self, known: ProgramProfile, most_s: float) -> ProgramComparison:
        """The tuned program against a run of the original that was made already, and as few more as are needed."""
        until = time.monotonic() + most_s
        tuned = self.run("timed", "tuned")
        same = not difference(known, tuned, self.program.world)
        equal = ProgramComparison(0.0, 0.0, True) if same else self.exact(known)
        original_s, tuned_s = known.wall_s, tuned.wall_s
        for pairs in range(_ROUNDS):
            enough = _LIKELY if pairs or time.monotonic() + known.wall_s + tuned_s > until else _CLEAR
            if original_s > enough * tuned_s:
                break
            original_s = min(original_s, self.run("timed", "original").wall_s)
            tuned_s = min(tuned_s, self.run("timed", "tuned").wall_s)
        return replace(equal, original_s=original_s, tuned_s=tuned_s)


def broken(difference: str) -> ProgramComparison:
    return ProgramComparison(0.0, 0.0, False, difference, ran=False)


T = TypeVar("T")

NO_CODE = "no code"
_SEARCH_S = 120.0  # for runs that look for the nests that change the output
_SEARCH_ROUNDS = 3


class Verifier(Generic[T]):
    """The original program (`texts` by path) against the same with some nests exchanged: `rewritten` texts.

    All these files are compiled with `flags` behind their own.
    """

    def __init__(
        self,
        texts: Mapping[str, bytes],
        rewritten: Callable[[Sequence[T]], Mapping[str, bytes]],
        flags: tuple[str, ...],
        workdir: Path,
        threads: int,
        reassociate: bool,
    ) -> None:
        self.texts = texts
        self.rewritten = rewritten
        self.flags = flags
        self.workdir = workdir
        self.threads = threads
        self.reassociate = reassociate

    def compare(
        self,
        program: ProgramRun,
        nests: Sequence[T],
        timed: bool = True,
        known: ProgramProfile | None = None,
        most_s: float = math.inf,
        beside: Beside | None = None,
    ) -> ProgramComparison:
        """Against the program with these nests exchanged; code that cannot be written counts as code that fails.

        `known`: a run of the original program. `most_s`: for more runs of it than are needed. `beside`: is built, too.
        """
        try:
            tuned = self.rewritten(nests) if nests else self.texts
        except SchedulerError as problem:
            return broken(f"{NO_CODE}: {problem}")
        texts = Texts(self.texts, tuned, self.flags)
        return compare_programs(program, texts, self.workdir, self.threads, timed, known, most_s, beside)

    def sound(self, comparison: ProgramComparison) -> bool:
        return comparison.equal or (comparison.ran and self.reassociate)

    def kept(self, program: ProgramRun, nests: Sequence[T], problem: str) -> tuple[tuple[T, ...], str]:
        """Of nests with which the program says something else those that may stay, and why the others may not."""
        began = time.monotonic()
        alone = self.compare(program, (), timed=False)
        attempts = min(60, max(2, int(_SEARCH_S / max(time.monotonic() - began, 1.0))))
        if not self.sound(alone):
            return (), f"the program cannot be compared with itself: {alone.difference}"
        problems = [problem]

        def works(part: tuple[T, ...]) -> bool:
            comparison = self.compare(program, part, timed=False)
            if not self.sound(comparison):
                problems.append(comparison.difference)
            return self.sound(comparison)

        left = without_culprits(nests, works, attempts)
        for _ in range(_SEARCH_ROUNDS):
            if not left or works(left):
                break
            left = without_culprits(left, works, attempts)
        else:
            left = ()
        what = error_line(problems[-1])
        return left, what if what.startswith(NO_CODE) else f"with it the program says something else: {what}"

    def that_compile(self, build: Build, nests: Sequence[T]) -> tuple[tuple[T, ...], str]:
        """Of files without a main: the nests that may stay, and what the compiler says of the others."""
        problems = [""]

        def works(part: tuple[T, ...]) -> bool:
            try:
                problem = build.problem(Changes(self.rewritten(part), self.flags), self.workdir)
            except SchedulerError as error:
                problem = f"{NO_CODE}: {error}"
            problems.append(problem or problems[-1])
            return not problem

        if works(tuple(nests)) or build.problem(Changes(self.texts, self.flags), self.workdir):
            return tuple(nests), ""  # what does not compile as it is was not broken here
        return without_culprits(nests, works), f"the file does not compile with it: {error_line(problems[-1])}"
