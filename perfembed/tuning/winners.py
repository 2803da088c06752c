"""The nests that were tuned: together in the whole program, which has to say the same and be faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfembed.capture import ProgramProfile
from perfembed.capture.profile import texts_of
from perfembed.fuzzing.arguments import other_arguments
from perfembed.fuzzing.fuzz import Fuzzing
from perfembed.fuzzing.instrumented import Instrumented
from perfembed.fuzzing.result import OtherValues
from perfembed.measuring.checking import TOLERANCE
from perfembed.tuning.members import Members
from perfembed.tuning.nest_outcome import Winner
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.program import NO_CODE, Beside, ProgramComparison, Verifier
from perfembed.tuning.project import Project
from perfembed.tuning.result import Event, Message, NestReport
from perfembed.tuning.rewrite import Rewrite, rewrite_with_places
from profilers.deadline import OutOfTime
from scheduler.errors import SchedulerError
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest
from scheduler.races import allowed
from scheduler.replay import LegalityOptions

_FUZZ_S, _FUZZ_SHARE = 1.5, 0.04  # for other values; of a long tuning so much of what it has taken
_BUSY = 3.0  # so much longer it may take where others keep the machine busy
_LEAST_LEFT_S = 0.5  # with less no program is built for them

Won = tuple[LoopNest, Winner]

_LATE = "faster on its own, but the budget was spent before the whole program was checked with it"


class Winners:
    """`found`: nests with their schedules. What is given back is said in `reports`."""

    def __init__(
        self,
        project: Project,
        members: Members,
        options: TuneOptions,
        vector_bytes: int,
        scratch: Path,
        reports: dict[str, NestReport],
        progress: Callable[[Event], None],
        left_s: Callable[[], float],
    ) -> None:
        """`left_s`: seconds that are left for more runs of the program than are needed."""
        self.project = project
        self.surveyed, self.flags = members.surveyed, members.flags
        self.options = options
        self.vector_bytes = vector_bytes
        self.scratch = scratch
        self.reports = reports
        self.progress = progress
        self.left_s = left_s
        self.found: list[Won] = []
        self.interrupted = False
        self.fuzzing: Fuzzing | None = None

    def verify(self, profile: ProgramProfile | None) -> ProgramComparison | None:
        """The whole program with its winners; without one (a file without a main), that it compiles.

        None of them is kept where the time is over before that is known.
        """
        try:
            return self._verified(profile)
        except OutOfTime:
            for nest, _ in self.found:
                self.reports[nest.name] = replace(self.reports[nest.name], status="kept", reason=_LATE)
            self.found.clear()
            return None

    def _verified(self, profile: ProgramProfile | None) -> ProgramComparison | None:
        comparison: ProgramComparison | None = None
        if self.found and profile is not None:
            self.progress(Message("verifying the whole program"))
            self.fuzzing = self._other_values(profile)
            comparison = self._verify_program(profile)
            if self.found and self.fuzzing is not None and self._fuzz(self.fuzzing):
                comparison = self._verify_program(profile) if self.found else None
            while comparison is not None and comparison.tuned_s > comparison.original_s and self.found:
                self._revert_last("faster on its own, but the whole program did not get faster with it")
                comparison = self._verify_program(profile) if self.found else None
        elif self.found:
            self._give_back(*self._verifier().that_compile(self.project.build, self.found))
            self._say({nest.name: OtherValues(skipped="the file has no main") for nest, _ in self.found})
        return comparison

    def _other_values(self, profile: ProgramProfile) -> Fuzzing | None:
        """The program as it is going to be run on other values; None where there is no time for that."""
        if self.left_s() < _LEAST_LEFT_S:
            self._say({nest.name: OtherValues(skipped="no time was left") for nest, _ in self.found})
            return None
        inside = {nest.name for nest, _ in self.found if self._is_inside_region(nest)}
        self._say({name: OtherValues(skipped="it runs inside a parallel region") for name in inside})
        program = Instrumented()
        try:
            written = self.rewritten_at(self.found)
        except SchedulerError:
            return None  # the comparison says so
        for source in self.project.sources:
            content, places = written[source.path]
            if places.keys() - inside:
                program.add(source, content, places, inside)
        takes_numbers = any(other_arguments(profile.program.world.arguments, texts_of(self.project.sources).values()))
        if not program.nests or not (program.can_differ() or takes_numbers):
            fixed = OtherValues(skipped="its sizes are fixed")
            self._say({nest.name: fixed for nest, _ in program.nests})
            return None
        options = self.options
        tolerance = TOLERANCE if options.reassociate else 0.0
        folder = self.scratch / "fuzzing"
        return Fuzzing(profile, program, self.flags, folder, options.threads, options.seed, tolerance)

    def _is_inside_region(self, nest: LoopNest) -> bool:
        sharing = self.project.source_of(nest).sharing.get(nest.name)
        return sharing is not None and bool(sharing.context)

    def _fuzz(self, fuzzing: Fuzzing) -> bool:
        """Runs the program on other values; whether nests are given back, which do something else there."""
        self.progress(Message("running the tuned loops on other sizes and values"))
        left_s = self.left_s()
        cpu_s = max(_FUZZ_S, _FUZZ_SHARE * (self.options.budget_s - left_s))
        try:
            fuzzing.run(cpu_s, min(left_s / 2, _BUSY * cpu_s))
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        except OutOfTime:
            self._say({nest.name: OtherValues(skipped="no time was left") for nest, _ in self.found})
            return False
        self._say(fuzzing.nests)
        wrong = fuzzing.wrong
        before = list(self.found)
        for nest, _ in before:
            if nest.name in wrong:
                self.progress(Message(f"WRONG: {nest.name} computes something else {wrong[nest.name]}"))
                left = [one for one in self.found if one[0] is not nest]
                self._give_back(left, "its fastest schedule computes something else on values unlike the captured ones")
                report = self.reports[nest.name]
                self.reports[nest.name] = replace(report, wrong=report.wrong + 1)
        return len(before) > len(self.found)

    def _say(self, found: Mapping[str, OtherValues]) -> None:
        how = f"equal within {TOLERANCE:g}" if self.options.reassociate else "bit-identical"
        for name, values in found.items():
            report = self.reports[name]
            self.reports[name] = replace(report, checks=(*report.checks, *values.lines(how)), other_values=values)

    def _verify_program(self, profile: ProgramProfile) -> ProgramComparison | None:
        """Runs the whole tuned program against the original; nests that change what it says are given back."""
        verifier = self._verifier()
        fuzzing = self.fuzzing if self.fuzzing is not None and self.fuzzing.made is None else None
        wanted = fuzzing.changes() if fuzzing is not None else None
        beside = Beside(*wanted) if wanted is not None else None
        try:
            comparison: ProgramComparison | None = verifier.compare(
                profile.program, self.found, known=profile, most_s=self.left_s(), beside=beside
            )
            if fuzzing is not None and beside is not None:
                fuzzing.made = beside.made
            if comparison is not None and not verifier.sound(comparison):
                self.progress(Message("the program says something else: looking for the nests that cause it"))
                self._give_back(*verifier.kept(profile.program, self.found, comparison.difference))
                comparison = verifier.compare(profile.program, self.found) if self.found else None
                if comparison is not None and not verifier.sound(comparison):
                    reason = f"the program says something else now and then: {comparison.difference}"
                    self._give_back((), reason)
                    comparison = None
            return comparison
        except KeyboardInterrupt:
            self.interrupted = True
            self.found.clear()
            return None

    def _verifier(self) -> Verifier[Won]:
        return Verifier(
            texts_of(self.project.sources),
            self.rewritten,
            self.flags,
            self.scratch / "whole",
            self.options.threads,
            self.options.reassociate,
        )

    def _give_back(self, left: Sequence[Won], reason: str) -> None:
        """The winners that are not left stay as they were written; what no code can be written for was not wrong."""
        for nest, _ in self.found:
            if not any(nest is other for other, _ in left):
                report = self.reports[nest.name]
                self.reports[nest.name] = replace(
                    report, status="kept", reason=reason, given_back=not reason.startswith(NO_CODE)
                )
        self.found = list(left)

    def _revert_last(self, reason: str) -> None:
        """Gives up the tuned nest with the smallest share of the time."""
        nest, _ = self.found.pop()
        self.reports[nest.name] = replace(self.reports[nest.name], status="kept", reason=reason)

    def allowed(self, nest: LoopNest) -> LegalityOptions:
        """What its schedules may change."""
        sharing = self.project.source_of(nest).sharing.get(nest.name)
        return allowed(nest, sharing, self.options.reassociate, self.options.trust_openmp)

    def rewritten(self, winners: Sequence[Won]) -> dict[str, bytes]:
        """The files, by their paths, with these nests exchanged. Raises SchedulerError."""
        return {path: text for path, (text, _) in self.rewritten_at(winners).items()}

    def rewritten_at(self, winners: Sequence[Won]) -> dict[str, tuple[bytes, dict[str, tuple[int, int]]]]:
        """The same, and by a nest's name which bytes of its file stand in its place. Raises SchedulerError."""
        return {source.path: self._file(source, winners) for source in self.project.sources}

    def _file(self, source: SourceFile, winners: Sequence[Won]) -> tuple[bytes, dict[str, tuple[int, int]]]:
        own = {nest.name for nest in source.nests}
        rewrites = [
            Rewrite(nest, winner.scheduled.schedule, winner.comparison.ratio, self.allowed(nest))
            for nest, winner in winners
            if nest.name in own
        ]
        if not rewrites:
            return source.content, {}
        return rewrite_with_places(source, rewrites, self.vector_bytes, self.surveyed[source.path])
