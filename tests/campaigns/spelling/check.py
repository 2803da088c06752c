"""Reads, watches and writes a respelled program, and compares what it prints."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import perfembed.capture
from perfembed.building.compiling import one_file
from perfembed.capture import ProgramFailed, World, profile_program
from perfembed.capture.instrument import wrap
from perfembed.capture.profile import timed_place
from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import SchedulerError
from scheduler.frontend import ParseFailed, ParseOptions, ParserDied, SourceFile, read_source
from scheduler.frontend.child import parse
from scheduler.frontend.parsing import parser_request, understood
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from tests.campaigns.spelling.model import Campaign, Fault, Kind, Tally
from tests.campaigns.spelling.respell import Respelled, base_number, base_program, drawn_rewrites, respell
from tests.generator import random_schedule

_HEADER = Path(perfembed.capture.__file__).with_name("instrument.h")
_STUB = """typedef long long pe_number;
void perfembed_begin(int index, const pe_number *values) { (void)index; (void)values; }
void perfembed_end(int index) { (void)index; }
void perfembed_leave(const int *index) { perfembed_end(*index); }
"""
_FLAGS = ("-O0", "-DSMALL", "-ffp-contract=off")
_LIMIT_S = 60.0


class _Slow(ParserDied):
    """The parser process would have been stopped."""


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Of this process's CPU time: others run beside it."""

    def stop(number: int, frame: object) -> None:
        raise _Slow(f"the C parser needs more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one respelled program."""

    kind: Kind
    detail: str


class Checker:
    """The programs of one process. Parses in this process unless `apart`: a file may crash the parser."""

    def __init__(self, campaign: Campaign, folder: Path, apart: bool = False) -> None:
        self.campaign = campaign
        self.folder = folder
        self.apart = apart
        self.tally = Tally()
        self.expected: dict[int, tuple[str, str, bytes | None]] = {}
        self.stub = folder / "stub.o"
        (folder / "stub.c").write_text(_STUB)
        subprocess.run([campaign.cc, "-c", str(folder / "stub.c"), "-o", str(self.stub)], check=True)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

    def check(self, index: int) -> None:
        """One file; what fails is reported with as few rewrites as it fails with."""
        campaign, counts = self.campaign, self.tally.counts
        name, text, expected = self._base(base_number(index))
        if expected is None:
            counts["bases that do not run"] += 1
            return
        rewrites = drawn_rewrites(campaign.seed, index)
        found = respell(text, campaign.seed, index, rewrites)
        counts["files"] += 1
        for applied in found.applied:
            counts[f"rewrite {applied.partition('#')[0]}"] += 1
        problem = self._problem(index, found, expected, counted=True)
        if problem is None:
            return
        left = list(found.applied)
        for one in found.applied:
            fewer = [r for r in left if r != one]
            smaller = respell(text, campaign.seed, index, fewer)
            again = self._problem(index, smaller, expected)
            if again is not None and again.kind == problem.kind:
                left, problem, found = fewer, again, smaller
        self.tally.faults.append(Fault(problem.kind, index, name, tuple(left), problem.detail))
        if campaign.keep is not None:
            folder = campaign.keep / f"{campaign.seed}-{index}"
            self._write(folder, found)
            (folder / "why.txt").write_text(f"{problem.kind}\n{' '.join(found.flags)}\n{left}\n{problem.detail}\n")

    def _base(self, number: int) -> tuple[str, str, bytes | None]:
        """Name, text and output of a program; None where it does not run."""
        if number not in self.expected:
            self.expected.clear()
            name, text = base_program(self.campaign.seed, number, self.campaign.bases)
            path = self.folder / "base.c"
            path.write_text(text, encoding="utf-8")
            said = self._run(path, ())
            self.expected[number] = name, text, said if isinstance(said, bytes) else None
        return self.expected[number]

    def _write(self, folder: Path, found: Respelled) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in found.files.items():
            (folder / name).write_bytes(content)
        path = folder / "respelled.c"
        path.write_bytes(found.content)
        return path

    def _run(self, path: Path, flags: tuple[str, ...], content: bytes | None = None) -> bytes | str:
        """What the program prints, or why it does not."""
        program, source = self.folder / "program", path
        if content is not None:
            source = path.with_name("changed.c")
            source.write_bytes(content)
        program.unlink(missing_ok=True)
        command = [self.campaign.cc, "-w", *_FLAGS, *flags, str(source), "-o", str(program), "-lm"]
        try:
            built = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False, cwd=self.folder)
            if built.returncode:
                return "does not compile: " + built.stderr.decode(errors="replace")[:1500]
            done = subprocess.run([program], capture_output=True, timeout=_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return "takes too long"
        return done.stdout if done.returncode == 0 else f"ends with {done.returncode}"

    def _refused(self, path: Path, flags: tuple[str, ...], content: bytes) -> str:
        """What the compiler has against a text; empty where it takes it."""
        source = path.with_name("changed.c")
        source.write_bytes(content)
        command = [self.campaign.cc, "-w", *_FLAGS, *flags, "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False, cwd=self.folder)
        return "does not compile: " + done.stderr.decode(errors="replace")[:1500] if done.returncode else ""

    # ---------------------------------------------------------------------------------- one program

    def _problem(self, index: int, found: Respelled, expected: bytes, counted: bool = False) -> Problem | None:
        path = self._write(self.folder / "file", found)
        try:
            return self._found(index, path, found, expected, counted)
        except KeyboardInterrupt:
            raise
        except Exception:
            return Problem("internal error", traceback.format_exc(limit=-8))

    def _found(self, index: int, path: Path, found: Respelled, expected: bytes, counted: bool) -> Problem | None:
        flags = found.flags
        try:
            source = self._read(path, found.content, flags)
        except (ParseFailed, ParserDied) as error:
            original = self._run(path, flags)
            if original != expected:
                return Problem("rewrite at fault", f"{original!r}")
            return Problem("false refusal", f"{error}")
        internal = [r.reason for r in source.rejections if "analysis of the loop failed" in r.reason]
        if internal:
            return Problem("internal error", internal[0])
        if counted:
            self.tally.counts["nests"] += len(source.nests)
            self.tally.counts["refused"] += len(source.rejections)
            self.tally.counts["files without nests"] += not source.nests
            self.tally.counts["files not understood"] += any(
                "does not understand" in r.reason for r in source.rejections
            )
        marked = wrap(source.content, (timed_place(k, nest) for k, nest in enumerate(source.nests)))
        marked = marked.removeprefix(b"\xef\xbb\xbf")
        around = (*flags, "-include", str(_HEADER))
        compiled = index % self.campaign.every == 0
        said: bytes | str = expected
        if compiled:
            said = self._run(path, (*around, str(self.stub)), marked)
        elif refused := self._refused(path, around, marked):
            said = refused
        if said != expected:
            if (original := self._run(path, flags)) != expected:
                return Problem("rewrite at fault", f"{original!r}")
            if problem := self._watched(path, source, flags, said, counted):
                return problem
        elif counted:
            self.tally.counts["timed nests"] += len(source.nests)
        if counted:
            self.tally.counts["compiled files"] += compiled
        if source.nests and compiled:
            return self._written(index, path, source, flags, expected, counted)
        return None

    def _read(self, path: Path, content: bytes, flags: tuple[str, ...]) -> SourceFile:
        options = ParseOptions((*_FLAGS, *flags), self.campaign.cc)
        if self.apart:
            return read_source(path, options, content)
        request = parser_request(str(path), content, options)
        with _in_time(options.timeout_s):
            return understood(parse(request), request, options)

    def _watched(
        self, path: Path, source: SourceFile, flags: tuple[str, ...], said: bytes | str, counted: bool
    ) -> Problem | None:
        """Where not all nests can be timed, the real thing must leave them alone, and only them."""
        compiler = CompilerConfig(self.campaign.cc, (*_FLAGS, *flags))
        build = one_file(source.path, source.content, compiler, Path.cwd())
        profile = profile_program((source,), build, World(), self.folder / "profile")
        if isinstance(profile, ProgramFailed):
            return Problem("false refusal", f"{profile.reason}\n{said!r}")
        alone = [nest.problem for nest in profile.nests if nest.problem]
        if not alone:
            return Problem("internal error", f"our own calls fail: {said!r}")
        if counted:
            self.tally.counts["nests that cannot be timed"] += len(alone)
            self.tally.counts["timed nests"] += len(profile.nests) - len(alone)
        return None

    def _written(
        self, index: int, path: Path, source: SourceFile, flags: tuple[str, ...], expected: bytes, counted: bool
    ) -> Problem | None:
        read = CompilerConfig(self.campaign.cc, (*_FLAGS, *flags))
        written = CompilerConfig(self.campaign.cc, (*_FLAGS, *flags, "-fopenmp"))
        surveyed = survey(source, read, written, self.folder / "survey")
        rng = random.Random(f"{self.campaign.seed}:{index}:schedules")
        rewrites = []
        for nest in source.nests:
            if not isinstance(surveyed.tests[nest.name], AssumptionTests):
                self.tally.counts["nests that cannot be tested"] += counted
                continue
            rewrites.append(Rewrite(nest, self._schedule(nest, rng), 1.0))
        try:
            content = rewrite_source(source, rewrites, 32, surveyed)
        except (SchedulerError, QuotaExceeded):
            self.tally.counts["files without code"] += counted
            return None
        said = self._run(path, (*flags, "-fopenmp"), content)
        if said == expected:
            self.tally.counts["written nests"] += len(rewrites) * counted
            return None
        if isinstance(said, str) and said.startswith("does not compile"):
            return Problem("written file does not compile", said)
        return Problem("wrong output", f"{expected!r} became {said!r}")

    def _schedule(self, nest: LoopNest, rng: random.Random) -> Schedule:
        """The order as written, or a random one that is legal."""
        if rng.random() < 0.5:
            return ()
        try:
            replayer = Replayer(nest)
            for _ in range(3):
                drawn = random_schedule(replayer.nest, rng, 3, replayer.tree(()), refused=0.0)
                if isinstance(replayer.replay(drawn), ScheduledNest):
                    return drawn
        except (SchedulerError, QuotaExceeded):
            pass
        return ()
