"""A record of what tuning a nest did to the machine, and the same again from it without any compiler.

So a search can be looked at, or tested, step by step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from perfembed.errors import PerfembedError
from perfembed.measuring.runner import Compile, Runner, Surroundings
from profilers.build import Built
from profilers.outcome import (
    BuildFailed,
    Crashed,
    Difference,
    Failure,
    Outcome,
    Stopped,
    Timed,
    TimedOut,
    Verified,
    WrongResult,
)
from profilers.specification import TimingSettings
from profilers.timing import CompareSettings, Comparison, ComparisonFailed, Round
from profilers.workload import Workload

_A = TypeVar("_A")
_ANSWERS = (BuildFailed, Crashed, Stopped, Timed, TimedOut, Verified, WrongResult, Comparison, ComparisonFailed)
_BUILT = "built"
_KINDS: Mapping[str, type] = {kind.__name__: kind for kind in _ANSWERS}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was asked of a runner: what, of which texts, how long it took, what came of it.

    Texts are numbered as they come, so that a recording outlives changes of how they are written.
    """

    kind: str
    of: str
    seconds: float
    answer: object  # as JSON

    def __str__(self) -> str:
        return json.dumps(asdict(self))


def read_steps(text: str) -> tuple[Step, ...]:
    """Steps as they were written, one a line."""
    return tuple(Step(**json.loads(line)) for line in text.splitlines() if line.strip())


class _Texts:
    """Numbers texts in the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def name(self, *workloads: Workload) -> str:
        return " ".join(str(self._numbers.setdefault(w.source, len(self._numbers) + 1)) for w in workloads)


class Recording:
    """A runner whose every step is kept. Its clock stands still between them, as that of a replay does."""

    def __init__(self, runner: Runner) -> None:
        self.steps: list[Step] = []
        self._texts = _Texts()
        self._runner = runner
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def _step(self, kind: str, of: Sequence[Workload], run: Callable[[], _A], answer: Callable[[_A], object]) -> _A:
        began = self._runner.now()
        done = run()
        step = Step(kind, self._texts.name(*of), self._runner.now() - began, answer(done))
        self._now += step.seconds
        self.steps.append(step)
        return done

    def compile(self, workloads: Iterable[Workload], how: Compile) -> tuple[Built | BuildFailed, ...]:
        asked: list[Workload] = []

        def kept() -> Iterable[Workload]:
            for workload in workloads:
                asked.append(workload)
                yield workload

        def run() -> tuple[Built | BuildFailed, ...]:
            return self._runner.compile(kept(), how)

        return self._step("compile", asked, run, lambda built: list(map(_compiled, built)))

    def discard(self, built: Built) -> None:
        self._runner.discard(built)

    def time(self, built: Built, settings: TimingSettings, where: Surroundings) -> tuple[Outcome, float | None]:
        def run() -> tuple[Outcome, float | None]:
            return self._runner.time(built, settings, where)

        return self._step("time", [built.workload], run, lambda answer: [_said(answer[0]), answer[1]])

    def compare(
        self, original: Built, candidate: Built, settings: CompareSettings, seed: int, where: Surroundings
    ) -> Comparison | ComparisonFailed:
        def run() -> Comparison | ComparisonFailed:
            return self._runner.compare(original, candidate, settings, seed, where)

        return self._step("compare", [original.workload, candidate.workload], run, _said)

    def reference(self, built: Built, path: Path, where: Surroundings) -> Timed | Failure:
        return self._step("reference", [built.workload], lambda: self._runner.reference(built, path, where), _said)

    def check(self, built: Built, path: Path, tolerance: float | None, where: Surroundings) -> Verified | Failure:
        def run() -> Verified | Failure:
            return self._runner.check(built, path, tolerance, where)

        return self._step("check", [built.workload], run, _said)


class OtherStep(PerfembedError):
    """Something else is asked for than what was recorded; the message says what."""


class Replay:
    """Answers what a recording holds, in its order. Every method raises OtherStep where other things are asked for."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.left = list(steps)
        self._texts = _Texts()
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def _next(self, kind: str, *workloads: Workload) -> Any:
        of = self._texts.name(*workloads)
        if not self.left:
            raise OtherStep(f"{kind} {of} is asked for, and the recording is at its end")
        step = self.left.pop(0)
        if (step.kind, step.of) != (kind, of):
            raise OtherStep(f"{kind} {of} is asked for, and {step.kind} {step.of} was recorded")
        self._now += step.seconds
        return step.answer

    def compile(self, workloads: Iterable[Workload], how: Compile) -> tuple[Built | BuildFailed, ...]:
        asked = list(workloads)
        answers = self._next("compile", *asked)
        return tuple(
            self._built(workload, how) if answer == _BUILT else _read(answer)
            for workload, answer in zip(asked, answers, strict=True)
        )

    def _built(self, workload: Workload, how: Compile) -> Built:
        """There is no executable; the key tells texts and flags apart, as that of a real build does."""
        said = repr((workload.source, how.config))
        key = hashlib.sha256(said.encode("utf-8", errors="surrogateescape")).hexdigest()[:16]
        return Built(workload, how.folder / key, how.config, key)

    def discard(self, built: Built) -> None:
        pass

    def time(self, built: Built, settings: TimingSettings, where: Surroundings) -> tuple[Outcome, float | None]:
        outcome, load = self._next("time", built.workload)
        return _read(outcome), load

    def compare(
        self, original: Built, candidate: Built, settings: CompareSettings, seed: int, where: Surroundings
    ) -> Comparison | ComparisonFailed:
        found: Comparison | ComparisonFailed = _read(self._next("compare", original.workload, candidate.workload))
        return found

    def reference(self, built: Built, path: Path, where: Surroundings) -> Timed | Failure:
        found: Timed | Failure = _read(self._next("reference", built.workload))
        return found

    def check(self, built: Built, path: Path, tolerance: float | None, where: Surroundings) -> Verified | Failure:
        found: Verified | Failure = _read(self._next("check", built.workload))
        return found


def _compiled(built: Built | BuildFailed) -> object:
    return _BUILT if isinstance(built, Built) else _said(built)


def _said(answer: object) -> list[object]:
    assert is_dataclass(answer) and not isinstance(answer, type)
    fields = json.loads(json.dumps(asdict(answer)))
    if isinstance(answer, ComparisonFailed):
        fields["outcome"] = _said(answer.outcome)
    return [type(answer).__name__, fields]


def _read(said: Sequence[Any]) -> Any:
    name, fields = said
    if name == ComparisonFailed.__name__:
        return ComparisonFailed(fields["which"], _read(fields["outcome"]))
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    if "differences" in values:
        values["differences"] = tuple(Difference(**one) for one in values["differences"])
    if "rounds" in values:
        values["rounds"] = tuple(map(_round, values["rounds"]))
    return _KINDS[name](**values)


def _round(fields: Mapping[str, Any]) -> Round:
    original, candidate = (
        [Timed(tuple(run["samples_s"])) for run in fields[side]] for side in ("original", "candidate")
    )
    return Round((original[0], original[1]), (candidate[0], candidate[1]), fields["other_load"], fields["used"])
