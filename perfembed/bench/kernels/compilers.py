"""What the original program is built with, and whether that really works here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profilers.build import CompilerConfig, compiler_path, compiler_version
from profilers.errors import ProfilersError
from profilers.openmp import openmp_problem
from profilers.run import Finished, Limits, run_contained

FLAGS = ("-O3", "-march=native")
_POLLY = ("-mllvm", "-polly", "-mllvm", "-polly-parallel")
_STRIPMINE = ("-mllvm", "-polly-vectorizer=stripmine")
GCC, CLANG, POLLY, STRIPMINE, OURS = "gcc", "clang", "polly", "polly-stripmine", "ours"
NAMES = (GCC, CLANG, POLLY, STRIPMINE, OURS)
_COMPILE_LIMITS = Limits(wall_s=300.0, memory_bytes=8 << 30, output_bytes=1 << 16)
_TRIAL = """
double a[64][64], b[64][64], c[64][64];
int main(void) {
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++)
            for (int k = 0; k < 64; k++) c[i][j] += a[i][k] * b[k][j];
    return (int)c[1][1];
}
"""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to build the program. `version` is the compiler's; `missing` says why it cannot be used here."""

    name: str
    compiler: CompilerConfig
    version: str = ""
    missing: str = ""


def configurations(
    only: Sequence[str], cc: str, clang: str | None, environment: Mapping[str, str], workdir: Path
) -> tuple[Configuration, ...]:
    """Those of `only`, gcc always among them, each tried by building and running a small program.

    `cc` builds the original and ours; `clang` None takes the newest clang on the search path.
    """
    clang = clang or newest_clang(environment) or "clang"
    known = {
        GCC: CompilerConfig(cc, FLAGS),
        CLANG: CompilerConfig(clang, FLAGS),
        POLLY: CompilerConfig(clang, (*FLAGS, *_POLLY), ("-lm", "-lgomp")),
        STRIPMINE: CompilerConfig(clang, (*FLAGS, *_POLLY, *_STRIPMINE), ("-lm", "-lgomp")),
        OURS: CompilerConfig(cc, (*FLAGS, "-fopenmp")),
    }
    wanted = [name for name in NAMES if name in only or name == GCC]
    return tuple(_tried(Configuration(name, known[name]), environment, workdir) for name in wanted)


def newest_clang(environment: Mapping[str, str]) -> str | None:
    """The clang-NN with the highest number on the search path, else clang."""
    return next(iter(_clangs(environment)), None)


def newest_parallel_clang(environment: Mapping[str, str]) -> str | None:
    """The first of them that makes OpenMP programs, which takes a library of its own."""
    return next((cc for cc in _clangs(environment) if not openmp_problem(cc, (), environment)), None)


def _clangs(environment: Mapping[str, str]) -> list[str]:
    """Newest first, clang without a number last."""
    found: dict[int, str] = {}
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if match := re.fullmatch(r"clang(?:-(\d+))?", name):
                found[int(match[1] or 0)] = name
    return [found[number] for number in sorted(found, reverse=True)]


def _tried(configuration: Configuration, environment: Mapping[str, str], workdir: Path) -> Configuration:
    """The configuration with its version, or with the reason why it is missing."""
    c = configuration
    source, executable = workdir / "trial.c", workdir / "trial"
    source.write_text(_TRIAL)
    try:
        version = compiler_version(c.compiler.cc, environment)
        built = build(c.compiler, source, executable, environment, ())
        if not built.ok:
            return Configuration(c.name, c.compiler, version, said(built))
        ran = run_contained((str(executable),), limits=Limits(), env=environment, cwd=workdir)
    except ProfilersError as problem:
        return Configuration(c.name, c.compiler, "", str(problem))
    return Configuration(c.name, c.compiler, version, "" if ran.ok else "what it builds does not run")


def build(
    compiler: CompilerConfig, source: Path, executable: Path, environment: Mapping[str, str], extra: Sequence[str]
) -> Finished:
    """Compiles and links one file; `extra` are further flags."""
    env = {**environment, "LC_ALL": "C", "TMPDIR": str(executable.parent)}
    command = (compiler_path(compiler.cc, env), *compiler.flags, *extra, "-w", str(source), "-o", str(executable))
    return run_contained((*command, *compiler.libs), limits=_COMPILE_LIMITS, env=env, cwd=executable.parent)


def said(finished: Finished) -> str:
    """The first line of a failed compiler's message."""
    if finished.timed_out:
        return "the compiler did not finish in time"
    lines = [x for x in finished.stderr.decode(errors="replace").splitlines() if x.strip()]
    errors = [x for x in lines if "error" in x or "undefined" in x or "cannot" in x]
    return (errors or lines or ["it failed without a message"])[0][:300]
