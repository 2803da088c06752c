"""Random programs with jumps, searches and reductions under random schedules: the output of the original."""

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen import premises
from scheduler.codegen.emit_c import emit
from scheduler.errors import CodegenUnsupported, SchedulerError
from scheduler.frontend import ParseOptions, SourceFile
from scheduler.frontend.child import parse
from scheduler.frontend.clang import parser_request, understood
from scheduler.generator import random_schedule
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest, parse_nest, without_spans
from scheduler.ir.tree import tree_loops
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Parallelize, Vectorize
from tests.differential.flow_programs import program

FLAGS = ("-O1", "-ffp-contract=off")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=float-cast-overflow")
PROGRAMS = int(os.environ.get("PERFEMBED_FLOW_PROGRAMS", "16"))
FIRST = int(os.environ.get("PERFEMBED_FLOW_FIRST", "0"))


def output(folder: Path, content: bytes, *flags: str) -> str:
    (folder / "p.c").write_bytes(content)
    command = ["gcc", "-w", *FLAGS, *flags, "p.c", "-o", "p", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr + content.decode()
    environment = {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    run = subprocess.run([folder / "p"], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    assert run.returncode == 0, run.stderr[-3000:] + content.decode()
    return run.stdout


def schedule(nest: LoopNest, rng: random.Random) -> Schedule:
    """A legal one, with threads wherever they may be."""
    try:
        replayer = Replayer(nest)
        steps: Schedule = ()
        for _ in range(3):
            drawn = random_schedule(replayer.nest, rng, rng.choice((0, 1, 2)), replayer.tree(()), refused=0.0)
            if isinstance(replayer.replay(drawn), ScheduledNest):
                steps = drawn
                break
        for loop in tree_loops(replayer.tree(steps)):
            marks = (Parallelize(loop.name, rng.randint(0, 1), rng.randint(0, 3)), Vectorize(loop.name))
            mark = (*steps, marks[rng.random() < 0.2])
            if isinstance(replayer.replay(mark), ScheduledNest):
                steps = mark
        return steps
    except (SchedulerError, QuotaExceeded):
        return ()


def is_written(nest: LoopNest, steps: Schedule) -> bool:
    """Whether there is code for a legal schedule."""
    replayer = Replayer(nest)
    verdict = replayer.replay(steps)
    assert isinstance(verdict, ScheduledNest)
    try:
        emit(verdict, replayer.of(steps).model)
    except CodegenUnsupported:
        return False
    return True


def read(path: Path) -> SourceFile:
    options = ParseOptions(FLAGS, "gcc")
    request = parser_request(str(path), path.read_bytes(), options)
    return understood(parse(request), request, options)


def check(folder: Path, seed: int, program: Callable[[int], str] = program) -> tuple[int, int, list[str]]:
    """(nests, parallel loops that were written, what was refused)"""
    content = program(seed).encode()
    expected = output(folder, content, *SANITIZED)
    path = folder / "program.c"
    path.write_bytes(content)
    source = read(path)
    assert not [r for r in source.rejections if "analysis of the loop failed" in r.reason], (seed, source.rejections)
    surveyed = survey(
        source, CompilerConfig("gcc", FLAGS), CompilerConfig("gcc", (*FLAGS, "-fopenmp")), folder / "survey"
    )
    rng = random.Random(f"schedules:{seed}")
    rewrites = []
    for nest in source.nests:
        assert parse_nest(format_nest(nest)) == without_spans(nest)
        if isinstance(surveyed.tests[nest.name], premises.Tests):
            steps = schedule(nest, rng)
            if not is_written(nest, steps):
                steps = ()
            rewrites.append(Rewrite(nest, steps, 1.0))
    written = rewrite_source(source, rewrites, 32, surveyed)
    for flags in ((*SANITIZED, "-fopenmp"), ("-O3", "-march=native", "-fopenmp")):
        said = output(folder, written, *flags)
        assert said == expected, f"seed {seed}, {flags}: {[format_schedule(r.schedule) for r in rewrites]}"
    return len(rewrites), written.count(b"#pragma omp parallel"), [r.reason for r in source.rejections]


@pytest.mark.parametrize("part", range(4))
def test_programs(tmp_path: Path, part: int) -> None:
    nests = parallel = 0
    refused: list[str] = []
    for seed in range(FIRST + part, FIRST + PROGRAMS, 4):
        found = check(tmp_path, seed)
        nests, parallel, refused = nests + found[0], parallel + found[1], refused + found[2]
    print(nests, parallel, sorted(set(refused)), len(refused))
    assert nests > PROGRAMS // 4 and parallel > PROGRAMS // 8
