"""Asks the preprocessor what the nests of a file depend on, so that the written file can test it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.building.compiling import COMPILE_LIMITS
from perfembed.building.text import beside, standing_in
from profilers.build import CompilerConfig, compiler_path
from profilers.run import DEFAULT_ENVIRONMENT, run_contained
from scheduler.codegen.emit.splice import header_position
from scheduler.codegen.emit.text import LOOKED_AT, changed_word
from scheduler.codegen.runtime_checks.guards import untestable
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests, Surroundings, Untestable
from scheduler.frontend import SourceFile
from scheduler.frontend.clang.numbering import Numbering
from scheduler.frontend.clang.preprocessing import Macro
from scheduler.ir.nest import LoopNest

_UNNUMBERED = "what numbers its lines have depends on '#line' under '#if', or with a macro"


@dataclass(frozen=True, slots=True)
class Surveyed:
    """`condition`: what the written file needs of the preprocessor; `tests`: what each nest needs, by its name.

    `macros`: those in force where the file was read. `prefix`: what no name in it begins with. `errno`: the program, or
    the file, looks at what mathematical functions report besides their values.
    """

    condition: str
    tests: Mapping[str, AssumptionTests | Untestable]
    macros: Mapping[str, Macro] = field(default_factory=dict)
    problem: str = ""  # why nothing could be asked of the preprocessor
    errno: bool = False
    prefix: str = "pe_"


def survey(
    source: SourceFile,
    read: CompilerConfig,
    written: CompilerConfig,
    scratch: Path,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    directory: Path | None = None,
) -> Surveyed:
    """The tests that each nest needs where it is rewritten, or why there are none.

    `read`: how the file was compiled when its nests were read; `written`: how the written file is. Raises
    CompilerMissing.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    surroundings = Surroundings(source)
    where = _Where(Path(source.path), scratch, environment, directory or Path.cwd())
    first = where.preprocess(surroundings.first_probe(), replace(read, flags=(*read.flags, "-dD")))
    if isinstance(first, Untestable):
        return Surveyed(surroundings.abi, {nest.name: first for nest in source.nests}, problem=first.reason)
    second = where.preprocess(surroundings.second_probe(first), written)
    if isinstance(second, Untestable):
        return Surveyed(surroundings.abi, {nest.name: second for nest in source.nests}, problem=second.reason)
    tests = dict(surroundings.tests(second))
    numbering = Numbering(source.content, surroundings.directives)
    word = changed_word(surroundings.macros)
    changed = f"'{word}' is a macro here, and new loops would be written with it" if word is not None else ""
    for nest in source.nests:
        inspector = source.assumptions[nest.name].inspector
        problem = untestable(nest, inspector) or changed or ("" if _numbered(source, nest, numbering) else _UNNUMBERED)
        if isinstance(tests[nest.name], AssumptionTests) and problem:
            tests[nest.name] = Untestable(problem)
    errno = not LOOKED_AT.isdisjoint(surroundings.macros)
    return Surveyed(surroundings.abi, tests, surroundings.macros, errno=errno, prefix=surroundings.prefix)


def _numbered(source: SourceFile, nest: LoopNest, numbering: Numbering) -> bool:
    """Whether the lines that follow what is put in for a nest can keep their numbers."""
    if numbering.certain:
        return True
    assert nest.span is not None
    header = header_position(source.content, nest.span.begin, source.trigraphs)
    return all(numbering.at(offset) is not None for offset in (nest.span.begin, nest.span.end, header))


@dataclass(frozen=True, slots=True)
class _Where:
    path: Path
    scratch: Path
    environment: Mapping[str, str]
    directory: Path

    def preprocess(self, content: bytes, compiler: CompilerConfig) -> str | Untestable:
        """What the preprocessor makes of a text in place of the file."""
        source, output = self.scratch / "probe.c", self.scratch / "probe.i"
        source.write_bytes(standing_in(content, self.path))
        output.unlink(missing_ok=True)
        environment = {**self.environment, "LC_ALL": "C", "TMPDIR": str(self.scratch)}
        command = (
            compiler_path(compiler.cc, environment),
            *(*compiler.flags, "-w", *beside(self.path)),
            *("-E", "-x", "c", str(source), "-o", str(output)),
        )
        finished = run_contained(command, limits=COMPILE_LIMITS, env=environment, cwd=self.directory)
        if not finished.ok or not output.exists():
            said = finished.stderr.decode(errors="replace").strip().splitlines()[:1]
            return Untestable(f"what it depends on cannot be asked of {compiler.cc} ({''.join(said) or 'no message'})")
        return output.read_bytes().decode("utf-8", "replace")
