"""Puts the schedules that a database has into the text of a C file, for one compilation: proved, but not measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building.compiling import COMPILE_LIMITS
from perfembed.building.text import beside, standing_in
from perfembed.tuning.openmp import has_openmp, without_comments
from perfembed.tuning.rewrite import Rewrite, rewrite_with_places
from perfembed.tuning.surroundings import Surveyed, survey
from perfembed.wrapper.known import Chosen, KnownSchedule
from profilers.build import CompilerConfig
from profilers.contained.child import Command
from profilers.openmp import FLAG, WITHOUT_THREADS
from profilers.run import run_many
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import SchedulerError
from scheduler.frontend import SourceFile
from scheduler.identity import canonical_nest, in_names_of
from scheduler.ir.nest import LoopNest
from scheduler.races import allowed, certain_race
from scheduler.replay import Replayer, ScheduledNest

_OMP = re.compile(rb"(?:#[ \t]*pragma|_Pragma)[ \t]*\(?[^\n]*\bomp\b")
_PARALLEL = re.compile(rb"#[ \t]*pragma[ \t]+omp[ \t]+parallel")
_PREPROCESSING = replace(COMPILE_LIMITS, output_bytes=256 << 20)
_MOVED = (b"__BASE_FILE__", b"__TIMESTAMP__")  # depend on where the text stands, or when it was written


@dataclass(frozen=True, slots=True)
class Spliced:
    """A text to compile in place of a file, with these flags behind its own; (name of a nest, speedup) of each."""

    text: bytes
    flags: tuple[str, ...]
    nests: tuple[tuple[str, float], ...]


def spliced(
    source: SourceFile,
    chosen: Sequence[Chosen],
    compiler: CompilerConfig,
    vector_bytes: int,
    environment: Mapping[str, str],
    scratch: Path,
) -> Spliced | str:
    """The file's text with these schedules in it, or why there is none.

    Raises SchedulerError, CompilerMissing and what containment raises.
    """
    if any(name in source.content for name in _MOVED):
        return "its text depends on the file's own name or time"
    own = has_openmp(compiler.flags)
    written = compiler if own else replace(compiler, flags=(*compiler.flags, FLAG))
    surveyed = survey(source, compiler, written, scratch, environment)
    rewrites = [rewrite for nest, found in chosen if (rewrite := _proved(source, nest, found, surveyed, vector_bytes))]
    if not rewrites:
        return "none of the schedules for its nests can be used here"
    text = rewrite_with_places(source, rewrites, vector_bytes, surveyed)[0]
    flags = () if own else (FLAG,) if _PARALLEL.search(text) else (WITHOUT_THREADS,)
    if flags and not _means_the_same(source, compiler, flags, environment, scratch):
        return f"it means something else with {flags[0]}"
    return Spliced(standing_in(text, source.path), flags, tuple((r.nest.name, r.speedup) for r in rewrites))


def _proved(
    source: SourceFile, nest: LoopNest, found: KnownSchedule, surveyed: Surveyed, vector_bytes: int
) -> Rewrite | None:
    """Where the schedule is legal here and code can be made of it."""
    sharing = source.sharing.get(nest.name)
    by_itself = sharing is not None and sharing.context == "thread"
    if not isinstance(surveyed.tests[nest.name], AssumptionTests) or (by_itself and found.threads > 1):
        return None
    permitted = allowed(nest, sharing, reassociate=False, trust=False)
    try:
        if sharing is not None and certain_race(nest, sharing):
            return None
        replayer, canonical = permitted.replayer(nest), canonical_nest(nest)
        schedule = in_names_of(found.schedule, canonical, Replayer(canonical.nest), replayer)
        if schedule is None or not isinstance(replayer.replay(schedule), ScheduledNest):
            return None
        rewrite = Rewrite(nest, schedule, found.speedup, permitted)
        rewrite_with_places(source, (rewrite,), vector_bytes, surveyed)
    except SchedulerError:
        return None
    return rewrite


def _means_the_same(
    source: SourceFile,
    compiler: CompilerConfig,
    flags: tuple[str, ...],
    environment: Mapping[str, str],
    scratch: Path,
) -> bool:
    """Whether a file is the same to the preprocessor with these flags, and has no pragmas that they switch on."""
    if _OMP.search(without_comments(source.content)):
        return False
    probe = scratch / "same.c"
    probe.write_bytes(standing_in(source.content, source.path))

    def command(added: tuple[str, ...]) -> Command:
        words = (compiler.cc, *compiler.flags, *added, "-w", *beside(Path(source.path)), "-E", str(probe))
        return Command(words, _PREPROCESSING, {**environment, "LC_ALL": "C"}, Path.cwd())

    before, after = run_many((command(()), command(flags)), jobs=2)
    whole = before.ok and after.ok and not before.output_truncated
    return whole and before.stdout == after.stdout and not _OMP.search(before.stdout)
