"""The user's program as a thing to build and run: where it is compiled, how it is started, how it fails."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf
from typing import Protocol

from profilers.build import CompilerConfig, compiler_path
from profilers.child import Finished, Limits
from profilers.run import DEFAULT_ENVIRONMENT, describe_signal, run_contained

COMPILE_LIMITS = Limits(wall_s=180.0, memory_bytes=8 << 30, output_bytes=1 << 16)
PROGRAM_LIMITS = Limits(wall_s=600.0, memory_bytes=64 << 30, output_bytes=64 << 20)
_ABI_FLAGS = ("-m32", "-mx32", "-m64", "--target", "-target", "--sysroot", "-B", "-mabi", "-fPI", "-fpi", "-fno-pi")
_ABI_WITH_VALUE = ("--sysroot", "--target", "-target", "-B")
_MESSAGE_LINES, _MESSAGE_CHARS = 12, 2000
_OPENMP = re.compile(rb"undefined (?:reference to|symbol:) [`']?((?:omp|GOMP|__kmpc)_\w+)")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """How the user's program is built and started.

    The compiler and the program both run in `directory`; relative paths in flags and arguments mean that
    folder, `#include "..."` means the folder of the source file.
    """

    compiler: CompilerConfig
    directory: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: DEFAULT_ENVIRONMENT)
    limits: Limits = PROGRAM_LIMITS
    stdin: bytes | None = None


@dataclass(frozen=True, slots=True)
class ProgramFailed:
    """The program could not be built or did not run to a good end; `reason` is for the user."""

    stage: OneOf["build", "run"]
    reason: str
    stdout: bytes = b""
    stderr: bytes = b""
    unmeasured: bool = False  # it ran well, but left nothing behind


@dataclass(frozen=True, slots=True)
class Runtime:
    """What is added to the user's program: a C file of ours, the tables it includes, linker flags."""

    name: str
    template: Path
    header: Path
    tables: str
    flags: tuple[str, ...] = ()  # of the user's file
    link: tuple[str, ...] = ()


def build_plain(content: bytes, path: Path, program: ProgramRun, workdir: Path) -> Path | ProgramFailed:
    """Compiles the user's program as it is. Raises CompilerMissing."""
    workdir = workdir.absolute() / "plain"
    workdir.mkdir(parents=True, exist_ok=True)
    return _compile(content, path, program, workdir, (), (), ())


