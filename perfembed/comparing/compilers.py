"""What the original program is built with, and whether that really works here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.comparing.peers import Peer
from profilers.build import CompilerConfig, compiler_path, compiler_version
from profilers.child import Finished, Limits
from profilers.errors import ProfilersError
from profilers.run import run_contained

FLAGS = ("-O3", "-march=native")
_GRAPHITE = ("-floop-nest-optimize", "-floop-parallelize-all")
_POLLY = ("-mllvm", "-polly", "-mllvm", "-polly-parallel")
_STRIPMINE = ("-mllvm", "-polly-vectorizer=stripmine")
GCC, GRAPHITE, CLANG, POLLY, STRIPMINE, OURS = "gcc", "graphite", "clang", "polly", "polly-stripmine", "ours"
THEIRS = "theirs"  # what another checkout makes of it
NAMES = (GCC, GRAPHITE, CLANG, POLLY, STRIPMINE, OURS)
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
    """A way to build the program. `version` is the compiler's; `missing` says why it cannot be used here.

    Where there is a `peer`, it is the peer that builds, with the flags of `compiler`, which compiles C that it writes.
    """

    name: str
    compiler: CompilerConfig
    version: str = ""
    missing: str = ""
    peer: Peer | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What there is to choose from. `clang` None takes the newest on the search path; `cc` builds the original."""

    cc: str = "gcc"
    clang: str | None = None
    flags: tuple[str, ...] = FLAGS
    threads: int = 1
    peers: tuple[Peer, ...] = ()


def configurations(
    only: Sequence[str], tools: Toolbox, environment: Mapping[str, str], workdir: Path
) -> tuple[Configuration, ...]:
    """Those of `only`, gcc always among them, each tried by building and running a small program; and all peers."""
    clang, flags = tools.clang or newest_clang(environment) or "clang", tools.flags
    parallel = ("-lm", "-lgomp")
    known = {
        GCC: CompilerConfig(tools.cc, flags),
        GRAPHITE: CompilerConfig(tools.cc, (*flags, *_GRAPHITE, f"-ftree-parallelize-loops={tools.threads}")),
        CLANG: CompilerConfig(clang, flags),
        POLLY: CompilerConfig(clang, (*flags, *_POLLY), parallel),
        STRIPMINE: CompilerConfig(clang, (*flags, *_POLLY, *_STRIPMINE), parallel),
        OURS: CompilerConfig(tools.cc, (*flags, "-fopenmp")),
    }
    wanted = [name for name in NAMES if name in only or name == GCC]
    tried = [_tried(Configuration(name, known[name]), environment, workdir) for name in wanted]
    peers = [Configuration(p.name, known[GCC], p.version, "", p) for p in tools.peers]
    before = [c for c in tried if c.name != OURS]
    return (*before, *peers, *tried[len(before) :])


def newest_clang(environment: Mapping[str, str]) -> str | None:
    """The clang-NN with the highest number on the search path, else clang."""
    found: dict[int, str] = {}
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if match := re.fullmatch(r"clang(?:-(\d+))?", name):
                found[int(match[1] or 0)] = name
    return found[max(found)] if found else None


def _tried(c: Configuration, environment: Mapping[str, str], workdir: Path) -> Configuration:
    """The configuration with its version, or with the reason why it is missing."""
    source, executable = workdir / "trial.c", workdir / "trial"
    source.write_text(_TRIAL)
    try:
        version = compiler_version(c.compiler.cc, environment)
        if failure := build(c, source, executable, environment, ()):
            return Configuration(c.name, c.compiler, version, failure)
        ran = run_contained((str(executable),), limits=Limits(), env=environment, cwd=workdir)
    except ProfilersError as problem:
        return Configuration(c.name, c.compiler, "", str(problem))
    return Configuration(c.name, c.compiler, version, "" if ran.ok else "what it builds does not run")


def build(
    c: Configuration,
    source: Path,
    executable: Path,
    environment: Mapping[str, str],
    extra: Sequence[str],
    threads: int = 1,
) -> str:
    """Builds a program of one file, in the current folder; `extra` are further flags. Why it failed, or nothing."""
    env = {**environment, "LC_ALL": "C", "TMPDIR": str(executable.parent)}
    if c.peer is not None:
        written = executable.with_suffix(".peer.c") if c.peer.translates else executable
        if failure := _run(c.peer.command(source, written, (*c.compiler.flags, *extra), threads), env):
            return failure
        if not written.is_file():
            return f"it wrote no {'C file' if c.peer.translates else 'program'}"
        if not c.peer.translates:
            return "" if os.access(written, os.X_OK) else "what it wrote is no program"
        source, extra = written, (*extra, "-fopenmp")
    command = (compiler_path(c.compiler.cc, env), *c.compiler.flags, *extra, "-w", str(source), "-o", str(executable))
    return _run((*command, *c.compiler.libs), env)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    try:
        finished = run_contained(tuple(command), limits=_COMPILE_LIMITS, env=environment, cwd=Path.cwd())
    except ProfilersError as problem:
        return str(problem)
    return "" if finished.ok else said(finished)


def said(finished: Finished) -> str:
    """The first line of a failed compiler's message."""
    if finished.timed_out:
        return "the compiler did not finish in time"
    lines = [x for x in finished.stderr.decode(errors="replace").splitlines() if x.strip()]
    errors = [x for x in lines if "error" in x or "undefined" in x or "cannot" in x]
    return (errors or lines or ["it failed without a message"])[0][:300]
