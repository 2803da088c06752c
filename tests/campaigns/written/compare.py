"""Compares the written file of a program with its original, compiled and run in one way."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from profilers.build import compiler_path
from profilers.contained.child import Finished, Limits
from profilers.run import describe_signal, run_contained
from tests.campaigns.written.builds import RUN_S, Binary, Builder, header_name, shown_command
from tests.campaigns.written.drivers import called_driver, region_driver, threads_driver
from tests.campaigns.written.model import Compared, Way
from tests.campaigns.written.sizes import defines
from tests.campaigns.written.subject import Subject

_BOTH = ("original", "written")
_UNFUSED = (("-fno-tree-vectorize",), ("-mno-fma", "-mno-avx512f"))  # ways to do without fused operations of vectors
_FAILING_MALLOC = Path(__file__).with_name("failing_malloc.c")
_MOST_FAILURES = 8  # allocations that are made to fail, of one program
_CHECKED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_RACES = ("-O1", "-g", "-fsanitize=thread")
_CALLED = ("called", "twice", "twice-region", "included")
_LINE = re.compile(r"(\d+): (.*)")


class Comparison:
    """The ways of one program, whose texts lie in a folder. May raise what `run_contained` raises."""

    def __init__(self, subject: Subject, seed: int, builder: Builder) -> None:
        self.subject = subject
        self.seed = seed
        self.builder = builder
        for which, content in zip(_BOTH, (subject.original, subject.written), strict=True):
            builder.put(which, "program.c", content)

    def compare(self, way: Way) -> Compared:
        """What came of it, with what it takes to see it again where the two differ."""
        rng = random.Random(f"{self.seed}:{self.subject.program.name}:{way.sizes}")
        sizes = ("-DSMALL", *defines(self.subject.sizes, way.sizes, rng))
        if way.sizes != "tuned" and len(sizes) == 1:
            return Compared("undefined", "no sizes")
        main = self._main(way)
        if main is None:
            return Compared("undefined", "no function to call")
        binaries = [self.builder.build(which, main, way, sizes, self.subject.directory) for which in _BOTH]
        if way.drive == "memory" and binaries[1].executable is not None:
            found = self._memory(way, binaries)
        else:
            found = self._built(way, binaries)
        if found.verdict != "differ":
            return found
        found = self._unless_undefined(way, main, sizes, found)
        commands = [f"(cd {w} && {b.command} && {shown_command(way, b)})" for w, b in zip(_BOTH, binaries, strict=True)]
        names = dict.fromkeys(("program.c", main, *([header_name(way)] if way.header else [])))
        files = [(f"{w}/{name}", (self.builder.folder / w / name).read_bytes()) for w in _BOTH for name in names]
        return replace(found, commands=tuple(commands), files=tuple(files))

    def _main(self, way: Way) -> str | None:
        """The file that is compiled: the program, or a driver around it."""
        if way.drive in ("main", "compile", "memory"):
            return "program.c"
        name = f"{way.drive}.c"
        for which, content in zip(_BOTH, (self.subject.original, self.subject.written), strict=True):
            text = self._driver(way, content.decode("latin-1"))
            if text is None:
                return None
            self.builder.put(which, name, text.encode("latin-1"))
        return name

    def _driver(self, way: Way, program: str) -> str | None:
        if way.drive == "region":
            return region_driver(program)
        if way.drive == "threads":
            return threads_driver(program)
        rng = random.Random(f"{self.seed}:{self.subject.program.name}:called")
        program = '#include "program.c"' if way.drive == "included" else program
        return called_driver(program, self.subject.functions, rng, way.drive)

    def _built(self, way: Way, binaries: Sequence[Binary]) -> Compared:
        original, written = binaries
        if original.executable is None:
            if original.finished.limit is not None:
                return Compared("undefined", "the original is not compiled in time")
            return Compared("refused alike" if written.executable is None else "differ", "the original is refused")
        if written.executable is None:
            return Compared("differ", f"refused: {_first_line(written.finished)}")
        if way.drive == "compile":
            return Compared("same")
        before = self.builder.run(original, way)
        if before.signal is not None or before.limit is not None or _sanitizer(before):
            return Compared("undefined", _ended(before))
        after = self.builder.run(written, way)
        if after.timed_out and before.wall_s > RUN_S / 20:
            return Compared("undefined", "takes too long")
        if way.drive in _CALLED:
            return self._called(before, after)
        difference = _difference(before, after)
        return Compared("differ", difference) if difference else Compared("same")

    def _called(self, before: Finished, after: Finished) -> Compared:
        """Line by line; a call that ends the original's process is not looked at."""
        wanted, found = (dict(_LINE.findall(f.stdout.decode("latin-1"))) for f in (before, after))
        calls = [k for k, text in wanted.items() if not text.startswith("ended")]
        wrong = [k for k in calls if found.get(k) != wanted[k]]
        if not wrong:
            return Compared("same")
        return Compared("differ", f"call {', '.join(wrong)}: expected {wanted[wrong[0]]}, got {found.get(wrong[0])}")

    def _memory(self, way: Way, binaries: Sequence[Binary]) -> Compared:
        """Each allocation that the original does not make fails, and all of them from the first on."""
        library = self._library()
        if library is None:
            return Compared("not here", "allocations cannot be made to fail with this C library")
        if binaries[0].executable is None:
            return Compared("undefined", "the original is refused")
        logs, runs = [], []
        for which, binary in zip(_BOTH, binaries, strict=True):
            log = self.builder.folder / f"{which}.allocations"
            log.unlink(missing_ok=True)
            runs.append(self.builder.run(binary, way, extra=_preloaded(library, PE_ALLOCATIONS=str(log))))
            logs.append(log.read_text().split() if log.exists() else [])
        if not runs[0].ok:
            return Compared("undefined", _ended(runs[0]))
        if difference := _difference(*runs):
            return Compared("differ", difference)
        ours = added(*logs)
        if not ours:
            return Compared("undefined", "no allocations of ours")
        several = [str(k) for k in _spread(ours, _MOST_FAILURES)]
        several += [f"{ours[0]}+"] if not logs[0] or len(ours) + len(logs[0]) == len(logs[1]) == ours[-1] + 1 else []
        for at in several:
            if at.endswith("+") and set(range(ours[0], len(logs[1]))) != set(ours):
                continue
            failed = self.builder.run(binaries[1], way, extra=_preloaded(library, PE_FAIL_AT=at))
            if difference := _difference(runs[0], failed):
                return Compared("differ", f"allocation {at} of {len(logs[1])} fails: {difference}")
        return Compared("same")

    def _library(self) -> Path | None:
        target = self.builder.folder / "failing_malloc.so"
        if not target.exists():
            compiler = compiler_path("gcc", self.builder.environment)
            argv = (compiler, "-O1", "-shared", "-fPIC", "-w", str(_FAILING_MALLOC), "-o", str(target))
            environment = {**self.builder.environment, "TMPDIR": str(self.builder.folder)}
            run_contained(argv, limits=Limits(), env=environment, cwd=self.builder.folder)
        return target if target.exists() else None

    def _unless_undefined(self, way: Way, main: str, sizes: tuple[str, ...], found: Compared) -> Compared:
        """Undefined where a sanitizer objects to what the original does there."""
        openmp = ("-fopenmp",) if way.drive in ("region", "twice-region") else ()
        bits = tuple(flag for flag in way.flags if flag in ("-m32", "-funsigned-char"))
        checked = replace(way, compiler="gcc", flags=(*_CHECKED, *openmp, *bits), stack_bytes=64 << 20)
        if way.drive == "compile":
            return found
        if self._contracted(way, main, sizes):
            return Compared("undefined", "gcc's vector code of the original rounds otherwise, -ffp-contract=off or not")
        if why := self._undefined(checked, main, sizes, found):
            return Compared("undefined", why)
        if way.drive in ("twice", "twice-region"):
            threads = replace(checked, drive="twice", flags=(*_RACES, *bits))
            if why := self._undefined(threads, self._main(threads) or main, sizes, found):
                return Compared("undefined", why)
        return found

    def _contracted(self, way: Way, main: str, sizes: tuple[str, ...]) -> bool:
        """Whether the two only differ since gcc 12 makes fused operations of vectors where it must not.

        Then they are the same without vectors (which `omp simd` asks for all the same) or without such instructions,
        and one of them is not the same as with them: the original, or a written file that holds some.
        """
        return any(self._differs_by(flags, way, main, sizes) for flags in _UNFUSED) if way.compiler == "gcc" else False

    def _differs_by(self, flags: tuple[str, ...], way: Way, main: str, sizes: tuple[str, ...]) -> bool:
        scalar = replace(way, flags=(*way.flags, *flags))
        built = [self.builder.build(w, main, scalar, sizes, self.subject.directory) for w in _BOTH]
        vector = [self.builder.build(w, main, way, sizes, self.subject.directory) for w in _BOTH]
        if any(b.executable is None for b in (*built, *vector)):
            return False
        first, second, *others = (self.builder.run(b, way) for b in (*built, *vector))
        if _difference(first, second):
            return False
        return bool(_difference(first, others[0])) or self._fused(vector[1])

    def _fused(self, binary: Binary) -> bool:
        """Whether there are fused operations in a program that was compiled without."""
        argv = ("objdump", "-d", str(binary.executable))
        limits = Limits(output_bytes=64 << 20)
        found = run_contained(argv, limits=limits, env=self.builder.environment, cwd=self.builder.folder)
        return found.returncode == 0 and re.search(rb"\bvfn?m(?:add|sub)", found.stdout) is not None

    def _undefined(self, checked: Way, main: str, sizes: tuple[str, ...], found: Compared) -> str:
        """What is wrong with the original, built as `checked`; empty where nothing is seen."""
        if self.builder.missing(replace(checked, drive="main")):
            return ""
        original = self.builder.build("original", main, checked, sizes, self.subject.directory)
        if original.executable is None:
            return ""
        finished = self.builder.run(original, checked)
        if checked.drive in _CALLED:
            wrong = re.findall(r"\d+", found.detail.split(":")[0])
            ended = dict(_LINE.findall(finished.stdout.decode("latin-1")))
            calls = all(ended.get(k, "ended").startswith("ended") for k in wrong)
            return "what the calls do is undefined" if calls else ""
        if b"nan" in finished.stdout.lower():
            return "what is not a number has no certain sign"
        return _ended(finished) if _sanitizer(finished) or finished.signal is not None else ""


