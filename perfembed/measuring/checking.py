"""Whether a schedule computes what the nest does: on the captured input once, and on random ones of small sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.capture import CapturedNest, RandomisedInputs, randomise
from perfembed.measuring.less_work import touched_only
from perfembed.measuring.measurer import Checked, Measurer
from profilers.build import Built, CompilerConfig
from profilers.outcome import BuildFailed, Failure, Timed, Verified, WrongResult
from profilers.workload import Workload
from scheduler.codegen.emit.emit_c import wrong_loops
from scheduler.codegen.emit.original import emit_original
from scheduler.errors import SchedulerError
from scheduler.fewer import fewer_iterations, largest_work
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import tree_loops
from scheduler.ir.walk import loops
from scheduler.replay import ScheduledNest
from scheduler.transform import Split

VERIFY_SEEDS = (1, 2)
TOLERANCE = 1e-6  # relative, only where --reassociate allows another order of additions
_EXACT_FLAGS = ("-ffp-contract=off",)
_LONG_S, _LARGE_BYTES = 0.1, 16 << 20  # an original that takes or has more gets fewer iterations of random inputs
_HUGE_BYTES = 512 << 20  # of captured data: to read and to write them again takes longer than most nests
_PLAIN = 19  # iterations of a loop that no step has a size for
_MOST_WORK = 50_000_000  # statement instances: some tenths of a second
_LEAST = 5  # iterations


@dataclass(frozen=True, slots=True)
class Reference:
    """A run of the original: where its outputs lie, and how long it took."""

    built: Built
    path: Path
    timed: Timed


@dataclass(frozen=True, slots=True)
class _Unusable:
    """The original itself does not run on these inputs."""

    outcome: Failure


class Checker:
    """Compares the outputs of schedules with the original's. Built texts and references are kept in the work folder."""

    def __init__(self, measurer: Measurer, original_s: float) -> None:
        """`original_s`: what one run of the nest takes."""
        self.measurer = measurer
        self._long = original_s > _LONG_S or measurer.captured.total_bytes > _LARGE_BYTES
        conditions = measurer.conditions
        self._tolerance = TOLERANCE if conditions.allowed.reassociate else None
        self._how = f"equal within {TOLERANCE:g}" if conditions.allowed.reassociate else "bit-identical"
        compiler = conditions.compiler
        self._references: dict[Path, Reference] = {}
        self._candidates: list[Built] = []  # compiled for one check
        self._exact = replace(compiler, flags=(*compiler.flags, *_EXACT_FLAGS))

    def reference(self) -> Reference | Failure:
        """The original run once as it is measured. Raises NestNotMeasurable."""
        measurer = self.measurer
        written = self._written(measurer, measurer.captured, measurer.conditions.compiler, "captured-as-built")
        return written.outcome if isinstance(written, _Unusable) else written

    def check(self, scheduled: ScheduledNest, reference: Reference | None = None) -> Checked:
        """On the captured input, then on randomized ones: all iterations of a short nest, fewer of a long one.

        Both are compared bit for bit, unless sums may be reassociated: compiled as they are measured where the original
        was run so (`reference`), else, and where the bits differ then, without contraction of a*b + c, which compilers
        do wherever they like. Where the data are huge, and bits differ, values within the tolerance will do for the
        captured input, if fewer iterations can be compared bit for bit. Before anything runs, the loops are proved to
        run every instance once, for all sizes.
        Raises NestNotMeasurable.
        """
        body = self.measurer.body(scheduled)
        if isinstance(body, BuildFailed):
            return Checked((), body)
        if problem := wrong_loops(scheduled, self.measurer.replayer.of(scheduled.schedule).model):
            return Checked((), BuildFailed(f"the loops made for it are wrong: {problem}"))
        try:
            return self._checked(body, reference, self._compiled(scheduled, body, reference is None))
        finally:
            while self._candidates:
                self.measurer.conditions.runner.discard(self._candidates.pop())

    def _compiled(self, scheduled: ScheduledNest, body: str, exactly: bool) -> tuple[Measurer, str] | None:
        """Compiles at once what is going to be compared. The nest with fewer iterations, where it is checked so.

        That one and its text are made while the others compile. `exactly`: the captured input needs them, too.
        """
        measurer = self.measurer
        small: list[tuple[Measurer, str]] = []

        def wanted() -> Iterator[Workload]:
            if exactly or not self._long:
                yield measurer.knowing_sizes().workload(emit_original(measurer.nest))
                yield measurer.workload(body)
            if self._long and (found := self._small(scheduled)) is not None:
                small.append(found)
                yield found[0].knowing_sizes().workload(emit_original(found[0].nest))
                yield found[0].workload(found[1])

        built = measurer.build_workloads(wanted(), self._exact)
        for original, candidate in zip(built[::2], built[1::2], strict=True):
            if isinstance(original, Built) and isinstance(candidate, Built) and candidate.key != original.key:
                self._candidates.append(candidate)
        return small[0] if small else None

    def _checked(self, body: str, reference: Reference | None, small: tuple[Measurer, str] | None) -> Checked:
        captured = self.measurer.captured
        seconds: tuple[float, ...] = ()
        passed: dict[int | None, str] = {None: f"{self._how} on the captured input"}
        tolerance = self._tolerance or 0.0
        as_built = self._compared(self.measurer, captured, body, reference) if reference is not None else None
        near = False
        if isinstance(as_built, WrongResult) and small is not None and captured.total_bytes > _HUGE_BYTES:
            assert reference is not None
            again = self._compared(self.measurer, captured, body, reference, TOLERANCE)
            if near := isinstance(again, tuple):
                as_built, tolerance = again, TOLERANCE
                passed[None] = f"equal within {TOLERANCE:g} on the captured input, products contracted differently"
        if isinstance(as_built, tuple):
            seconds = as_built
        elif (failure := self._exactly_captured(body)) is not None:
            return Checked((), failure)
        for seed in () if self._long else VERIFY_SEEDS:
            inputs = randomise(self.measurer.nest, captured, RandomisedInputs(seed))
            random = self._exactly(self.measurer, inputs, body, f"random-{seed}")
            if random is None:
                passed[seed] = f"{self._how} on randomized input {seed}"
            elif not isinstance(random, _Unusable):
                return Checked((), random)
        for seed in VERIFY_SEEDS if small is not None else ():
            assert small is not None
            measurer, text = small
            inputs = randomise(measurer.nest, measurer.captured, RandomisedInputs(seed))
            random = self._exactly(measurer, inputs, text, f"fewer-{seed}")
            if random is None:
                passed[seed] = f"{self._how} on randomized input {seed} for fewer iterations"
            elif not isinstance(random, _Unusable):
                return Checked((), random)
        if near and len(passed) == 1:  # the original runs on no other input, so that nothing was compared bit for bit
            if (failure := self._exactly_captured(body)) is not None:
                return Checked((), failure)
            passed[None], tolerance = f"{self._how} on the captured input", self._tolerance or 0.0
        return Checked(tuple(passed.values()), inputs=tuple(passed), seconds=seconds, tolerance=tolerance)

    def _exactly_captured(self, body: str) -> Failure | None:
        """On the captured input without contraction; None where they agree."""
        exact = self._exactly(self.measurer, self.measurer.captured, body, "captured")
        return exact.outcome if isinstance(exact, _Unusable) else exact

    def _small(self, scheduled: ScheduledNest) -> tuple[Measurer, str] | None:
        """The nest with fewer iterations and the same schedule of it; None where that cannot be had."""
        measurer = self.measurer
        most = iterations_to_check(measurer.nest, scheduled)
        try:
            nest = fewer_iterations(measurer.nest, measurer.captured.parameters, most)
            replayer = measurer.conditions.allowed.replayer(nest)
            replayed = replayer.replay(scheduled.schedule)
        except SchedulerError:
            return None
        if not isinstance(replayed, ScheduledNest):
            return None
        captured = touched_only(nest, measurer.captured)
        smaller = replace(measurer, nest=nest, replayer=replayer, captured=captured, bodies={})
        body = smaller.body(replayed)
        return (smaller, body) if isinstance(body, str) else None

    def _exactly(self, measurer: Measurer, inputs: CapturedNest, body: str, name: str) -> Failure | _Unusable | None:
        """The two compared without contraction; None where they agree."""
        reference = self._written(measurer, inputs, self._exact, name)
        if isinstance(reference, _Unusable):
            return reference
        verdict = self._compared(measurer, inputs, body, reference)
        return None if isinstance(verdict, tuple) else verdict

    def _written(
        self, measurer: Measurer, inputs: CapturedNest, config: CompilerConfig, name: str
    ) -> Reference | _Unusable:
        conditions = measurer.conditions
        built = measurer.knowing_sizes().build([emit_original(measurer.nest)], config, inputs)[0]
        if isinstance(built, BuildFailed):
            return _Unusable(built)
        path = conditions.workdir / f"{measurer.nest.name}-{name}-{built.key[:8]}.reference"
        if path not in self._references:
            with conditions.watch.phase("original"):
                written = conditions.runner.reference(built, path, measurer.surroundings)
            if not isinstance(written, Timed):
                return _Unusable(written)
            self._references[path] = Reference(built, path, written)
        return self._references[path]

    def _compared(
        self,
        measurer: Measurer,
        inputs: CapturedNest,
        body: str,
        reference: Reference,
        tolerance: float | None = None,
    ) -> Failure | tuple[float, ...]:
        """Seconds of each run where the outputs agree."""
        tolerance = self._tolerance if tolerance is None else tolerance
        conditions = measurer.conditions
        built = measurer.build([body], reference.built.config, inputs)[0]
        if isinstance(built, BuildFailed):
            return built
        if built.config != conditions.compiler and built.key != reference.built.key:  # it may have the same text
            self._candidates.append(built)
        seconds: list[float] = []
        for _ in range(2 if conditions.threads > 1 else 1):  # a race shows in some runs only
            verdict = conditions.runner.check(built, reference.path, tolerance, measurer.surroundings)
            if not isinstance(verdict, Verified):
                return verdict
            seconds.append(verdict.seconds)
        return tuple(seconds)


