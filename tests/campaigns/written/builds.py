"""Compiles and runs the two files of a program, contained."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from profilers.build import compiler_path
from profilers.contained.child import Finished, Limits
from profilers.contained.errors import CompilerMissing
from profilers.run import run_contained
from tests.campaigns.written.model import ALWAYS, Way

_COMPILE = Limits(wall_s=240.0, memory_bytes=8 << 30, output_bytes=1 << 16, stack_bytes=64 << 20)
RUN_S = 60.0
_SETTINGS = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}
_TOOL = "OMP_TOOL_LIBRARIES"
_TRIAL = b"""#include <stdio.h>
#include <math.h>
static int found[64];
int main(int argc, char **argv)
{
    int k;
    (void)argv;
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (k = 0; k < 64; k++)
        found[k] = k * argc;
    printf("%d\\n", (int)sqrt((double)found[49]));
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Binary:
    """`command`: as for a shell; `executable` None where the compiler refused."""

    command: str
    executable: Path | None
    finished: Finished


@dataclass(slots=True)
class Builder:
    """The programs under `folder`, one folder for each file; a text is compiled once in the same way."""

    folder: Path
    environment: Mapping[str, str]
    built: dict[tuple[object, ...], Binary] = field(default_factory=dict)
    libraries: dict[tuple[str, str], str] = field(default_factory=dict)

    def put(self, which: str, name: str, content: bytes) -> None:
        """Writes a file into the folder of the original or of the written file."""
        place = self.folder / which
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)

    def build(self, which: str, main: str, way: Way, defines: tuple[str, ...], include: Path) -> Binary:
        """Compiles `main` of a folder. Raises CompilerMissing."""
        flags = (*way.flags, *ALWAYS, *defines, *(() if "-Wall" in way.flags else ("-w",)))
        if way.header:
            self.put(which, header_name(way), way.header.encode())
            flags = (*flags, "-include", header_name(way))
        key = (which, main, way.compiler, flags, way.libs, way.drive == "compile")
        if key not in self.built:
            self.built[key] = self._compile(which, main, way, flags, include, f"{len(self.built)}.out")
        return self.built[key]

    def _compile(self, which: str, main: str, way: Way, flags: tuple[str, ...], include: Path, name: str) -> Binary:
        linked = ("-c",) if way.drive == "compile" else ()
        tail = (*linked, main, "-o", name, *(() if linked else way.libs))
        command = (way.compiler, *flags, "-iquote", str(include), *tail)
        argv = (compiler_path(way.compiler, self.environment), *command[1:])
        place = self.folder / which
        environment = {**self.environment, "LC_ALL": "C", "TMPDIR": str(place)}
        finished = run_contained(argv, limits=_COMPILE, env=environment, cwd=place)
        executable = place / name if finished.ok and (place / name).exists() else None
        return Binary(shlex.join(command), executable, finished)

    def run(self, binary: Binary, way: Way, wall_s: float = RUN_S, extra: tuple[tuple[str, str], ...] = ()) -> Finished:
        """`extra`: variables for the program alone, such as LD_PRELOAD."""
        assert binary.executable is not None
        sanitized = any(flag.startswith("-fsanitize") for flag in way.flags)
        limits = Limits(
            wall_s=wall_s,
            memory_bytes=0 if sanitized else 4 << 30,
            processes=0,
            output_bytes=4 << 20,
            stack_bytes=way.stack_bytes,
        )
        environment = {**self.environment, **_SETTINGS, **dict(way.environment)}
        if tool := environment.get(_TOOL):
            environment[_TOOL] = self._library(way.compiler, tool)
        before = ("env", *(f"{name}={value}" for name, value in extra)) if extra else ()
        return run_contained((*before, str(binary.executable)), limits=limits, env=environment, cwd=self.folder)

    def _library(self, compiler: str, name: str) -> str:
        """Where a library of the compiler's is; its name where there is none."""
        if (compiler, name) not in self.libraries:
            argv = (compiler_path(compiler, self.environment), f"-print-file-name={name}")
            said = run_contained(argv, limits=Limits(), env=self.environment, cwd=self.folder).stdout.decode().strip()
            self.libraries[compiler, name] = said or name
        return self.libraries[compiler, name]

    def missing(self, way: Way) -> str:
        """What is not here for this way; empty where it can be gone."""
        try:
            compiler_path(way.compiler, self.environment)
        except CompilerMissing:
            return f"no {way.compiler}"
        self.put("trial", "trial.c", _TRIAL)
        binary = self.build("trial", "trial.c", way, (), self.folder)
        if binary.executable is None:
            said = binary.finished.stderr.decode(errors="replace").strip().splitlines()
            return f"{shlex.join((way.compiler, *way.flags))}: {said[-1] if said else 'fails'}"
        if way.drive == "compile":
            return ""
        finished = self.run(binary, way)
        return "" if finished.ok and finished.stdout == b"7\n" else f"what {way.compiler} makes does not run here"


def header_name(way: Way) -> str:
    return f"{way.name}.h"


def shown_command(way: Way, binary: Binary) -> str:
    """How to run it again."""
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in way.environment)
    limit = f"ulimit -s {way.stack_bytes >> 10}; " if way.stack_bytes != 8 << 20 else ""
    name = os.path.basename(binary.executable) if binary.executable is not None else "a.out"
    return f"{limit}{settings} ./{name}"
