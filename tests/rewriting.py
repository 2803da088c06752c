"""Rewriting a file in a test: its surroundings asked of gcc, and the written loops told from the original ones."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import Surveyed, survey
from profilers.build import CompilerConfig
from scheduler.codegen.premises import PremiseTests
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.schedule import parse_schedule

_ELSE = re.compile(rb"(\} else\s*#endif\s*\{)")


def surveyed(source: SourceFile, flags: Sequence[str] = (), cc: str = "gcc") -> Surveyed:
    read = CompilerConfig(cc, tuple(flags))
    with tempfile.TemporaryDirectory() as scratch:
        return survey(source, read, CompilerConfig(cc, (*flags, "-fopenmp")), Path(scratch))


def rewritten(source: SourceFile, rewrites: Sequence[Rewrite], flags: Sequence[str] = ()) -> bytes:
    """The written file; nests whose surroundings cannot be tested stay."""
    found = surveyed(source, flags)
    testable = [r for r in rewrites if isinstance(found.tests[r.nest.name], PremiseTests)]
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
