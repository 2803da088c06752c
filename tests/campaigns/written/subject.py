"""A program of a campaign: its text, the file written for it, and what it was tuned with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import Untestable
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import Function, ParseFailed, ParseOptions, read_source
from scheduler.generator.programs import generate
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule
from tests.campaigns.written.drawn import aggressive
from tests.campaigns.written.model import ALWAYS, TUNED
from tests.campaigns.written.sizes import drawn_sizes, size_macros


@dataclass(frozen=True, slots=True)
class Program:
    """A C file: `depth` of its deepest loop, 0 for one that is not of ours; `again`: the arguments to choose it."""

    name: str
    path: Path
    content: bytes
    depth: int
    again: str


@dataclass(frozen=True, slots=True)
class Subject:
    """`sizes`: the size macros as it was tuned; `functions`: those with rewritten nests."""

    program: Program
    written: bytes
    sizes: Mapping[str, int]
    functions: tuple[Function, ...]
    mix: Counter[str]
    schedules: tuple[str, ...]

    @property
    def original(self) -> bytes:
        return self.program.content

    @property
    def directory(self) -> Path:
        """Where `#include "…"` of the program looks."""
        return self.program.path.absolute().parent


def given(path: str, seed: int) -> Program:
    """Raises OSError."""
    file = Path(path)
    return Program(file.stem, file, file.read_bytes(), 0, f"{path} --programs 0 --seed {seed}")


def generated(seed: int, number: int, scratch: Path) -> Program:
    """Raises NothingFits."""
    found = generate(seed, number)
    again = f"--programs 1 --seed {seed} --first {number}"
    return Program(found.name, scratch / f"{found.name}.c", found.source.encode(), found.depth, again)


def make_subject(program: Program, seed: int, scratch: Path, environment: Mapping[str, str]) -> Subject | None:
    """The same for the same arguments; None where no nest could be rewritten.

    Raises FrontendError and SchedulerError for what tune could not read or write either.
    """
    rng = random.Random(f"{seed}:{program.name}:tuned")
    small = size_macros(program.content.decode("latin-1"))
    sizes = drawn_sizes(small, program.depth, rng) if program.depth else small
    try:
        flags = (*TUNED, *ALWAYS, "-DSMALL", *(f"-D{name}={value}" for name, value in sizes.items()))
        source = read_source(program.path, ParseOptions(flags), program.content)
    except ParseFailed:  # sizes that do not go together: an array of -1 elements
        sizes = small
        flags = (*TUNED, *ALWAYS, "-DSMALL", *(f"-D{name}={value}" for name, value in sizes.items()))
        source = read_source(program.path, ParseOptions(flags), program.content)
    read = CompilerConfig("gcc", flags)
    surveyed = survey(source, read, replace(read, flags=(*flags, "-fopenmp")), scratch / "survey", environment)
    rewrites, mix = [], Counter[str]()
    for nest in source.nests:
        if isinstance(surveyed.tests[nest.name], Untestable):
            mix["untestable nests"] += 1
            continue
        try:
            drawn = aggressive(Replayer(nest), random.Random(f"{seed}:{program.name}:{nest.name}"))
        except QuotaExceeded:
            drawn = None
        if drawn is None:
            mix["nests without a schedule"] += 1
            continue
        schedule, held = drawn
        rewrite = Rewrite(nest, schedule, 2.0)
        try:
            rewrite_source(source, [rewrite], 32, surveyed)
        except CodegenUnsupported:  # there is code to measure, but its assumptions cannot be tested
            mix["nests that cannot be written"] += 1
            continue
        mix.update(held)
        mix["nests rewritten"] += 1
        rewrites.append(rewrite)
    if not rewrites:
        return None
    written = rewrite_source(source, rewrites, rng.choice((16, 32, 32, 64)), surveyed)
    spans = [r.nest.span for r in rewrites if r.nest.span is not None]
    functions = tuple(f for f in source.functions if any(f.span.begin <= s.begin < f.span.end for s in spans))
    schedules = tuple(f"{r.nest.name}: {format_schedule(r.schedule)}" for r in rewrites)
    return Subject(program, written, sizes, functions, mix, schedules)