def _preloaded(library: Path, **variables: str) -> tuple[tuple[str, str], ...]:
    return (("LD_PRELOAD", str(library)), *variables.items())


def added(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """The numbers of the allocations that only the second program makes."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    kept = {match.b + k for match in matcher.get_matching_blocks() for k in range(match.size)}
    return [k for k in range(len(after)) if k not in kept]


def _spread(numbers: Sequence[int], most: int) -> list[int]:
    """So many of them, the first and the last among them."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[k * (len(numbers) - 1) // (most - 1)] for k in range(most)]


def _difference(before: Finished, after: Finished) -> str:
    """The first difference of what two runs print and of how they end; empty without any."""
    if after.limit is not None or after.signal != before.signal or after.returncode != before.returncode:
        return f"expected {_ended(before)}, got {_ended(after)}"
    if before.stdout == after.stdout:
        return ""
    lines = before.stdout.split(b"\n"), after.stdout.split(b"\n")
    for number, (wanted, found) in enumerate(zip(*lines, strict=False), 1):
        if wanted != found:
            return f"line {number}: expected {_shown(wanted)}, got {_shown(found)}"
    return f"{len(lines[0])} lines expected, got {len(lines[1])}"


def _shown(line: bytes) -> str:
    return repr(line[:120].decode("latin-1"))


def _ended(finished: Finished) -> str:
    if finished.limit is not None:
        return f"over its limit of {finished.limit}"
    if finished.signal is not None:
        return describe_signal(finished.signal)
    said = _first_line(finished)
    return f"exit code {finished.returncode}" + (f" ({said})" if said and finished.returncode else "")


def _first_line(finished: Finished) -> str:
    lines = finished.stderr.decode(errors="replace").splitlines()
    telling = [line for line in lines if "error" in line.lower() or "data race" in line]
    return (telling or [line for line in lines if line.strip()] or [""])[0].strip()[:300]


def _sanitizer(finished: Finished) -> bool:
    return finished.returncode != 0 and (b"Sanitizer" in finished.stderr or b"runtime error" in finished.stderr)
