"""The user's program as a thing to build and run: with what of ours in it, where it runs, how it fails to build."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal as OneOf

from perfembed.building.build import Build, Changes, Made, NotBuilt, made
from perfembed.building.compiling import COMPILE_LIMITS, said
from perfembed.capture.stage import Stage
from perfembed.world import Ran, World
from profilers.build import compiler_path
from profilers.contained.child import Limits
from profilers.run import DEFAULT_ENVIRONMENT, run_contained

_ABI_FLAGS = ("-m32", "-mx32", "-m64", "--target", "-target", "--sysroot", "-B", "-mabi", "-fPI", "-fpi", "-fno-pi")
_ABI_WITH_VALUE = ("--sysroot", "--target", "-target", "-B")
_PT_INTERP = 3
_PRELOAD = "LD_PRELOAD"
_PRELOADING = f'{_PRELOAD}="$0" exec "$@"'


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """How it is built, and where and with which environment it is run. `prefix`: a command that starts it."""

    build: Build
    stage: Stage
    environment: Mapping[str, str] = field(default_factory=lambda: DEFAULT_ENVIRONMENT)
    prefix: tuple[str, ...] = ()
    _stages: dict[Path, tuple[Made, Stage]] = field(default_factory=dict, compare=False)

    @property
    def world(self) -> World:
        return self.stage.world

    def staged(self, built: Made) -> tuple[Stage, str]:
        """Where a program runs, and its name there: among what was built with it, where that is where it would run."""
        copy, user = built.folder, self.world.directory
        if copy is None or built.copied is None or user is None or not user.resolve().is_relative_to(built.copied):
            return self.stage, str(built.executable)
        inside = copy / user.resolve().relative_to(built.copied)
        known = self._stages.get(copy)
        if known is None or known[0] != built:
            number = len(self._stages) if known is None else list(self._stages).index(copy)
            stage = Stage(replace(self.world, directory=inside), self.stage.folder / f"built{number}")
            known = self._stages[copy] = built, stage
        if not built.executable.is_relative_to(copy):
            return known[1], str(built.executable)
        return known[1], os.path.join(os.curdir, os.path.relpath(built.executable, inside))


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
    flags: tuple[str, ...] = ()  # of the user's files
    link: tuple[str, ...] = ()


def build_plain(texts: Mapping[str, bytes], program: ProgramRun, workdir: Path) -> Made | ProgramFailed:
    """The user's program as it is; `texts` by path are its files as they were read. Raises CompilerMissing."""
    return _made(program, Changes(texts), workdir.absolute() / "plain")


def build_program(
    texts: Mapping[str, bytes], program: ProgramRun, runtime: Runtime, workdir: Path
) -> Made | ProgramFailed:
    """The program of the instrumented texts, with the user's flags and our runtime. Raises CompilerMissing."""
    workdir = workdir.absolute() / runtime.name
    workdir.mkdir(parents=True, exist_ok=True)
    environment = {**program.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
    compiler = program.build.compiler
    cc = compiler_path(compiler.cc, environment)
    support = workdir / "runtime.o"
    (workdir / "perfembed_tables.h").write_text(runtime.tables, encoding="ascii")
    ours = (cc, *abi_flags(compiler.flags), "-O2", "-std=gnu11", f"-I{workdir}")
    ours += ("-c", str(runtime.template), "-o", str(support))
    finished = run_contained(ours, limits=COMPILE_LIMITS, env=environment, cwd=workdir)
    if not finished.ok:
        return ProgramFailed("build", f"{compiler.cc} cannot compile the measuring code: {said(finished)}")
    before = (*runtime.flags, "-w", "-include", str(runtime.header))
    return _made(program, Changes(texts, before, (support,), runtime.link), workdir)


def _made(program: ProgramRun, changes: Changes, workdir: Path) -> Made | ProgramFailed:
    found = made(program.build, changes, workdir)
    return ProgramFailed("build", found.reason) if isinstance(found, NotBuilt) else found


def run_program(built: Made, program: ProgramRun, writes: tuple[Path, ...] = (), limits: Limits | None = None) -> Ran:
    """One contained run of what was built; `writes`: folders that code of ours in it writes to.

    `limits`: other ones than its world's. Raises UsageError (`Stage.run`), NotExecutable and ContainmentError.
    """
    stage, name = program.staged(built)
    return stage.run((*program.prefix, name, *program.world.arguments), program.environment, writes, limits)


def preloading(program: ProgramRun, folder: Path, source: Path, flags: tuple[str, ...] = ()) -> ProgramRun | None:
    """The program with a library of ours, which is compiled once in `folder`; None where it cannot be preloaded."""
    if _PRELOAD in dict(program.world.variables):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    compiler, library = program.build.compiler, folder.absolute() / f"{source.stem}.so"
    if not library.exists():
        cc = compiler_path(compiler.cc, program.environment)
        command = (cc, *abi_flags(compiler.flags), "-O1", "-w", "-shared", "-fPIC")
        command += (str(source), *flags, "-o", str(library))
        environment = {**program.environment, "LC_ALL": "C", "TMPDIR": str(folder)}
        if not run_contained(command, limits=COMPILE_LIMITS, env=environment, cwd=folder).ok:
            return None
    return replace(program, prefix=("/bin/sh", "-c", _PRELOADING, str(library)))


def looks_at_errno(built: Made) -> bool:
    """Whether a program may: its own code asks the C library where errno is, or nobody knows what it is made of."""
    content = built.executable.read_bytes()
    return not _linked_dynamically(content) or b"__errno_location" in content


def _linked_dynamically(content: bytes) -> bool:
    """An ELF file of 64 bits with a program header PT_INTERP (elf(5)): what it takes from libraries stands in it."""
    if content[:6] != b"\x7fELF\x02\x01":
        return False
    (table,), (size, count) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    return any(struct.unpack_from("<I", content, table + size * at) == (_PT_INTERP,) for at in range(count))


def abi_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Of the user's flags those our object must share with theirs."""
    kept: list[str] = []
    for position, flag in enumerate(flags):
        if flag.startswith(_ABI_FLAGS):
            kept.append(flag)
            if flag in _ABI_WITH_VALUE:
                kept += flags[position + 1 : position + 2]
    return tuple(kept)
