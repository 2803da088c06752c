"""The user's program as a thing to build and run: where it is compiled, how it is started, how it fails to build."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf

from perfembed.capture.stage import Stage
from perfembed.world import Ran, World
from profilers.build import CompilerConfig, compiler_path
from profilers.child import Finished, Limits
from profilers.run import DEFAULT_ENVIRONMENT, run_contained

COMPILE_LIMITS = Limits(wall_s=180.0, memory_bytes=8 << 30, output_bytes=1 << 16)
_ABI_FLAGS = ("-m32", "-mx32", "-m64", "--target", "-target", "--sysroot", "-B", "-mabi", "-fPI", "-fpi", "-fno-pi")
_ABI_WITH_VALUE = ("--sysroot", "--target", "-target", "-B")
_MESSAGE_LINES, _MESSAGE_CHARS = 12, 2000
_OPENMP = re.compile(rb"undefined (?:reference to|symbol:) [`']?((?:omp|GOMP|__kmpc)_\w+)")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ProgramBuild:
    """How the user's program is built. The compiler runs in `directory`; `#include "..."` means the source's folder."""

    compiler: CompilerConfig
    directory: Path
    environment: Mapping[str, str] = field(default_factory=lambda: DEFAULT_ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """How it is built, and where and with which environment it is run."""

    build: ProgramBuild
    stage: Stage
    environment: Mapping[str, str] = field(default_factory=lambda: DEFAULT_ENVIRONMENT)

    @property
    def world(self) -> World:
        return self.stage.world


@dataclass(frozen=True, slots=True)
class ProgramFailed:
    """The program could not be built or did not run to a good end; `reason` is for the user."""

    stage: OneOf["build", "run"]
    reason: str
    stdout: bytes = b""
    stderr: bytes = b""
    unmeasured: bool = False  # it ran well, but left nothing behind
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What is added to the user's program: a C file of ours, the tables it includes, linker flags."""

    name: str
    template: Path
    header: Path
    tables: str
    flags: tuple[str, ...] = ()  # of the user's file
    link: tuple[str, ...] = ()


def build_plain(content: bytes, path: Path, build: ProgramBuild, workdir: Path) -> Path | ProgramFailed:
    """Compiles the user's program as it is. Raises CompilerMissing."""
    workdir = workdir.absolute() / "plain"
    workdir.mkdir(parents=True, exist_ok=True)
    return _compile(content, path, build, workdir, (), (), ())


def build_program(
    content: bytes, path: Path, build: ProgramBuild, runtime: Runtime, workdir: Path
) -> Path | ProgramFailed:
    """Compiles the instrumented text with the user's flags and our runtime. Raises CompilerMissing."""
    workdir = workdir.absolute() / runtime.name
    workdir.mkdir(parents=True, exist_ok=True)
    environment = {**build.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
    cc = compiler_path(build.compiler.cc, environment)
    support = workdir / "runtime.o"
    (workdir / "perfembed_tables.h").write_text(runtime.tables, encoding="ascii")
    flags = build.compiler.flags
    ours = (cc, *_abi(flags), "-O2", "-std=gnu11", f"-I{workdir}", "-c", str(runtime.template), "-o", str(support))
    finished = run_contained(ours, limits=COMPILE_LIMITS, env=environment, cwd=workdir)
    if not finished.ok:
        return ProgramFailed("build", f"{build.compiler.cc} cannot compile the measuring code: {_said(finished)}")
    before = (*runtime.flags, "-include", str(runtime.header))
    return _compile(content, path, build, workdir, before, (str(support),), runtime.link)


def _compile(
    content: bytes,
    path: Path,
    build: ProgramBuild,
    workdir: Path,
    before: tuple[str, ...],
    objects: tuple[str, ...],
    link: tuple[str, ...],
) -> Path | ProgramFailed:
    environment = {**build.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
    source, executable = workdir / f"{path.stem}.c", workdir / path.stem
    source.write_bytes(f"#line 1 {c_string(os.fspath(path))}\n".encode() + content.removeprefix(BOM))
    theirs = (
        *(compiler_path(build.compiler.cc, environment), *build.compiler.flags, "-w"),
        *("-iquote", str(path.absolute().parent), *before),
        *("-x", "none", str(source), *objects, "-o", str(executable), *build.compiler.libs, *link),
    )
    finished = run_contained(theirs, limits=COMPILE_LIMITS, env=environment, cwd=build.directory)
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


def run_program(executable: Path, program: ProgramRun, writes: tuple[Path, ...] = ()) -> Ran:
    """One contained run of what was built; `writes`: folders that code of ours in it writes to.

    Raises UsageError (`Stage.run`), NotExecutable and ContainmentError.
    """
    return program.stage.run((str(executable), *program.world.arguments), program.environment, writes)


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
