"""`tune`: a C file in, a verified and faster C file out, with the reason for every decision."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.capture import ProgramProfile
from perfembed.capture.program import ProgramRun
from perfembed.errors import EnvironmentMissing, NoTunableNest, PerfembedError, SourceRejected, UsageError
from perfembed.files import check_output, read_input, write_output
from perfembed.measuring.ledger import NoLedger
from perfembed.measuring.measurer import Conditions, NestNotMeasurable
from perfembed.measuring.stopwatch import Budget, Stopwatch
from perfembed.measuring.stream_rates import known_rates, last_cache_bytes, measured_rates
from perfembed.measuring.target import compiled_target
from perfembed.tuning.describe import Described, ceilings, pictures, source_lines, trials
from perfembed.tuning.inputs import NestInputs, collect_inputs
from perfembed.tuning.nest_tuner import Effort, NestOutcome, NestTuner, Winner
from perfembed.tuning.openmp import parallel_flags, with_openmp
from perfembed.tuning.pictures import Ceilings
from perfembed.tuning.program import ProgramComparison
from perfembed.tuning.result import Event, Message, NestFinished, NestReport, NestStarted, TuneOptions, TuneResult
from perfembed.tuning.rewrite import Rewrite, rewrite_with_places
from perfembed.tuning.surroundings import Surveyed, survey
from perfembed.tuning.verifying import Verifier
from profilers.build import CompilerConfig, compiler_version, prepare_harness
from profilers.errors import CompilerMissing, ProfilersError
from profilers.lock import machine_lock
from profilers.machine import Machine, describe_machine
from profilers.openmp import openmp_advice
from profilers.rates import StreamRates
from profilers.scratch import scratch_folder, sweep
from scheduler.codegen.premises import Untestable
from scheduler.frontend import ParseFailed, ParseOptions, ParserDied, SourceFile, read_source
from scheduler.ir.names import spelled
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.schedule import format_schedule

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval
    from perfembed.tuning.recorder import Recorder
    from scheduler.cost.problem import CostModel
    from scheduler.space import Target

_LEAST_S = 1.0  # for a nest
_LEAST_OF_SLOW = 0.05  # of the time of a program that takes long, for a nest to be tuned
_MINOR_S, _MINOR_SHARE, _FEW = 0.1, 0.25, 5  # of a nest that takes less time, so few donors' candidates are measured
_RATES_S = 15.0  # of the budget have to be left for measuring the machine's rates
_CHECKING_S, _CHECKING_RUNS, _CHECKING_SHARE = 2.0, 1.5, 0.3  # for building and running the whole program at the end


def tune(path: str, options: TuneOptions, progress: Callable[[Event], None]) -> TuneResult:
    """Tunes the nests of a C file in the order of their share of the run time and writes the result.

    Raises perfembed.errors.PerfembedError with the exit codes of the command line. On Ctrl-C the best so
    far is kept and written.
    """
    watch = Stopwatch()
    budget = Budget(options.budget_s, watch.now(), watch)
    content = read_input(path)
    check_output(path, options.output, options.in_place)
    options = replace(options, cflags=with_openmp(path, content, options.cflags, lambda text: progress(Message(text))))
    prepare_harness(CompilerConfig(options.cc, options.cflags), dict(options.environment))
    with watch.phase("front end"):
        source = parse(path, content, options)
    if not source.nests:
        raise NoTunableNest(nothing_tunable(path, source), f"perfembed inspect {path} says why")
    target = path if options.in_place else options.output
    if target is not None:
        sweep(Path(target).resolve().parent)
    with scratch_folder(options.workdir) as scratch:
        return _Tuning(source, options, progress, scratch, budget).run()


def parse(path: str, content: bytes, options: TuneOptions) -> SourceFile:
    """Reads the nests of a file. Raises SourceRejected, UsageError (an unknown --function)."""
    try:
        source = read_source(path, ParseOptions(arguments=options.cflags, cc=options.cc), content)
    except ParseFailed as error:
        no_header = "'omp.h' file not found" in str(error)
        advice = openmp_advice(options.cc, dict(options.environment)) if no_header else ""
        raise SourceRejected(str(error), advice) from None
    except ParserDied as error:
        raise SourceRejected(f"{path}: {error}") from None
    unknown = set(options.functions) - {f.name for f in source.functions}
    if unknown:
        known = ", ".join(f.name for f in source.functions)
        raise UsageError(f"{path}: no function {', '.join(sorted(unknown))}", f"functions: {known}")
    if options.functions:
        source = replace(source, nests=tuple(n for n in source.nests if n.function in options.functions))
    return source


def nothing_tunable(path: str, source: SourceFile) -> str:
    if not source.rejections:
        return f"{path}: no loop nest found"
    lines = [f"{r.span.file}:{r.span.line}:{r.span.column}: {r.reason}" for r in source.rejections]
    return f"{path}: no tunable loop nest\n" + "\n".join(lines)


def _is_minor(inputs: NestInputs) -> bool:
    """Whether nobody would notice what can be gained."""
    return inputs.share is not None and inputs.share < _MINOR_SHARE and inputs.seconds < _MINOR_S


class _Tuning:
    """One run of `tune`: its settings and what it has found so far."""

    def __init__(
        self, source: SourceFile, options: TuneOptions, progress: Callable[[Event], None], scratch: Path, budget: Budget
    ) -> None:
        self.source = source
        self.options = options
        self.progress = progress
        self.scratch = scratch
        self.budget, self.watch = budget, budget.watch
        self.environment = dict(options.environment)
        self.machine: Machine = describe_machine()
        self.compiler = CompilerConfig(options.cc, options.cflags)  # until it is known what it can do
        self.reports: dict[str, NestReport] = {}
        self.winners: list[tuple[LoopNest, Winner]] = []
        self.began = datetime.now(UTC).replace(microsecond=0).isoformat()
        self.tried: list[NestInputs] = []
        self.interrupted = False
        self.recorder: Recorder | None = None
        self.model: CostModel | None = None
        self.retrieval: Retrieval | None = None
        self.retrieving = threading.Lock()
        self.loading: threading.Thread | None = None
        self.surveyed: Surveyed | None = None
        self.rates: StreamRates | None = None

    def run(self) -> TuneResult:
        try:
            version = compiler_version(self.options.cc, self.environment)
        except CompilerMissing as error:
            raise EnvironmentMissing(str(error), "perfembed doctor says what is missing") from None
        flags = parallel_flags(
            self.options.cc,
            self.options.cflags,
            self.options.threads,
            self.environment,
            lambda text: self.progress(Message(text)),
        )
        self.compiler = CompilerConfig(self.options.cc, flags)
        with self.watch.phase("front end"):
            self._survey()
        profile: ProgramProfile | None = None
        comparison: ProgramComparison | None = None
        self.recorder = self._open_recorder(version)
        with contextlib.ExitStack() as held:
            with self.watch.phase("waiting"):
                lock = machine_lock(self.environment, lambda text: self.progress(Message(text)))
                held.enter_context(lock)
            self.budget.began += self.watch.seconds("waiting")
            try:
                inputs = collect_inputs(
                    self.tunable,
                    self.options,
                    self.scratch,
                    self.progress,
                    watch=self.watch,
                    timed=self._prepare,
                    least_of_slow=_LEAST_OF_SLOW,
                )
                profile = inputs.profile
                self.budget.original_s = profile.wall_s if profile is not None else 0.0
                self._learn_rates(inputs.found, version)
                for skipped in inputs.skipped:
                    self._skip(skipped.nest, skipped.share, skipped.reason)
                for position, found in enumerate(inputs.found, 1):
                    budget_s = self._budget(inputs.found[position - 1 :], profile)
                    if self.interrupted or budget_s is None:
                        break
                    self._tune_nest(found, budget_s, position, len(inputs.found))
            except KeyboardInterrupt:
                self.interrupted = True
            with self.watch.phase("checking"):
                comparison = self._verify(profile)
        written = self._write()
        if self.recorder is not None and (problem := self.recorder.close()):
            self.progress(Message(f"what was measured is not in the database yet: {problem}"))
        limits: Ceilings | None = None
        with contextlib.suppress(KeyboardInterrupt):  # what is written is written
            limits = self._draw(version) if self.options.pictures else None
        reports = [self._report_of(nest) for nest in self.source.nests]
        reports += [self._refused(k) for k in range(len(self.source.rejections))]
        return TuneResult(
            path=self.source.path,
            output_path=written,
            nests=tuple(sorted(reports, key=lambda r: (-(r.share or 0.0), r.line))),
            program_before_s=comparison.original_s if comparison else profile.wall_s if profile else None,
            program_after_s=comparison.tuned_s if comparison else None,
            program_output_equal=comparison.equal if comparison else None,
            seconds=self.watch.now() - self.budget.began + self.watch.seconds("waiting"),
            phases=self.watch.spent(),
            threads=self.options.threads,
            compiler=version,
            flags=self.compiler.flags,
            machine=f"{self.machine.cpu_model} ({self.machine.fingerprint})",
            interrupted=self.interrupted,
            exit_code=130 if self.interrupted else 0,
            date=self.began,
            search=self.options.search,
            budget_s=self.options.budget_s,
            ceilings=limits,
        )

    def _verify(self, profile: ProgramProfile | None) -> ProgramComparison | None:
        """The whole program with its winners; without one (a file without a main), that it compiles."""
        comparison: ProgramComparison | None = None
        if self.winners and profile is not None:
            self.progress(Message("verifying the whole program"))
            comparison = self._verify_program(profile)
            while comparison is not None and comparison.tuned_s > comparison.original_s and self.winners:
                self._revert_last("faster on its own, but the whole program did not get faster with it")
                comparison = self._verify_program(profile) if self.winners else None
        elif self.winners:
            program = ProgramRun(self.compiler, Path.cwd(), environment=self.environment)
            self._give_back(*self._verifier().that_compile(program, self.winners))
        return comparison

    def _survey(self) -> None:
        """Nests whose surroundings cannot be tested in the written file are left alone."""
        read = CompilerConfig(self.options.cc, self.options.cflags)
        self.surveyed = survey(self.source, read, self.compiler, self.scratch / "survey", self.environment)
        for nest in self.source.nests:
            tests = self.surveyed.tests[nest.name]
            if isinstance(tests, Untestable):
                self._skip(nest, None, tests.reason)
        left = tuple(n for n in self.source.nests if n.name not in self.reports)
        self.tunable = replace(self.source, nests=left)

    def _budget(self, waiting: Sequence[NestInputs], profile: ProgramProfile | None) -> float | None:
        """Seconds for the first of the nests that wait, by what each can gain; None where there are none left."""
        checking_s = _CHECKING_S + (_CHECKING_RUNS * profile.wall_s if profile else 0.0)
        checking_s = min(_CHECKING_SHARE * self.budget.seconds, checking_s)
        left = self.budget.left() - checking_s
        if left < _LEAST_S:
            return None
        share = waiting[0].gain_s / sum(inputs.gain_s for inputs in waiting)
        return min(left, max(_LEAST_S, left * share))

    # ---------------------------------------------------------------------------------- tuning

    def _tune_nest(self, inputs: NestInputs, budget_s: float, position: int, total: int) -> None:
        nest = inputs.nest
        line = nest.span.line if nest.span else 0
        self.tried.append(inputs)
        self.progress(NestStarted(nest.name, nest.function, line, position, total, budget_s))
        conditions = Conditions(
            compiler=self.compiler,
            threads=self.options.threads,
            target=self._target(),
            workdir=self.scratch / nest.name,
            environment=self.environment,
            jobs=max(1, self.machine.logical_cores),
            reassociate=self.options.reassociate,
            seed=self.options.seed,
            watch=self.watch,
        )
        try:
            ledger = NoLedger() if self.recorder is None else self.recorder.ledger(nest, inputs.captured.parameters)
            effort = Effort(
                search=self.options.search,
                evaluate=self.options.evaluate,
                top=min(self.options.measure, _FEW) if _is_minor(inputs) else self.options.measure,
                budget_s=budget_s,
                spare_original=True,
            )
            tuner = NestTuner(
                nest,
                inputs.captured,
                conditions,
                effort,
                self.progress,
                ledger,
                inputs.in_program_s,
                self._model() if self.options.evaluate != "run" else None,
                self._retrieval if self.options.search == "transfer" else None,
            )
        except QuotaExceeded as error:
            self._skip(nest, inputs.share, f"its dependences are too hard to analyse: {error}")
            return
        outcome = tuner.outcome
        try:
            tuner.run()
        except NestNotMeasurable as error:
            self._skip(nest, inputs.share, error.message)
            return
        except KeyboardInterrupt:
            self.interrupted = True
            outcome.reason = "interrupted before a schedule was confirmed"
        self.interrupted |= tuner.interrupted
        if outcome.winner is not None:
            self.winners.append((nest, outcome.winner))
        report = self._tuned(nest, inputs.share, outcome)
        if outcome.retrieved is not None:
            from perfembed.tuning.explanation import explain  # here, not above: searches do without

            report = replace(report, transfer=explain(outcome))
        self.reports[nest.name] = report
        self.progress(NestFinished(report))

    def _open_recorder(self, version: str) -> Recorder | None:
        """Where measurements go; a database that cannot be used is no reason not to tune."""
        if self.options.database is None:
            return None
        from perfembed.tuning.recorder import Recorder  # here, not above: only runs with a database need DuckDB

        recorder = Recorder(self.options, self.source, self.machine, self.compiler, version)
        if recorder.problem:
            self.progress(Message(f"what is measured is not stored: {recorder.problem}"))
            return None
        return recorder

    def _learn_rates(self, found: Sequence[NestInputs], version: str) -> None:
        """What is known of the machine's memory; measured the first time that a nest's data are in no cache.

        Here nothing else of ours runs: the lock is held, the program has run, no candidate compiles yet. It takes a
        second, once for a machine, a compiler and a number of threads; only what it is needed for waits for it.
        """
        folder, threads = self.options.cache, self.options.threads
        self.rates = known_rates(folder, self.machine, version, threads)
        large = any(inputs.captured.total_bytes > last_cache_bytes(self.machine) for inputs in found)
        if self.rates is None and folder is not None and large and self.budget.left() > _RATES_S:
            if self.loading is not None:
                self.loading.join()  # it would count as a slower machine
            self.rates = measured_rates(
                folder,
                self.machine,
                self.options.cc,
                self.environment,
                self.scratch / "rates",
                threads,
                lambda text: self.progress(Message(text)),
            )

    def _target(self) -> Target:
        return compiled_target(self.machine, self.options.threads, self.compiler, self.environment, self.rates)

    def _model(self) -> CostModel:
        """Loaded once, where it is needed. Raises EnvironmentMissing without weights."""
        if self.model is None:
            from perfembed.learning.cost_models import load_cost_model, own_weights  # here, not above: a slow import

            self.model = load_cost_model(folder=own_weights(self.options.weights))
        return self.model

    def _prepare(self) -> None:
        """Begins to load what candidates come from; what is wrong with it is said where it is needed."""

        def load() -> None:
            with contextlib.suppress(PerfembedError, OSError, ProfilersError):
                self._retrieval()
                from perfembed.retrieval.retrieve import load_ahead

                load_ahead()

        if self.options.search == "transfer":
            self.loading = threading.Thread(target=load)
            self.loading.start()

    def _retrieval(self) -> Retrieval:
        """Opened once, where it is needed. Raises EnvironmentMissing without weights or donors."""
        with self.retrieving:
            return self._opened()

    def _opened(self) -> Retrieval:
        if self.retrieval is None:
            from perfembed.retrieval.retrieve import open_retrieval  # here, not above: a slow import

            options = self.options
            database = Path(options.database) if options.database is not None else None
            self.retrieval = open_retrieval(
                self._target(),
                database,
                k=options.neighbours,
                without_algorithms=options.without,
                same=options.same,
                weights=options.weights,
            )
        return self.retrieval

    def _verify_program(self, profile: ProgramProfile) -> ProgramComparison | None:
        """Runs the whole tuned program against the original; nests that change what it says are given back."""
        verifier = self._verifier()
        try:
            comparison: ProgramComparison | None = verifier.compare(
                profile.program, self.winners, known=profile, most_s=self.budget.left()
            )
            if comparison is not None and not verifier.sound(comparison):
                self.progress(Message("the program says something else: looking for the nests that cause it"))
                self._give_back(*verifier.kept(profile.program, self.winners, comparison.difference))
                comparison = verifier.compare(profile.program, self.winners) if self.winners else None
                if comparison is not None and not verifier.sound(comparison):
                    reason = f"the program says something else now and then: {comparison.difference}"
                    self._give_back((), reason)
                    comparison = None
            return comparison
        except KeyboardInterrupt:
            self.interrupted = True
            self.winners.clear()
            return None

    def _verifier(self) -> Verifier[tuple[LoopNest, Winner]]:
        return Verifier(
            Path(self.source.path),
            self.source.content,
            self._rewritten,
            self.compiler,
            self.scratch / "whole",
            self.options.threads,
            self.options.reassociate,
        )

    def _give_back(self, left: Sequence[tuple[LoopNest, Winner]], reason: str) -> None:
        """The winners that are not left stay as they were written."""
        for nest, _ in self.winners:
            if not any(nest is other for other, _ in left):
                report = self.reports[nest.name]
                self.reports[nest.name] = replace(report, status="kept", reason=reason, given_back=True)
        self.winners = list(left)

    def _revert_last(self, reason: str) -> None:
        """Gives up the tuned nest with the smallest share of the time."""
        nest, _ = self.winners.pop()
        self.reports[nest.name] = replace(self.reports[nest.name], status="kept", reason=reason)

    def _rewritten(self, winners: Sequence[tuple[LoopNest, Winner]]) -> bytes:
        return self._rewritten_at(winners)[0]

    def _rewritten_at(self, winners: Sequence[tuple[LoopNest, Winner]]) -> tuple[bytes, dict[str, tuple[int, int]]]:
        """The file, and by a nest's name which of its bytes stand in its place."""
        rewrites = [Rewrite(nest, winner.scheduled.schedule, winner.comparison.ratio) for nest, winner in winners]
        vector_bytes = self._target().vector_bytes
        assert self.surveyed is not None
        return rewrite_with_places(self.source, rewrites, vector_bytes, self.surveyed, self.options.reassociate)

    def _write(self) -> str | None:
        """The tuned file, or the original's bytes where nothing was better; None on a dry run."""
        if self.options.dry_run:
            return None
        target = self.source.path if self.options.in_place else self.options.output
        if target is None or (self.options.in_place and not self.winners):
            return None
        write_output(target, self._rewritten(self.winners) if self.winners else self.source.content)
        return target

    # --------------------------------------------------------------------------------- reports

    def _draw(self, version: str) -> Ceilings | None:
        """Adds pictures to the reports of all nests that were tried; what the machine can do at best."""
        won = {nest.name: winner.scheduled.schedule for nest, winner in self.winners}
        target, reassociate = self._target(), self.options.reassociate
        asked = [
            Described(one.nest, one.captured.parameters, won.get(one.nest.name), target, reassociate)
            for one in self.tried
        ]
        after, places = self._rewritten_at(self.winners) if self.winners else (b"", {})
        for one, drawn in zip(asked, pictures(asked), strict=True):
            name, span = one.nest.name, one.nest.span
            drawn = replace(
                drawn,
                before=source_lines(self.source.content, span.begin, span.end) if span else None,
                after=source_lines(after, *places[name]) if name in places else None,
            )
            self.reports[name] = replace(self._report_of(one.nest), picture=drawn)
        return ceilings(self.options.cache, self.machine, version, self.options.threads)

    def _skip(self, nest: LoopNest, share: float | None, reason: str) -> None:
        report = replace(self._blank(nest), share=share, status="skipped", reason=spelled(reason))
        self.reports[nest.name] = report
        self.progress(NestFinished(report))

    def _blank(self, nest: LoopNest) -> NestReport:
        span = nest.span
        return NestReport(
            nest=nest.name,
            function=nest.function,
            file=self.source.path,
            line=span.line if span else 0,
            column=span.column if span else 0,
            share=None,
            status="skipped",
            reason="the budget was spent before it was reached",
        )

    def _report_of(self, nest: LoopNest) -> NestReport:
        return self.reports.get(nest.name, self._blank(nest))

    def _refused(self, index: int) -> NestReport:
        r = self.source.rejections[index]
        return NestReport(
            nest=f"loop at line {r.span.line}",
            function=r.function,
            file=r.span.file,
            line=r.span.line,
            column=r.span.column,
            share=None,
            status="refused",
            reason=f"{r.reason} ({r.advice})" if r.advice else r.reason,
        )

    def _tuned(self, nest: LoopNest, share: float | None, outcome: NestOutcome) -> NestReport:
        winner = outcome.winner
        comparison = winner.comparison if winner else None
        told = comparison.told if comparison else None
        return replace(
            self._blank(nest),
            share=share,
            status="tuned" if winner else "kept",
            reason="confirmed faster and checked" if winner else spelled(outcome.reason),
            schedule=format_schedule(winner.scheduled.schedule) if winner else "",
            speedup=comparison.ratio if comparison else None,
            low=comparison.low if comparison else None,
            high=comparison.high if comparison else None,
            told_low=told.low if told else None,
            told_high=told.high if told else None,
            told_coverage=told.coverage if told else None,
            runs=comparison.runs if comparison else None,
            original_s=min(comparison.samples_original) if comparison else outcome.original_s,
            tuned_s=min(comparison.samples_candidate) if comparison else None,
            candidates=outcome.candidates,
            predicted=outcome.predicted,
            notes=tuple(outcome.notes),
            less_work=outcome.less_work,
            illegal=outcome.illegal,
            failed=outcome.failed,
            wrong=outcome.wrong,
            normalization=outcome.normalization,
            checks=winner.checks if winner else (),
            trials=trials(outcome),
        )
