"""Rewriting a file in a test: its surroundings asked of gcc, and the written loops told from the original ones."""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import Surveyed, survey
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.moves.openmp_schedule import fitted
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule

_ELSE = re.compile(rb"(\} else\s*#endif\s*\{)")


def surveyed(source: SourceFile, flags: Sequence[str] = (), cc: str = "gcc") -> Surveyed:
    read = CompilerConfig(cc, tuple(flags))
    with tempfile.TemporaryDirectory() as scratch:
        return survey(source, read, CompilerConfig(cc, (*flags, "-fopenmp")), Path(scratch))


def rewritten(source: SourceFile, rewrites: Sequence[Rewrite], flags: Sequence[str] = ()) -> bytes:
    """The written file; nests whose surroundings cannot be tested stay."""
    found = surveyed(source, flags)
    testable = [r for r in rewrites if isinstance(found.tests[r.nest.name], AssumptionTests)]
    return rewrite_source(source, testable, 32, found)


def read(path: Path, content: bytes, flags: Sequence[str] = ()) -> SourceFile:
    path.write_bytes(content)
    return read_source(path, ParseOptions(tuple(flags)), content)


def identity(source: SourceFile, flags: Sequence[str] = ()) -> bytes:
    """Every nest written in its own order."""
    return rewritten(source, [Rewrite(nest, parse_schedule(""), 1.0) for nest in source.nests], flags)


def without_originals(written: bytes) -> bytes:
    """A file that aborts where the original loops would run."""
    return b"#include <stdlib.h>\n" + _ELSE.sub(rb"\1 abort();", written)


def in_threads(source: SourceFile, flags: Sequence[str] = ()) -> bytes:
    """Every nest written in its own order; what a team runs shares its outermost loop that may be shared."""
    contexts = {name: sharing.context for name, sharing in source.sharing.items()}
    rewrites = [Rewrite(n, fitted(Replayer(n), (), contexts.get(n.name, "")), 1.0) for n in source.nests]
    return rewritten(source, rewrites, flags)


def check_runs(source: SourceFile, written: bytes, folder: Path, flags: Sequence[str] = ()) -> None:
    """That the written loops run, in 2 and in 4 threads, and print what the original ones do."""
    printed = []
    for name, text in (("original", source.content), ("written", without_originals(written))):
        (folder / f"{name}.c").write_bytes(text)
        command = ["gcc", "-O1", "-fopenmp", "-ffp-contract=off", *flags, f"{name}.c", "-o", name, "-lm"]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        for threads in "24":
            environment = {**os.environ, "OMP_NUM_THREADS": threads}
            done = subprocess.run([folder / name], env=environment, capture_output=True, timeout=20)
            printed.append((done.returncode, done.stdout))
    assert printed == [printed[0]] * 4 and printed[0][0] == 0, written.decode()
