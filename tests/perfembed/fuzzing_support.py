"""A program with written nests, as tune makes it, run on other values."""

import os
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
from scheduler.codegen.premises import PremiseTests
from scheduler.frontend import ParseOptions, read_source
from scheduler.schedule import parse_schedule
from tests.rewriting import surveyed

FLAGS = ("-O2",)


def written(
    folder: Path, text: bytes, schedules: dict[str, str] | None = None, fault: tuple[bytes, bytes] = (b"", b"")
) -> tuple[Instrumented, Path]:
    """The program with its nests as they would be written (`schedules`: of some; None: all in their own order).

    `fault`: what in the new text of nests is exchanged for what.
    """
    path = folder / "program.c"
    path.write_bytes(text)
    source = read_source(path, ParseOptions(FLAGS), text)
    found = surveyed(source, FLAGS)
    chosen = {n.name: "" for n in source.nests} if schedules is None else schedules
    rewrites = [
        Rewrite(nest, parse_schedule(chosen[nest.name]), 2.0)
        for nest in source.nests
        if nest.name in chosen and isinstance(found.tests[nest.name], PremiseTests)
    ]
    content, places = rewrite_with_places(source, rewrites, 32, found)
    program = Instrumented()
    if fault[0]:
        content, places = _faulty(content, places, fault)
    program.add(source, content, places, ())
    return program, path


def _faulty(
    content: bytes, places: dict[str, tuple[int, int]], fault: tuple[bytes, bytes]
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    changed: dict[str, tuple[int, int]] = {}
    found = 0
    for name, (begin, end) in sorted(places.items(), key=lambda item: item[1], reverse=True):
        new, old = content[begin:end].split(b"} else\n", 1) if b"} else\n" in content[begin:end] else (b"", b"")
        text = new.replace(*fault)
        found += text != new
        content = content[:begin] + text + content[end - len(old) - len(b"} else\n") :]
        added = len(text) - len(new)
        changed = {other: (b + added, e + added) for other, (b, e) in changed.items()}
        changed[name] = begin, end + added
    assert found, content.decode()
    return content, changed


def fuzzed(
    folder: Path,
    text: bytes,
    schedules: dict[str, str] | None = None,
    fault: tuple[bytes, bytes] = (b"", b""),
    *,
    arguments: tuple[str, ...] = (),
    seconds: float = 3.0,
    threads: int = 1,
    tolerance: float = 0.0,
) -> Fuzzing:
    program, path = written(folder, text, schedules, fault)
    environment = {"PATH": os.environ["PATH"]}
    build = compiling.one_file(str(path), text, CompilerConfig("gcc", FLAGS), folder, environment)
    world = World(arguments=arguments)
    run = ProgramRun(build, Stage(world, folder / "stage"), environment)
    profile = ProgramProfile(run, 0.1, 0, b"", b"", "", {}, ())
    fuzzing = Fuzzing(profile, program, ("-fopenmp",), folder / "fuzzing", threads, 0, tolerance)
    wanted = fuzzing.changes()
    assert wanted is not None
    fuzzing.made = build.make_all((wanted,))[0]
    fuzzing.run(seconds, 10 * seconds)
    return fuzzing
