"""Builds the program once, with the sanitizers and both forms of its nests, and runs it on other values."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.building.build import Changes, Made, NotBuilt
from perfembed.building.compiling import COMPILE_LIMITS, said
from perfembed.capture import ProgramProfile
from perfembed.capture.compared import difference
from perfembed.capture.extents import outer_arrays
from perfembed.capture.outputs import with_still_clock
from perfembed.capture.program import ProgramRun, abi_flags
from perfembed.fuzzing.arguments import other_arguments
from perfembed.fuzzing.instrumented import Instrumented, tables
from perfembed.fuzzing.result import OtherValues
from perfembed.world import Ran, run_failure
from profilers.build import compiler_path
from profilers.contained.child import Limits
from profilers.contained.errors import ProfilersError
from profilers.harness import harness_environment
from profilers.run import run_contained
from scheduler.ir.names import spelled
from scheduler.ir.nest import LoopNest

_HERE = Path(__file__).parent
_SANITIZED = (
    "-O1", "-g0", "-fno-lto", "-ffp-contract=off", "-fsanitize=address,undefined,float-cast-overflow",
    "-fsanitize-recover=address,undefined,float-cast-overflow", "-w", "-Dregister=",
)  # fmt: skip
_SETTINGS = {
    "ASAN_OPTIONS": "symbolize=0:detect_leaks=0:halt_on_error=0:allocator_may_return_null=1:verify_asan_link_order=0"
    ":detect_stack_use_after_return=0:max_allocation_size_mb=16384",
    "UBSAN_OPTIONS": "symbolize=0:print_stacktrace=0:halt_on_error=0",
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
}
_ADDRESS = re.compile(r" on (?:unknown )?address .*")  # another one in every run
_FUZZ, _WRITTEN = "PERFEMBED_FUZZ", "PERFEMBED_WRITTEN"
_DRAWS_SHARE = 0.7  # of the time, for draws; the rest is for other arguments
_RUN_S = 0.8  # for a run of the original with other arguments
_SLOWER, _LATE_S = 10.0, 10.0  # what the written program may take instead
_LEAST_S = 0.2
_ENDING_S = 3.0  # for the last draw


@dataclass(slots=True)
class Fuzzing:
    """The program with the winners in both forms. `flags`: of the written files behind their own.

    `made` is set by who builds `changes`; what was found lies in `nests`, by name.
    """

    profile: ProgramProfile
    instrumented: Instrumented
    flags: tuple[str, ...]
    workdir: Path
    threads: int
    seed: int
    tolerance: float
    made: Made | NotBuilt | None = None
    nests: dict[str, OtherValues] = field(default_factory=dict)
    seconds: float = 0.0  # that it took to run
    _cpu_s: float = 0.0

    def changes(self) -> tuple[Changes, Path] | None:
        """What is to be built, and where; None where that cannot be."""
        program = self.profile.program
        workdir = self.workdir.absolute()
        workdir.mkdir(parents=True, exist_ok=True)
        environment = {**program.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
        compiler, support = program.build.compiler, workdir / "fuzz_runtime.o"
        try:
            ours = (compiler_path(compiler.cc, environment), *abi_flags(compiler.flags), "-O2", "-std=gnu11", "-w")
            ours += ("-c", str(_HERE / "fuzz_runtime.c"), "-o", str(support))
            finished = run_contained(ours, limits=COMPILE_LIMITS, env=environment, cwd=workdir)
        except ProfilersError as problem:
            self.made = NotBuilt(str(problem))
            return None
        if not finished.ok:
            self.made = NotBuilt(said(finished))
            return None
        flags = (*self.flags, *_SANITIZED, "-include", str(_HERE / "fuzz.h"))
        return Changes(self.instrumented.texts, flags, (support,)), workdir / "build"

    def run(self, cpu_s: float, wall_s: float) -> None:
        """Fills `nests`, in `cpu_s` seconds of processor time, about, and at most `wall_s` seconds."""
        began = time.monotonic()
        names = [nest.name for nest, _ in self.instrumented.nests]
        problem = ""
        if not isinstance(self.made, Made):
            problem = f"the program cannot be built with the sanitizers: {_first_line(self.made)}"
        elif wall_s < _LEAST_S:
            problem = "no time was left"
        self.nests = {name: OtherValues(skipped=problem) for name in names}
        if isinstance(self.made, Made) and not problem:
            self._draw(self.made, _DRAWS_SHARE * cpu_s, _DRAWS_SHARE * wall_s)
            self._other_arguments(self.made, (1 - _DRAWS_SHARE) * cpu_s, began + wall_s)
        self.seconds = time.monotonic() - began

    @property
    def wrong(self) -> Mapping[str, str]:
        """By the name of a nest, with which values it does something else, and what."""
        return {name: found.wrong for name, found in self.nests.items() if found.wrong}

    # ---------------------------------------------------------------- draws at the calls of functions

    def _draw(self, made: Made, cpu_s: float, wall_s: float) -> None:
        workdir = self.workdir.absolute()
        report, table = workdir / "report", workdir / "tables"
        report.unlink(missing_ok=True)
        text = tables(self.instrumented, report, self.seed, cpu_s, wall_s, self.tolerance, self.threads)
        table.write_text(text, encoding="utf-8")
        ran = self._run(made, {_FUZZ: str(table)}, self._arguments, 1, wall_s + _ENDING_S)
        problem = "the program did not come to it in time" if ran.finished.timed_out else "no call of it could be tried"
        for name in self.nests:
            self.nests[name] = OtherValues(skipped=problem)
        text = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
        for line in text.splitlines():
            self._take(line)

    def _take(self, line: str) -> None:
        """One line of the runtime's report."""
        words, _, said = line.partition(" :")
        kind, *rest = words.split()
        if kind == "end":
            return
        numbers = [int(word) for word in rest]
        nest, function = self.instrumented.nests[numbers[0]]
        if kind == "threads":
            self.nests[nest.name] = OtherValues(skipped="the program runs several threads then")
        elif kind == "nest":
            same, tuned, undefined = numbers[1:]
            skipped = "" if same else "the original is undefined or runs long on all that were drawn"
            self.nests[nest.name] = OtherValues(same, tuned, undefined, skipped=skipped)
        elif kind == "wrong":
            found, where, contents, *values = numbers[1:]
            shown = self._shown(function, values)
            if contents:
                shown = f"{shown} and other contents of its arrays" if shown else "with other contents of its arrays"
            shown = shown or "with the program's own values"
            what = {1: f"{_name(nest, where)} differs", 2: _ADDRESS.sub("", said.strip()), 3: "it does not end"}[found]
            self.nests[nest.name] = OtherValues(wrong=f"{shown}: {what}")

    def _shown(self, function: int, values: Sequence[int]) -> str:
        """The values at the call of a function, for the user."""
        if function < 0:
            return ""
        names = [value.name for value in self.instrumented.functions[function].values]
        kinds = dict(zip(names, values, strict=False))
        integers = {p.base or p.name for nest, number in self.instrumented.nests if number == function
                    for p in nest.parameters}  # fmt: skip
        shown = [f"{spelled(name)} = {value}" for name, value in kinds.items() if name in integers or value]
        return f"with {', '.join(shown)}" if shown else ""

    # ---------------------------------------------------------------- the program with other arguments

    def _other_arguments(self, made: Made, cpu_s: float, until: float) -> None:
        texts = list(self.instrumented.texts.values())
        good, self._cpu_s = 0, 0.0
        for arguments in other_arguments(self._arguments, texts):
            left = until - time.monotonic()
            if left < _LEAST_S or self._cpu_s > cpu_s:
                break
            names = [n for n in self._names() if not self.nests[n].wrong]
            first = self._run(made, {}, arguments, self.threads, min(_RUN_S, left))
            if first.finished.limit or first.exit_code not in (0, self.profile.exit_code) or _reported(first):
                continue
            problem = self._differs(made, arguments, first, names)
            if problem is None:
                continue
            good += not problem
            if problem:
                guilty = [n for n in names if self._differs(made, arguments, first, [n])] or names
                for name in guilty:
                    shown = f"with the arguments {' '.join(arguments)}: {problem}"
                    self.nests[name] = replace(self.nests[name], wrong=shown)
        for name, found in self.nests.items():
            self.nests[name] = replace(found, arguments=good)

    def _differs(self, made: Made, arguments: tuple[str, ...], first: Ran, names: Sequence[str]) -> str | None:
        """What the program says differently where these nests are as written; None where it does so by itself."""
        every = self._names()
        written = {_WRITTEN: " ".join(str(every.index(name)) for name in names)}
        most_s = _SLOWER * first.wall_s + _LATE_S
        other = self._run(made, written, arguments, self.threads, most_s)
        if other.finished.timed_out:
            return "it does not end"
        if said := _reported(other):
            return said
        world = self.profile.program.world
        if not (found := run_failure(other.finished, Limits()) or difference(first, other, world)):
            return ""
        still = with_still_clock(self.profile.program, self.workdir / "clock") or self.profile.program
        again = [self._run(made, {}, arguments, self.threads, most_s, still) for _ in range(2)]
        if difference(again[0], again[1], world):
            return None
        other = self._run(made, written, arguments, self.threads, most_s, still)
        found = run_failure(other.finished, Limits()) or difference(again[0], other, world, again[1:])
        return found.splitlines()[0] if found else ""

    # ---------------------------------------------------------------- runs

    def _names(self) -> list[str]:
        return [nest.name for nest, _ in self.instrumented.nests]

    @property
    def _arguments(self) -> tuple[str, ...]:
        return self.profile.program.world.arguments

    def _run(
        self,
        made: Made,
        settings: Mapping[str, str],
        arguments: tuple[str, ...],
        threads: int,
        most_s: float,
        program: ProgramRun | None = None,
    ) -> Ran:
        program = program or self.profile.program
        stage, name = program.staged(made)
        limits = replace(program.world.limits, wall_s=max(most_s, _LEAST_S), memory_bytes=0)
        environment = {**harness_environment(program.environment, threads), **_SETTINGS, **settings}
        ran = stage.run((*program.prefix, name, *arguments), environment, (self.workdir.absolute(),), limits)
        self._cpu_s += ran.finished.cpu_s
        return ran


def _reported(ran: Ran) -> str:
    """The first thing that a sanitizer said, or nothing."""
    for line in ran.stderr.decode(errors="replace").splitlines():
        for mark in ("runtime error: ", "AddressSanitizer: "):
            if mark in line:
                return _ADDRESS.sub("", line[line.index(mark) :])
    return ""


def _name(nest: LoopNest, where: int) -> str:
    array = outer_arrays(nest)[where]
    return spelled(array.base or array.name)


def _first_line(made: Made | NotBuilt | None) -> str:
    lines = made.reason.strip().splitlines() if isinstance(made, NotBuilt) else []
    return lines[0] if lines else "it was not tried"
