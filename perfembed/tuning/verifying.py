"""The whole program with its tuned nests: nests with which it says something else are given back, the others stay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from perfembed.building.build import Build, Changes
from perfembed.capture import ProgramProfile
from perfembed.capture.culprits import without_culprits
from perfembed.capture.program import ProgramRun
from perfembed.tuning.program import Beside, ProgramComparison, broken, compare_programs
from profilers.run import error_line
from scheduler.errors import SchedulerError

T = TypeVar("T")

_SEARCH_S = 120.0  # for runs that look for the nests that change the output
_ROUNDS = 3


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
            return broken(f"no code: {problem}")
        return compare_programs(
            program, self.flags, self.texts, tuned, self.workdir, self.threads, timed, known, most_s, beside
        )

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
        for _ in range(_ROUNDS):
            if not left or works(left):
                break
            left = without_culprits(left, works, attempts)
        else:
            left = ()
        return left, f"with it the program says something else: {error_line(problems[-1])}"

    def that_compile(self, build: Build, nests: Sequence[T]) -> tuple[tuple[T, ...], str]:
        """Of files without a main: the nests that may stay, and what the compiler says of the others."""
        problems = [""]

        def works(part: tuple[T, ...]) -> bool:
            try:
                problem = build.problem(Changes(self.rewritten(part), self.flags), self.workdir)
            except SchedulerError as error:
                problem = f"no code: {error}"
            problems.append(problem or problems[-1])
            return not problem

        if works(tuple(nests)) or build.problem(Changes(self.texts, self.flags), self.workdir):
            return tuple(nests), ""  # what does not compile as it is was not broken here
        return without_culprits(nests, works), f"the file does not compile with it: {error_line(problems[-1])}"
