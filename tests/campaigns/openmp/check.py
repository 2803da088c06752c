"""Reads OpenMP programs, compares the races that are seen with the planted ones, and runs what is written for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig, compiler_path
from profilers.contained.child import Limits
from profilers.contained.scratch import scratch_folder
from profilers.run import run_contained
from scheduler.errors import CodegenUnsupported, SchedulerError
from scheduler.frontend import RACE, ParseOptions, Sharing, SourceFile, read_source
from scheduler.ir.nest import LoopNest
from scheduler.moves.openmp_schedule import fitted
from scheduler.races import allowed, races
from scheduler.replay import Replayer, ScheduledNest
from tests.campaigns.openmp.programs import OpenmpProgram, openmp_programs
from tests.campaigns.written.drawn import aggressive

_FLAGS = ("-O2", "-fopenmp")
_LIMITS = Limits(wall_s=30.0, memory_bytes=2 << 30)
_ATTEMPTS = 8
_ICE = "internal compiler error"


@dataclass(frozen=True, slots=True)
class OpenmpBench:
    """`limit`: programs looked at, of all (None: all); `draws`: times each is written with other schedules."""

    seed: int = 0
    limit: int | None = None
    draws: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class OpenmpResult:
    """`wrong`: (program, what): a race not seen, one that is not there, or another output."""

    bench: OpenmpBench
    programs: int = 0
    interrupted: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str]] = field(default_factory=list)


def run_openmp(bench: OpenmpBench, progress: Callable[[int, int, int], None]) -> OpenmpResult:
    """Every program by itself; Ctrl-C ends with what there is. `progress`: (done, of, wrong).

    Raises CompilerMissing.
    """
    programs = list(openmp_programs())
    random.Random(bench.seed).shuffle(programs)
    tally = OpenmpResult(bench)
    with scratch_folder() as scratch:
        try:
            for number, program in enumerate(programs[: bench.limit]):
                folder = scratch / str(number)
                folder.mkdir()
                ProgramCheck(program, bench, folder, tally).run()
                tally.programs += 1
                progress(number + 1, len(programs[: bench.limit]), len(tally.wrong))
        except KeyboardInterrupt:
            tally.interrupted = True
    return tally


class ProgramCheck:
    """One program: what is wrong with it goes into `tally`."""

    def __init__(self, program: OpenmpProgram, bench: OpenmpBench, folder: Path, tally: OpenmpResult) -> None:
        self.program, self.bench, self.folder, self.tally = program, bench, folder, tally
        self.environment = {**bench.environment, "OMP_WAIT_POLICY": "passive", "TMPDIR": str(folder)}
        self.path = folder / "program.c"
        self.path.write_text(program.source, encoding="ascii")

    def run(self) -> None:
        source = read_source(self.path, ParseOptions(_FLAGS))
        if source.warnings:
            self.wrong(f"warnings: {source.warnings}")
        self.races(source)
        for draw in range(self.bench.draws):
            self.written(source, draw)

    def wrong(self, what: str) -> None:
        self.tally.wrong.append((self.program.name, what))

    # ------------------------------------------------------------------------------------- races

    def races(self, source: SourceFile) -> None:
        """A certain race must be the planted one, in what it meets in; a planted one must be seen."""
        certain = [r.reason for r in source.rejections if r.reason.startswith(RACE)]
        possible: list[str] = []
        for nest in source.nests:
            sharing = source.sharing.get(nest.name)
            for race in races(Replayer(nest), sharing) if sharing is not None else ():
                (certain if race.certain else possible).append(race.reason)
                self.tally.counts["witnesses"] += 1
        planted = self.program.race
        expected = planted if planted and not self.program.possible and "/single" not in self.program.name else ""
        if expected and not any(_names(reason, planted) for reason in certain):
            refused = [f"{r.span.line}: {r.reason}" for r in source.rejections]
            self.wrong(f"the race in {planted} is not seen ({'; '.join(refused) or 'nothing refused'})")
        elif not expected and certain:
            self.wrong(f"no race, but: {certain[0]}")
        elif expected:
            self.tally.counts["planted races seen"] += 1
        if self.program.possible and "/hint" not in self.program.name and not certain and possible:
            self.tally.counts["possible races said to be so"] += 1
        elif possible and not planted:
            self.wrong(f"no race, but: {possible[0]}")

    # ----------------------------------------------------------------------------------- outputs

    def written(self, source: SourceFile, draw: int) -> None:
        if self.program.race and not self.program.possible:
            return  # what it computes is up to chance
        read = CompilerConfig("gcc", _FLAGS)
        surveyed = survey(source, read, read, self.folder / "survey", self.environment)
        rng = random.Random(f"{self.bench.seed}:{self.program.name}:{draw}")
        rewrites: list[Rewrite] = []
        for nest in source.nests:
            rewrite = self.rewrite(source, nest, rng)
            try:
                if rewrite is not None:
                    rewrite_source(source, [*rewrites, rewrite], 32, surveyed)
                    rewrites.append(rewrite)
            except CodegenUnsupported:
                self.tally.counts["nests that cannot be written"] += 1
        shared = sum(1 for r in rewrites if r.nest.name in source.sharing)
        self.tally.counts["nests written"] += len(rewrites)
        self.tally.counts["of them with pragmas"] += shared
        if not rewrites:
            return
        text = rewrite_source(source, rewrites, 32, surveyed)
        expected = self.output(source.content, ("-O2",), 1, "sequential")
        for threads in (1, 2, 3):
            found = self.output(text, (*_FLAGS, "-ffp-contract=off"), threads, "written")
            self.tally.counts["runs"] += 1
            if _ICE in found:
                self.tally.counts["texts that gcc itself fails on"] += 1
            elif found != expected:
                steps = "; ".join(f"{r.nest.name}: {r.schedule}" for r in rewrites)
                self.wrong(f"{threads} threads: {found!r} instead of {expected!r} with {steps}")

    def rewrite(self, source: SourceFile, nest: LoopNest, rng: random.Random) -> Rewrite | None:
        sharing = source.sharing.get(nest.name)
        may = allowed(nest, sharing, False, False)
        for _ in range(_ATTEMPTS):
            try:
                replayer = may.replayer(nest)
                drawn = aggressive(replayer, rng)
                if drawn is None:
                    return None
                schedule = fitted(replayer, drawn[0], _context(sharing))
                if isinstance(replayer.replay(schedule), ScheduledNest):
                    return Rewrite(nest, schedule, 2.0, may)
            except SchedulerError:
                continue
        return None

    def output(self, content: bytes, flags: tuple[str, ...], threads: int, name: str) -> str:
        """What a program prints, or why it does not."""
        source, executable = self.folder / f"{name}.c", self.folder / name
        source.write_bytes(content)
        cc = compiler_path("gcc", self.environment)
        built = run_contained(
            (cc, *flags, "-w", str(source), "-o", str(executable), "-lm"),
            limits=_LIMITS,
            env=self.environment,
            cwd=self.folder,
        )
        if not built.ok:
            return built.stderr.decode(errors="replace")
        environment = {**self.environment, "OMP_NUM_THREADS": str(threads)}
        finished = run_contained((str(executable),), limits=_LIMITS, env=environment, cwd=self.folder)
        return finished.stdout.decode() if finished.ok else f"failed: {replace(finished, stdout=b'')}"


def _names(reason: str, planted: str) -> bool:
    return f"'{planted}'" in reason or f"element of {planted} " in reason


def _context(sharing: Sharing | None) -> str:
    return sharing.context if sharing is not None else ""
