"""A program with written nests, as tune makes it, run on other values."""

import os
from collections.abc import Mapping
from pathlib import Path

from perfembed.building import compiling
from perfembed.capture import ProgramProfile
from perfembed.capture.program import ProgramRun
from perfembed.capture.stage import Stage
from perfembed.fuzzing.fuzz import Fuzzing
from perfembed.fuzzing.instrumented import Instrumented
from perfembed.tuning.rewrite import Rewrite, rewrite_with_places
from perfembed.world import World
from profilers.build import CompilerConfig
from scheduler.codegen.emit.splice import nest_text, spliced
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.schedule import parse_schedule
from tests.rewriting import surveyed

FLAGS = ("-O2",)
Written = tuple[bytes, dict[str, tuple[int, int]]]


def scheduled(source: SourceFile, schedules: Mapping[str, str]) -> Written:
    """The file as it is written with these schedules of nests."""
    found = surveyed(source, FLAGS)
    rewrites = [
        Rewrite(nest, parse_schedule(schedules[nest.name]), 2.0)
        for nest in source.nests
        if nest.name in schedules and isinstance(found.tests[nest.name], AssumptionTests)
    ]
    return rewrite_with_places(source, rewrites, 32, found)


def by_hand(source: SourceFile, loops: Mapping[str, tuple[str, str]]) -> Written:
    """The file with these loops in place of nests, each behind a run-time test: (condition, loops)."""
    edits = []
    for nest in source.nests:
        if nest.name in loops and nest.span is not None:
            condition, text = loops[nest.name]
            original = source.content[nest.span.begin : nest.span.end]
            edits.append((nest.span.begin, nest.span.end, nest_text(text, original, "by hand", condition)))
    content, places = spliced(source.content, edits, "#define pe_tuned\n")
    return content, {n.name: places[n.span.begin] for n in source.nests if n.name in loops and n.span is not None}


def fuzzed(
    folder: Path,
    text: bytes,
    schedules: Mapping[str, str] | None = None,
    loops: Mapping[str, tuple[str, str]] | None = None,
    *,
    arguments: tuple[str, ...] = (),
    flags: tuple[str, ...] = FLAGS,
    seconds: float = 3.0,
    wall_s: float = 60.0,
    threads: int = 1,
    tolerance: float = 0.0,
) -> Fuzzing:
    """The program run with nests as they are scheduled, or as they are by hand; else all in their own order."""
    path = folder / "program.c"
    path.write_bytes(text)
    source = read_source(path, ParseOptions(FLAGS), text)
    schedules = {nest.name: "" for nest in source.nests} if schedules is None else schedules
    content, places = scheduled(source, schedules) if loops is None else by_hand(source, loops)
    program = Instrumented()
    program.add(source, content, places, ())
    environment = {"PATH": os.environ["PATH"]}
    build = compiling.one_file(str(path), text, CompilerConfig("gcc", flags), folder, environment)
    run = ProgramRun(build, Stage(World(arguments=arguments), folder / "stage"), environment)
    profile = ProgramProfile(run, 0.1, 0, b"", b"", "", {}, ())
    fuzzing = Fuzzing(profile, program, ("-fopenmp",), folder / "fuzzing", threads, 0, tolerance)
    wanted = fuzzing.changes()
    assert wanted is not None
    fuzzing.made = build.make_all((wanted,))[0]
    fuzzing.run(seconds, wall_s)
    return fuzzing
