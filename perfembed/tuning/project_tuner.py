"""Tunes the nests of a project: read -> inputs -> measure -> confirm -> write.

Long, because it is the order in which a run does things, and what it hands from one to the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from perfembed.capture import ProgramProfile
from perfembed.errors import (
    EXIT_DATABASE,
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_NOT_READ,
    EnvironmentMissing,
    NothingMeasured,
)
from perfembed.measuring.ledger import Ledger, NoLedger
from perfembed.measuring.measurer import Conditions, NestNotMeasurable
from perfembed.measuring.stopwatch import Budget
from perfembed.tuning.candidates import expert_schedules
from perfembed.tuning.inputs import Collecting, Inputs, NestInputs, collect_inputs
from perfembed.tuning.members import members
from perfembed.tuning.nest_outcome import Effort, Guides, NestOutcome, NestTask
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.pictures import Ceilings
from perfembed.tuning.program import ProgramComparison
from perfembed.tuning.project import Project, left_to_one_thread
from perfembed.tuning.resources import Resources
from perfembed.tuning.result import Event, FileResult, Message, NestFinished, NestReport, NestStarted, TuneResult
from perfembed.tuning.specialize import Given
from perfembed.tuning.time_plan import TimePlan
from perfembed.tuning.winners import Winners
from perfembed.tuning.writing import blank, refused, tuned, write
from profilers.contained.errors import CompilerMissing
from profilers.deadline import OutOfTime, within
from profilers.lock import machine_lock
from profilers.machine import Machine, describe_machine
from profilers.outcome import WrongResult
from profilers.run import error_line
from scheduler.codegen.runtime_checks.source_assumptions import Untestable
from scheduler.frontend import Sharing, SourceFile
from scheduler.ir.names import spelled
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.races import certain_race
from scheduler.schedule import Schedule

_LEAST_OF_SLOW = 0.05  # of the time of a program that takes long, for a nest to be tuned
_MINOR_S, _MINOR_SHARE, _FEW = 0.1, 0.25, 5  # of a nest that takes less time, so few donors' candidates are measured
_NOT_MEASURED = "the program runs, but not its nests alone: see whether --cflags has what only a whole file bears"
_LATE = "the budget was spent before a schedule was confirmed"


def _is_minor(inputs: NestInputs) -> bool:
    """Whether nobody would notice what can be gained."""
    return inputs.share is not None and inputs.share < _MINOR_SHARE and inputs.seconds < _MINOR_S


class Tuning:
    """One run of `tune`: its settings and what it has found so far."""

    def __init__(
        self, project: Project, options: TuneOptions, progress: Callable[[Event], None], scratch: Path, budget: Budget
    ) -> None:
        """Reads how the project is compiled, and what of it can be tuned.

        Raises perfembed.errors.PerfembedError with the exit codes of the command line.
        """
        self.project, self.options, self.progress, self.scratch = project, options, progress, scratch
        self.budget, self.watch, self.plan = budget, budget.watch, TimePlan(budget)
        self.environment = dict(options.environment)
        self.machine: Machine = describe_machine()
        self.began = datetime.now(UTC).replace(microsecond=0).isoformat()
        self.reports: dict[str, NestReport] = {}
        self.given: Mapping[str, Given] = {}  # of nests that were read for values of integers, these
        self.shares: dict[str, float | None] = {}  # of the program's time, of the nests that wait
        self.tried: list[NestInputs] = []
        self.not_run: list[str] = []  # of the nests that were tried, why what is made of them does not compile or run
        self.chosen: dict[str, tuple[Ledger, Schedule]] = {}  # of nests that were tuned, as they were measured
        self.interrupted = False
        with self.watch.phase("front end"):
            try:
                self.members = members(project, options, scratch, self._tell)
            except CompilerMissing as error:
                raise EnvironmentMissing(str(error), "perfembed doctor says what is missing") from None
        self.version = self.members.version(self.members.compiler)
        self.resources = Resources(options, self.machine, self.members.compiler, self.environment, scratch, progress)
        self.tunable = self._testable()
        self.winners = Winners(
            project, self.members, options, self.resources.target().vector_bytes, scratch, self.reports, progress,
            budget.left,
        )  # fmt: skip
        self.experts = self._experts(options.schedules)  # by nest
        self.recorder = self.resources.recorder(project.sources)

    def run(self) -> TuneResult:
        """Raises perfembed.errors.PerfembedError with the exit codes of the command line."""
        with self._machine_alone():
            try:
                self._measure(self._inputs())
            except KeyboardInterrupt:
                self.interrupted = True
            except OutOfTime:
                self._tell("the budget was spent in the middle of things: what was found until then counts")
            if (times := self.plan.crowding) > 1:
                said = f"the machine is busy: everything took {times:.1f} times as long as it needs"
                self._tell(f"{said}; more candidates are tried with a longer --budget")
            comparison = self._confirm()
        return self._result(write(self.project, self.winners, self.options), comparison)

    def _tell(self, text: str, loud: bool = False) -> None:
        self.progress(Message(text, loud=loud))

    @contextlib.contextmanager
    def _machine_alone(self) -> Iterator[None]:
        """What waiting for other measurements takes is no part of the budget."""
        with contextlib.ExitStack() as held:
            with self.watch.phase("waiting"):
                held.enter_context(machine_lock(self.environment, self._tell))
            self.budget.began += self.watch.seconds("waiting")
            yield

    # ----------------------------------------------------------------------------------- stages

    def _inputs(self) -> Inputs:
        """The program run with its nests' inputs captured, or made up; reports nests that have none."""
        how = Collecting(
            least_of_slow=_LEAST_OF_SLOW,
            watch=self.watch,
            timed=self.resources.prepare,
            read_again=self._read_for_values,
            ran=self.plan.ran,
        )
        inputs = collect_inputs(self.tunable, self.options, self.scratch, self.progress, how)
        self.plan.profile = inputs.profile
        if inputs.profile is not None and inputs.profile.errno:
            self.members.look_at_errno()
        self.resources.learn_rates(inputs.found, self.version, self.budget.left())
        for skipped in inputs.skipped:
            self._skip(skipped.nest, skipped.share, skipped.reason)
        self.shares = {found.nest.name: found.share for found in inputs.found}
        return inputs

    def _measure(self, inputs: Inputs) -> None:
        """Tunes nest by nest, as long as there is time. Raises NothingMeasured."""
        waiting = [*inputs.found]
        while waiting:
            budget_s = self.plan.of_first(waiting)
            if self.interrupted or budget_s is None:
                break
            found = waiting.pop(0)
            line = found.nest.span.line if found.nest.span else 0
            self.tried.append(found)
            position = len(self.tried)
            self.progress(
                NestStarted(found.nest.name, found.nest.function, line, position, len(inputs.found), budget_s)
            )
            self._tune_nest(found, budget_s)
            if all(nest is not found.nest for nest, _ in self.winners.found):
                parts = (self.project.holds(found.nest, other.nest) for other in waiting)
                waiting = [replace(w, inside=0.0) if held else w for w, held in zip(waiting, parts, strict=True)]
        self._check_that_some_ran()

    def _confirm(self) -> ProgramComparison | None:
        """The whole program with its winners against the original; what it does not bear is given back."""
        with self.watch.phase("checking"):
            comparison = self.winners.verify(self.plan.profile)
            if self.winners.fuzzing is not None:
                self.watch.shift(self.winners.fuzzing.seconds, "checking", "other values")
            self.interrupted |= self.winners.interrupted
            self._refute()
        return comparison

    def _result(self, files: tuple[FileResult, ...], comparison: ProgramComparison | None) -> TuneResult:
        if self.recorder is not None and (problem := self.recorder.close()):
            self._tell(f"warning: what was measured is not in the database yet: {problem}", loud=True)
        limits = self._draw() if self.options.pictures else None
        profile = self.plan.profile
        inside = {nest.name: nest.inside for nest in profile.nests} if profile is not None else {}
        reports = [replace(self._report_of(n), inside=inside.get(n.name, 0.0)) for n in self.project.nests]
        reports += [refused(rejection) for source in self.project.sources for rejection in source.rejections]
        return TuneResult(
            path=files[0].path,
            output_path=next((f.output_path for f in files if f.output_path is not None), None),
            nests=tuple(sorted(reports, key=self._place)),
            program_before_s=comparison.original_s if comparison else profile.wall_s if profile else None,
            program_after_s=comparison.tuned_s if comparison else None,
            program_output_equal=comparison.equal if comparison else None,
            program_output_note=comparison.note if comparison else "",
            seconds=self.budget.wall_s(),
            phases=self.watch.spent(),
            threads=self.options.threads,
            compiler=self.version,
            flags=self.members.compiler.flags,
            machine=f"{self.machine.cpu_model} ({self.machine.fingerprint})",
            interrupted=self.interrupted,
            exit_code=self._exit_code(),
            unread=self.project.unread,
            date=self.began,
            search=self.options.search,
            budget_s=self.options.budget_s,
            ceilings=limits,
            tolerance=self.options.world.tolerance,
            files=files,
        )

    def _exit_code(self) -> int:
        if self.interrupted:
            return EXIT_INTERRUPTED
        if self.recorder is not None and self.recorder.unusable:
            return EXIT_DATABASE
        return EXIT_NOT_READ if self.project.unread else EXIT_DONE

    def _place(self, report: NestReport) -> tuple[float, int, int]:
        """By the share of the time, then in the order of the files."""
        number = next((k for k, source in enumerate(self.project.sources) if source.path == report.file), 0)
        return -(report.share or 0.0), number, report.line

    # ------------------------------------------------------------------------- what can be tuned

    def _testable(self, profile: ProgramProfile | None = None) -> Project:
        """The project without nests whose surroundings cannot be tested in the written file; these are reported.

        Before there is a `profile`, those that might be read for the values that they run with are none.
        """
        shares = {nest.name: nest.share for nest in profile.nests} if profile is not None else {}
        for source in self.project.sources:
            for nest in source.nests:
                tests = self.members.surveyed[source.path].tests[nest.name]
                waits = self.project.runs and profile is None and nest.name in source.fixable
                if isinstance(tests, Untestable) and not waits and nest.name not in self.reports:
                    self._skip(nest, shares.get(nest.name), tests.reason)
        return self.project.without(set(self.reports))

    def _experts(self, texts: Sequence[str]) -> Mapping[str, Schedule]:
        """Only nests that schedules are given for are tuned then. Raises UsageError."""
        if not texts:
            return {}
        experts = expert_schedules(texts, self.tunable.nests, self.winners.allowed)
        for nest in self.tunable.nests:
            if nest.name not in experts:
                self._skip(nest, None, "no schedule was given for it")
        self.tunable = self.project.without(set(self.reports))
        return experts

    def _read_for_values(self, profile: ProgramProfile, least_share: float) -> Project:
        """What can be tuned, with nests that are read for the values that they ran with."""
        self.project = self.winners.project = left_to_one_thread(self.project, profile)
        if not self.experts:
            found = self.members.read_for_values(self.project, profile, least_share, self.scratch)
            self.project = self.winners.project = found.project
            self.given = found.given
            self.tunable = self._testable(profile)
        return self.tunable

    def _check_that_some_ran(self) -> None:
        """Raises NothingMeasured where the program runs, but nothing of ours does: that is no result of a search."""
        tried = len(self.tried)
        asked = [self.members.surveyed[source.path].problem for source in self.project.sources if source.nests]
        problem = asked[0] if asked and all(asked) else ""
        if tried and len(self.not_run) == tried and not self.interrupted:
            problem = self.not_run[0]
        if problem:
            said = f"no nest could be measured: {error_line(problem)}"
            raise NothingMeasured(f"{self.project.paths}: {said}", _NOT_MEASURED)

    # -------------------------------------------------------------------------------- one nest

    def _tune_nest(self, inputs: NestInputs, budget_s: float) -> None:
        nest = inputs.nest
        task = self._task(inputs, budget_s)
        try:
            if task.sharing is not None and (race := certain_race(nest, task.sharing)):
                self._skip(nest, inputs.share, race)
                return
            ledger = self._ledger(task)
            tuner = NestTuner(task, self.progress, ledger, self._guides())
        except QuotaExceeded as error:
            self._skip(nest, inputs.share, f"its dependences are too hard to analyse: {error}")
            return
        outcome = tuner.outcome
        try:
            with within(self.plan.nest_left):
                tuner.run()
        except OutOfTime:
            outcome.reason = _LATE
        except NestNotMeasurable as error:
            self.not_run.append(error.message)
            self._skip(nest, inputs.share, error.message)
            return
        except KeyboardInterrupt:
            self.interrupted = True
            outcome.reason = "interrupted before a schedule was confirmed"
        self.interrupted |= tuner.interrupted
        self.not_run += [outcome.not_run] * bool(outcome.not_run)
        if outcome.winner is not None:
            self.winners.found.append((nest, outcome.winner))
        if outcome.chosen is not None:
            self.chosen[nest.name] = ledger, outcome.chosen
        self._report(self._tuned(task, inputs.share, outcome))

    def _task(self, inputs: NestInputs, budget_s: float) -> NestTask:
        source, options = self.project.source_of(inputs.nest), self.options
        sharing = source.sharing.get(inputs.nest.name)
        effort = Effort(
            search=options.search,
            evaluate=options.evaluate,
            top=min(options.measure, _FEW) if _is_minor(inputs) else options.measure,
            budget_s=budget_s,
            guard=options.guard,
            given=self.experts.get(inputs.nest.name),
            spare_original=True,
            crowding=self.plan.crowding,
        )
        conditions = self._conditions(source, inputs.nest, sharing)
        return NestTask(inputs.nest, inputs.captured, conditions, effort, inputs.in_program_s, sharing)

    def _ledger(self, task: NestTask) -> Ledger:
        """Raises QuotaExceeded."""
        if self.recorder is None:
            return NoLedger()
        path, version = self.project.source_of(task.nest).path, self.members.version(task.conditions.compiler)
        return self.recorder.ledger(path, task.nest, task.captured.parameters, task.conditions, version)

    def _guides(self) -> Guides:
        options = self.options
        return Guides(
            self.resources.model() if options.evaluate != "run" or options.guard == "model" else None,
            self.resources.retrieval if options.search == "transfer" and not self.experts else None,
            self.resources.classifier() if options.guard == "classifier" else None,
            self.resources.profiler(),
        )

    def _tuned(self, task: NestTask, share: float | None, outcome: NestOutcome) -> NestReport:
        report = tuned(self.project.source_of(task.nest).path, task.nest, share, outcome)
        if task.sharing is not None:
            report = replace(report, no_threads=task.sharing.reason)
        if given := self.given.get(task.nest.name):
            report = replace(report, given=tuple(f"{spelled(text)} = {value}" for text, value in sorted(given.items())))
        if outcome.retrieved is not None:
            from perfembed.tuning.explanation import explain  # here, not above: searches do without

            report = replace(report, transfer=explain(outcome))
        return report

    def _conditions(self, source: SourceFile, nest: LoopNest, sharing: Sharing | None) -> Conditions:
        threads = 1 if sharing is not None and sharing.context == "thread" else self.options.threads
        compiler = self.members.measured[source.path]
        return Conditions(
            compiler=compiler,
            threads=threads,
            target=replace(self.resources.target(compiler), threads=threads),
            workdir=self.scratch / nest.name,
            environment=self.environment,
            jobs=max(1, self.machine.logical_cores),
            allowed=self.winners.allowed(nest),
            seed=self.options.seed,
            watch=self.watch,
            errno=self.members.surveyed[source.path].errno,
        )

    def _draw(self) -> Ceilings | None:
        """Adds pictures to the reports of all nests that were tried; what the machine can do at best.

        What is written is written: nothing that happens here may end the run.
        """
        from perfembed.tuning.describe import ceilings, drawn  # here, not above: most runs draw nothing

        try:
            for nest, picture in drawn(self.tried, self.winners, self.resources.target()):
                self.reports[nest.name] = replace(self._report_of(nest), picture=picture)
            return ceilings(self.options.cache, self.machine, self.version, self.options.threads)
        except (Exception, KeyboardInterrupt) as problem:
            self._tell(f"what a page draws is not known: {type(problem).__name__}: {problem}")
            return None

    def _refute(self) -> None:
        """What the whole program does not bear is not kept as a schedule to use in it again."""
        for name, (ledger, schedule) in self.chosen.items():
            report = self.reports[name]
            if report.given_back:
                ledger.refuted(schedule, WrongResult("", 0, 0.0, f"in the whole program: {report.reason}"))

    def _skip(self, nest: LoopNest, share: float | None, reason: str) -> None:
        report = replace(self._blank(nest), share=share, status="skipped", reason=spelled(reason))
        self._report(report)

    def _report(self, report: NestReport) -> None:
        self.reports[report.nest] = report
        self.progress(NestFinished(report))

    def _report_of(self, nest: LoopNest) -> NestReport:
        return self.reports.get(nest.name, self._blank(nest))

    def _blank(self, nest: LoopNest) -> NestReport:
        return replace(blank(self.project.source_of(nest).path, nest), share=self.shares.get(nest.name))
