"""Legal schedules as compiled code: bit for bit what the original computes, by every compiler on 1, 2 and 3 threads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.contained.child import Limits
from profilers.contained.scratch import scratch_folder
from profilers.harness import check_workload, write_reference
from profilers.outcome import BuildFailed, Timed, Verified
from profilers.run import DEFAULT_ENVIRONMENT
from profilers.workload import Argument, CapturedFill, ConstantFill, Workload
from scheduler.codegen import ArgumentSpec, emit_original, kernel_source, plain
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest
from tests.campaigns.legality.model import Campaign, Disagreement, Kind, Runnable, Tally
from tests.campaigns.legality.program import generate
from tests.campaigns.legality.subject import difference
from tests.doubles.interpret import interpret
from tests.generator import random_inputs, random_parameters

FLAGS = ("-O2", "-march=native", "-fopenmp", "-ffp-contract=off", "-w")
_RANGES = ((1, 4), (7, 21))  # of the parameters: with empty loops and partial blocks, and with whole ones
_INTERPRETED = 1  # the first of the ranges is also interpreted
_LIMITS = Limits(wall_s=20.0, memory_bytes=4 << 30)
_HEADER = 32  # bytes before the outputs in a reference file


@dataclass(frozen=True, slots=True)
class _Case:
    """A program with the builds of its schedules; `originals` and `schedules` share their arguments."""

    nest: LoopNest
    specs: tuple[ArgumentSpec, ...]
    original: Built
    schedules: tuple[tuple[Runnable, str, Built | BuildFailed], ...]


def check_compiled(campaign: Campaign, runnable: Sequence[Runnable]) -> Tally:
    """Builds and runs all of them; `runnable` is ordered by program."""
    tally = Tally()
    with _folder(campaign.workdir) as folder:
        for case in _build(campaign, runnable, folder, tally):
            program = case.schedules[0][0].program
            rng = random.Random(f"{campaign.seed}:{program}:compiled")
            check = _Check(campaign, case, folder, tally, rng)
            for number, (low, high) in enumerate(_RANGES):
                check.run(low, high, number < _INTERPRETED)
    return tally


def _environment(campaign: Campaign) -> Mapping[str, str]:
    return dict(campaign.environment) or DEFAULT_ENVIRONMENT


@contextmanager
def _folder(workdir: Path | None) -> Iterator[Path]:
    with scratch_folder(workdir) as folder:
        yield folder


def _build(campaign: Campaign, runnable: Sequence[Runnable], folder: Path, tally: Tally) -> list[_Case]:
    """All programs of one call are compiled together, so that no compiler waits."""
    environment = _environment(campaign)
    groups = [(index, list(group)) for index, group in groupby(runnable, key=lambda r: r.program)]
    nests = {index: plain(generate(campaign.seed, index)[0]) for index, _ in groups}
    sources = {index: [_source(nests[index], emit_original(nests[index]))] for index, _ in groups}
    for index, group in groups:
        sources[index] += [_source(nests[index], r.body) for r in group]
    built: dict[tuple[str, str], Built | BuildFailed] = {}
    for number, cc in enumerate(campaign.compilers):
        texts = [text for index, _ in groups for text, _ in sources[index][0 if number == 0 else 1 :]]
        workloads = [Workload("campaign", text, (), 1) for text in dict.fromkeys(texts)]
        config = CompilerConfig(cc, FLAGS)
        results = compile_workloads(workloads, config, folder / "build", 1, 120.0, environment=environment)
        built |= {(cc, w.source): result for w, result in zip(workloads, results, strict=True)}
    cases = []
    for index, group in groups:
        (text, specs), *others = sources[index]
        original = built[campaign.compilers[0], text]
        if isinstance(original, BuildFailed):
            _report(tally, "compiled code differs", nests[index], group[0], {}, f"original: {original.message}")
            continue
        pairs = [(r, cc, built[cc, t]) for r, (t, _) in zip(group, others, strict=True) for cc in campaign.compilers]
        cases.append(_Case(nests[index], specs, original, tuple(pairs)))
    return cases


def _source(nest: LoopNest, body: str) -> tuple[str, tuple[ArgumentSpec, ...]]:
    """The file to compile. gcc 12 must not draw conclusions about the function from its optimized body.

    It turns A[2*i] into an address computed from -A (ivopts), then finds that nothing the caller knows is
    written, and drops the call: `for (i = 0; i < n; i++) A[2*i] = 0.5*A[i];` in a static function does nothing.
    """
    text, specs = kernel_source(nest, body)
    return text.replace("__attribute__((noinline))", "__attribute__((noinline, noipa))"), specs


class _Check:
    def __init__(self, campaign: Campaign, case: _Case, folder: Path, tally: Tally, rng: random.Random) -> None:
        self.campaign = campaign
        self.case = case
        self.folder = folder
        self.tally = tally
        self.rng = rng
        self.environment = _environment(campaign)
        self.reported: set[Runnable] = set()  # one report a schedule is enough

    def run(self, low: int, high: int, interpreted: bool) -> None:
        """One set of inputs."""
        case, nest = self.case, self.case.nest
        parameters = random_parameters(nest, self.rng, low, high)
        arrays = random_inputs(nest, self.rng, parameters)
        arguments = self._arguments(parameters, arrays)
        reference = self.folder / "reference"
        original = replace(case.original, workload=Workload("campaign", "", arguments, 1))
        first = case.schedules[0][0]
        outcome = write_reference(original, reference, limits=_LIMITS, environment=self.environment)
        if not isinstance(outcome, Timed):
            _report(self.tally, "interpreter differs from C", nest, first, parameters, f"the original: {outcome}")
            return
        if interpreted and (detail := self._interpreted(parameters, arrays, reference)):
            _report(self.tally, "interpreter differs from C", nest, replace(first, schedule=""), parameters, detail)
        for runnable, cc, built in case.schedules:
            if isinstance(built, BuildFailed):
                if runnable not in self.reported:
                    self.reported.add(runnable)
                    _report(self.tally, "compiled code differs", nest, runnable, {}, f"{cc}: {built.message}")
                continue
            for threads in self.campaign.threads:
                self._compare(runnable, cc, replace(built, workload=Workload("campaign", "", arguments, threads)),
                              reference, parameters)  # fmt: skip

    def _compare(
        self, runnable: Runnable, cc: str, built: Built, reference: Path, parameters: Mapping[str, int]
    ) -> None:
        if runnable in self.reported:
            return
        outcome = check_workload(built, reference, limits=_LIMITS, environment=self.environment)
        self.tally.counts[f"compiled runs {cc}"] += 1
        if not isinstance(outcome, Verified):
            self.reported.add(runnable)
            detail = f"{cc}, {built.workload.threads} threads: {outcome}\n{runnable.body}"
            _report(self.tally, "compiled code differs", self.case.nest, runnable, parameters, detail)

    def _arguments(self, parameters: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]]
                   ) -> tuple[Argument, ...]:  # fmt: skip
        """Inputs go to the harness through a file, as captured ones do."""
        path, arguments = self.folder / "inputs", []
        with path.open("wb") as file:
            for spec in self.case.specs:
                if spec.is_parameter:
                    fill = ConstantFill(parameters[spec.name])
                    arguments.append(Argument(spec.name, spec.ctype, (), fill, spec.written))
                    continue
                array = arrays[spec.name]
                captured = CapturedFill(str(path), file.tell())
                file.write(array.tobytes() or bytes(array.itemsize))
                shape = tuple(max(extent, 1) for extent in array.shape)
                arguments.append(Argument(spec.name, spec.ctype, shape, captured, spec.written))
        return tuple(arguments)

    def _interpreted(
        self, parameters: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]], reference: Path
    ) -> str:
        """How the compiled original differs from the interpreted one."""
        expected = interpret(self.case.nest, parameters, arrays)
        content, at = reference.read_bytes(), _HEADER
        for spec in self.case.specs:
            if not spec.written or spec.is_parameter:
                continue
            wanted = expected[spec.name]
            found = np.frombuffer(content[at : at + wanted.nbytes], wanted.dtype).reshape(wanted.shape)
            at += wanted.nbytes or wanted.itemsize
            if detail := difference({spec.name: wanted}, {spec.name: found}):
                return f"compiled original: {detail}"
        return ""


def _report(
    tally: Tally, kind: Kind, nest: LoopNest, runnable: Runnable, parameters: Mapping[str, int], detail: str
) -> None:
    given = tuple(sorted(parameters.items()))
    text = format_nest(nest)
    entry = Disagreement(kind, runnable.program, text, runnable.schedule, given, detail, runnable.reassociate)
    tally.disagreements.append(entry)
