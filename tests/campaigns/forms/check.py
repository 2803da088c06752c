"""One random program under random legal schedules, compiled and run: it must print what it printed."""

from __future__ import annotations

import random
import subprocess
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.specialize import with_nests
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import CodegenUnsupported, SchedulerError
from scheduler.frontend import ParseOptions, SourceFile
from scheduler.frontend.child import parse
from scheduler.frontend.parsing import parser_request, understood
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest, parse_nest, without_spans
from scheduler.ir.tree import tree_loops
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Parallelize, Vectorize
from tests.campaigns.flag_sets import FLAG_SETS
from tests.campaigns.forms.model import FORMS, Campaign, Fault, Kind, Tally
from tests.generator import random_schedule

FLAGS = ("-O1", "-ffp-contract=off")
SANITIZED = (
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-sanitize=float-cast-overflow,pointer-overflow",
)
WAYS = ((*SANITIZED, "-fopenmp"), ("-O3", "-march=native", "-fopenmp"), ("-O2",))
"""How a written program is compiled: one of these is drawn for each."""

_THREADS = {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": "detect_leaks=0"}
_COMPILE_S, _RUN_S = 200.0, 100.0
_VECTOR_BYTES = 32
_TRIES = 3
_COMPILERS_FREEDOM = {"-fno-signed-zeros", "-fcx-limited-range"}
_VALUES = (0, 1, 1, 2, 3, 4, 5, 8)


@dataclass(frozen=True, slots=True)
class Broken(Exception):
    """A program that does not compile, or does not end well."""

    compiles: bool
    said: str


def output(cc: str, path: Path, *flags: str) -> str:
    """What a program prints. Raises Broken."""
    program = path.with_suffix("")
    command = [cc, "-w", *FLAGS, *flags, str(path), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_S, check=False)
    if built.returncode:
        raise Broken(False, built.stderr)
    try:
        ran = subprocess.run(
            [str(program)],
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            env={**DEFAULT_ENVIRONMENT, **_THREADS},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Broken(True, f"it does not end within {_RUN_S:g} s") from None
    if ran.returncode:
        raise Broken(True, f"exit code {ran.returncode}\n{ran.stderr[-3000:]}")
    return ran.stdout


def _says(cc: str, path: Path, flags: tuple[str, ...]) -> str:
    try:
        return output(cc, path, *flags)
    except Broken as broken:
        return f"{broken.said}: it does not end well"


def read(
    path: Path,
    cc: str = "gcc",
    given: Mapping[int, Mapping[str, int]] | None = None,
    flags: tuple[str, ...] = FLAGS,
) -> SourceFile:
    """In this process: a parser of its own for each program would take longer than all else. Raises ParseFailed."""
    options = ParseOptions(flags, cc, given=given or {})
    request = parser_request(str(path), path.read_bytes(), options)
    return understood(parse(request), request, options)


def drawn(nest: LoopNest, rng: random.Random) -> Schedule:
    """A random legal schedule that has code, with threads and vectors wherever they may be; () where none was found."""
    try:
        return drawn_for(Replayer(nest), rng)
    except (SchedulerError, QuotaExceeded):
        return ()


def drawn_for(replayer: Replayer, rng: random.Random) -> Schedule:
    """`drawn` for a nest that has its replayer."""
    try:
        steps: Schedule = ()
        for _ in range(_TRIES):
            grown = random_schedule(replayer.nest, rng, rng.randint(0, 3), replayer.tree(()), refused=0.0)
            if isinstance(replayer.replay(grown), ScheduledNest):
                steps = grown
                break
        for loop in tree_loops(replayer.tree(steps)):
            marks = (Parallelize(loop.name, rng.randint(0, 1), rng.randint(0, 3)), Vectorize(loop.name))
            marked = (*steps, marks[rng.random() < 0.2])
            if rng.random() < 0.7 and isinstance(replayer.replay(marked), ScheduledNest):
                steps = marked
        return steps if has_code(replayer, steps) else ()
    except (SchedulerError, QuotaExceeded):
        return ()


def for_values(
    path: Path, cc: str, source: SourceFile, rng: random.Random, flags: tuple[str, ...] = FLAGS
) -> SourceFile:
    """The file with half of the nests that are not affine read for random small values of integers in them."""
    given = {
        nest.span.begin: {text: rng.choice(_VALUES) for text in rng.sample(texts, rng.randint(1, min(2, len(texts))))}
        for nest in source.nests
        if (texts := source.fixable.get(nest.name)) and nest.span is not None and rng.random() < 0.5
    }
    again = read(path, cc, given, flags) if given else source
    nests = {nest.span: nest for nest in again.nests if nest.span is not None and nest.span.begin in given}
    others = {nest.name: (again, nests[nest.span]) for nest in source.nests if nest.span in nests}
    return with_nests(source, others)


def has_code(replayer: Replayer, steps: Schedule) -> bool:
    """Whether there is code for a legal schedule."""
    verdict = replayer.replay(steps)
    try:
        if isinstance(verdict, ScheduledNest):
            emit(verdict, replayer.of(steps).model)
    except CodegenUnsupported:
        return False
    return isinstance(verdict, ScheduledNest)


class Checker:
    """The programs of one process."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self.campaign = campaign
        self.folder = folder
        self.tally = Tally()

    def check(self, form: str, number: int) -> None:
        """Writes, tunes and runs one program; what is wrong with it goes to the tally."""
        name = f"{self.campaign.seed}-{form}-{number}"
        seed = random.Random(f"forms {name}").randrange(1 << 31)
        path, written = self.folder / "program.c", self.folder / "written.c"
        path.write_text(FORMS[form](seed))
        written.unlink(missing_ok=True)
        try:
            own = random.Random(f"flags {name}").choice(FLAG_SETS) if self.campaign.under_flags else ()
            problem = self._problem(form, path, written, random.Random(f"schedules {name}"), own)
        except (Exception, RecursionError):
            problem = "internal error", traceback.format_exc()
        if problem is None:
            return
        self.tally.faults.append(Fault(form, number, *problem))
        if self.campaign.keep is not None:
            self.campaign.keep.mkdir(parents=True, exist_ok=True)
            for kept in filter(Path.exists, (path, written)):
                (self.campaign.keep / f"{name}-{kept.name}").write_bytes(kept.read_bytes())

    def _problem(
        self, form: str, path: Path, written: Path, rng: random.Random, own: tuple[str, ...]
    ) -> tuple[Kind, str] | None:
        counts, cc = self.tally.of(form), self.campaign.cc
        counts["programs"] += 1
        try:
            expected = output(cc, path, *SANITIZED)
        except Broken as broken:
            if broken.compiles:  # its own subscripts may leave its arrays: nothing is said of it then
                counts["undefined"] += 1
                return None
            return "program at fault", broken.said
        flags = (*FLAGS, *own)
        source = read(path, cc, flags=flags)
        counts["refused"] += len(source.rejections)
        failed = [r.reason for r in source.rejections if "analysis of the loop failed" in r.reason]
        if failed:
            return "internal error", failed[0]
        read_so = source
        source = for_values(path, cc, source, rng, flags)
        counts["for values"] += sum(a is not b for a, b in zip(source.nests, read_so.nests, strict=True))
        before, after = CompilerConfig(cc, flags), CompilerConfig(cc, (*flags, "-fopenmp"))
        surveyed = survey(source, before, after, self.folder / "survey")
        rewrites = []
        for nest in source.nests:
            if parse_nest(format_nest(nest)) != without_spans(nest):
                return "internal error", f"read as another nest: {format_nest(nest)}"
            counts["nests"] += 1
            if not isinstance(surveyed.tests[nest.name], AssumptionTests):
                counts["untestable"] += 1
                continue
            rewrite = Rewrite(nest, drawn(nest, rng), 1.0)
            try:
                rewrite_source(source, [rewrite], _VECTOR_BYTES, surveyed)
            except (SchedulerError, QuotaExceeded):
                counts["without code"] += 1
                continue
            rewrites.append(rewrite)
        content = rewrite_source(source, rewrites, _VECTOR_BYTES, surveyed)
        written.write_bytes(content)
        counts["rewritten"] += len(rewrites)
        counts["reordered"] += sum(bool(r.schedule) for r in rewrites)
        counts["parallel loops"] += content.count(b"#pragma omp parallel")
        way = (*rng.choice(WAYS), *own)
        schedules = "\n".join(f"{r.nest.name}: {format_schedule(r.schedule)}" for r in rewrites)
        try:
            found = output(cc, written, *way)
        except Broken as broken:
            kind: Kind = "wrong output" if broken.compiles else "written file does not compile"
            return kind, f"{' '.join(way)}\n{schedules}\n{broken.said}"
        if found != expected and (says := _says(cc, path, way)) != expected:
            counts["compiled otherwise"] += 1  # the program itself says something else with these flags
            if own and says != found and not _COMPILERS_FREEDOM & {*own}:
                return "wrong output", f"{' '.join(way)}\n{schedules}\nexpected {says}\nfound    {found}"
        elif found != expected:
            return "wrong output", f"{' '.join(way)}\n{schedules}\nexpected {expected}\nfound    {found}"
        return None
