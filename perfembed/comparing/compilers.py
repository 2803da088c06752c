"""What the original program is built with, and whether that really works here."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import UsageError
from profilers.build import CompilerConfig, compiler_path, compiler_version
from profilers.contained.child import Finished, Limits
from profilers.contained.errors import ProfilersError
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


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,30}")
_BLANK = re.compile(r"\{(\w+)\}")
_BLANKS = ("source", "output", "output_c", "flags", "threads")


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool and its words, with blanks in braces. `translates`: it writes C, which is then compiled.

    `version` identifies the file that is run.
    """

    name: str
    words: tuple[str, ...]
    translates: bool
    version: str

    def command(self, source: Path, output: Path, flags: Sequence[str], threads: int) -> tuple[str, ...]:
        """The words to run; {flags} as a word of its own becomes as many words as there are flags."""
        values = {
            "source": str(source),
            "output": str(output),
            "output_c": str(output),
            "flags": shlex.join(flags),
            "threads": str(threads),
        }
        found: list[str] = []
        for word in self.words:
            if word == "{flags}":
                found += flags
            else:
                found.append(_BLANK.sub(lambda m: values[m[1]], word))
        return tuple(found)


def parse_peer(text: str, taken: Collection[str], environment: Mapping[str, str]) -> Peer:
    """`NAME=command with {source} and {output}`, split into words as a shell does it. Raises UsageError."""
    name, equals, command = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise UsageError(f"--peer {text!r}: expected NAME='command with {{source}} and {{output}}'")
    if name in taken:
        raise UsageError(f"--peer {name}: there is a column of that name already")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--peer {name}: {str(error).lower()}") from None
    if not words:
        raise UsageError(f"--peer {name}: there is no command")
    blanks = {blank for word in words for blank in _BLANK.findall(word)}
    if unknown := sorted(blanks - set(_BLANKS)):
        expected = ", ".join(f"{{{blank}}}" for blank in _BLANKS)
        raise UsageError(f"--peer {name}: {{{unknown[0]}}} is none of {expected}")
    if "source" not in blanks:
        raise UsageError(f"--peer {name}: {{source}}, the C file, is missing")
    if len(blanks & {"output", "output_c"}) != 1:
        raise UsageError(f"--peer {name}: expected {{output}}, the program, or {{output_c}}, a C file, and not both")
    program = shutil.which(words[0], path=environment.get("PATH", os.defpath))
    if program is None:
        raise UsageError(f"--peer {name}: there is no program {words[0]!r}")
    program = os.path.abspath(program)
    return Peer(name, (program, *words[1:]), "output_c" in blanks, _version(program))


def _version(program: str) -> str:
    try:
        return f"sha256 {hashlib.sha256(Path(program).read_bytes()).hexdigest()[:16]}"
    except OSError:  # it may be run, but not read
        return ""