def iterations_to_check(nest: LoopNest, scheduled: ScheduledNest) -> dict[str, int]:
    """So many of each loop that every block is full at least twice and then not, as long as that is not too much."""
    sizes: dict[str, int] = {}
    for loop in tree_loops(scheduled.tree):
        marked = dict(zip(loop.register.loops, loop.register.sizes, strict=True)) if loop.register else {}
        for name, size in ((loop.name, loop.tile), (loop.name, loop.unroll), *marked.items()):
            for named in tree_loops(scheduled.tree):
                for _, row in named.rows if named.name == name else ():
                    for iterator in row.names():
                        sizes[iterator] = max(sizes.get(iterator, 0), size)
    blocks = [size for step in scheduled.schedule if isinstance(step, Split) for size in _divisors(step.at)]
    if blocks:  # their second parts' loops are not the nest's
        sizes = dict.fromkeys((loop.name for loop in loops(nest)), max((*blocks, *sizes.values())))
    most = {loop.name: 2 * size + 3 if (size := sizes.get(loop.name, 0)) > 1 else _PLAIN for loop in loops(nest)}
    while largest_work(nest, most) > _MOST_WORK and max(most.values()) > _LEAST:
        longest = max(most, key=lambda name: most[name])
        most[longest] = max(_LEAST, most[longest] // 2 + 1)
    return most


def _divisors(at: Affine) -> list[int]:
    return [atom.denominator for atom, _ in at.terms if isinstance(atom, FloorDiv)]