def build_program(
    content: bytes, path: Path, program: ProgramRun, runtime: Runtime, workdir: Path
) -> Path | ProgramFailed:
    """Compiles the instrumented text with the user's flags and our runtime. Raises CompilerMissing."""
    workdir = workdir.absolute() / runtime.name
    workdir.mkdir(parents=True, exist_ok=True)
    environment = {**program.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
    cc = compiler_path(program.compiler.cc, environment)
    support = workdir / "runtime.o"
    (workdir / "perfembed_tables.h").write_text(runtime.tables, encoding="ascii")
    flags = program.compiler.flags
    ours = (cc, *_abi(flags), "-O2", "-std=gnu11", f"-I{workdir}", "-c", str(runtime.template), "-o", str(support))
    finished = run_contained(ours, limits=COMPILE_LIMITS, env=environment, cwd=workdir)
    if not finished.ok:
        return ProgramFailed("build", f"{program.compiler.cc} cannot compile the measuring code: {_said(finished)}")
    before = (*runtime.flags, "-include", str(runtime.header))
    return _compile(content, path, program, workdir, before, (str(support),), runtime.link)


def _compile(
    content: bytes,
    path: Path,
    program: ProgramRun,
    workdir: Path,
    before: tuple[str, ...],
    objects: tuple[str, ...],
    link: tuple[str, ...],
) -> Path | ProgramFailed:
    environment = {**program.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
    source, executable = workdir / f"{path.stem}.c", workdir / path.stem
    source.write_bytes(f"#line 1 {c_string(os.fspath(path))}\n".encode() + content.removeprefix(BOM))
    theirs = (
        *(compiler_path(program.compiler.cc, environment), *program.compiler.flags, "-w"),
        *("-iquote", str(path.absolute().parent), *before),
        *("-x", "none", str(source), *objects, "-o", str(executable), *program.compiler.libs, *link),
    )
    finished = run_contained(theirs, limits=COMPILE_LIMITS, env=environment, cwd=program.directory)
    if finished.timed_out:
        return ProgramFailed("build", f"the compiler did not finish within {COMPILE_LIMITS.wall_s:g} s")
    if not finished.ok:
        if b"undefined reference to `main'" in finished.stderr or b"undefined symbol: main" in finished.stderr:
            return ProgramFailed("build", "the file has no main, so there is no program to run")
        called = _OPENMP.search(finished.stderr)
        if called is not None:
            reason = (
                f"the program calls {called[1].decode()}, so it has to be compiled with OpenMP: --cflags '… -fopenmp'"
            )
            return ProgramFailed("build", reason, finished.stdout, finished.stderr)
        return ProgramFailed("build", _said(finished), finished.stdout, finished.stderr)
    return executable


def run_program(executable: Path, program: ProgramRun) -> Finished:
    """One contained run of the built program. Raises NotExecutable and ContainmentError."""
    return run_contained(
        (str(executable), *program.arguments),
        limits=program.limits,
        env=program.environment,
        cwd=program.directory,
        stdin_bytes=program.stdin,
    )


def run_failure(finished: Finished, limits: Limits) -> str | None:
    """Why a run does not count, in the user's words; None where it ended with exit code 0."""
    if finished.ok:
        return None
    if finished.timed_out:
        what = f"{limits.wall_s:g} s" if finished.limit == "wall" else "its CPU time"
        reason = f"the program did not end within {what}"
    elif finished.limit == "memory":
        reason = f"the program needed more than {limits.memory_bytes / 2**30:g} GiB of memory"
    elif finished.limit is not None:
        reason = f"the program was stopped ({finished.limit})"
    elif finished.signal is not None:
        reason = f"the program crashed ({describe_signal(finished.signal)})"
    else:
        reason = f"the program ended with exit code {finished.returncode}; a run that ends with 0 is needed"
    last = finished.stderr.decode(errors="replace").strip().splitlines()[-3:]
    return f"{reason}: {' / '.join(last)[:500]}" if last else reason


class Said(Protocol):
    """What a run of the program printed."""

    @property
    def stdout(self) -> bytes: ...

    @property
    def stderr(self) -> bytes: ...


def difference(first: Said, other: Said, again: Said | None = None) -> str:
    """The first line that differs; `again` is another run of the first, and lines it changes are left out."""
    for what in ("stdout", "stderr"):
        a, b = getattr(first, what), getattr(other, what)
        if a == b:
            continue
        before, after = a.split(b"\n"), b.split(b"\n")
        repeated = before if again is None else getattr(again, what).split(b"\n")
        if len(repeated) != len(before):
            continue
        for number, (x, y, z) in enumerate(zip(before, after, repeated, strict=False), 1):
            if x != y and x == z:
                return f"{what} line {number}: {x[:80]!r} became {y[:80]!r}"
        if len(before) != len(after):
            return f"{what} has {len(a)} bytes, then {len(b)}"
    return ""


def c_string(text: str) -> str:
    """A C string literal with these bytes."""
    encoded = os.fsencode(text)
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in encoded) + '"'


def _abi(flags: Sequence[str]) -> tuple[str, ...]:
    """Of the user's flags those our object must share with theirs."""
    kept: list[str] = []
    for position, flag in enumerate(flags):
        if flag.startswith(_ABI_FLAGS):
            kept.append(flag)
            if flag in _ABI_WITH_VALUE:
                kept += flags[position + 1 : position + 2]
    return tuple(kept)


def _said(finished: Finished) -> str:
    text = (finished.stderr or finished.stdout).decode(errors="replace")
    text = "\n".join(text.splitlines()[:_MESSAGE_LINES])[:_MESSAGE_CHARS]
    return text or f"the compiler ended with code {finished.returncode} and no message"
