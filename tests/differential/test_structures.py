"""Random programs with structures: each nest in a random legal order, compiled with sanitizers, must print the same."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen.premises import Tests
from scheduler.errors import SchedulerError
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.generator import random_schedule
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest, parse_nest, without_spans
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from tests.differential.struct_values import Writer as Values
from tests.differential.structures import Writer

FLAGS = ("-O1", "-ffp-contract=off")
WAYS = (
    ("-g", "-fopenmp", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    ("-O3", "-march=native", "-fopenmp"),
)


def drawn(nest: LoopNest, rng: random.Random) -> Schedule:
    """A random legal order, or the one that is written."""
    try:
        replayer = Replayer(nest)
        for _ in range(4):
            schedule = random_schedule(replayer.nest, rng, 3, replayer.tree(()), refused=0.0)
            if schedule and isinstance(replayer.replay(schedule), ScheduledNest):
                return schedule
    except (SchedulerError, QuotaExceeded):
        pass
    return ()


def tuned(source: SourceFile, rng: random.Random, folder: Path) -> tuple[bytes, int, int]:
    """The file with as many nests rewritten as can be; how many, and how many in another order."""
    read, written = CompilerConfig("gcc", FLAGS), CompilerConfig("gcc", (*FLAGS, "-fopenmp"))
    surveyed = survey(source, read, written, folder / "survey")
    rewrites = []
    for nest in source.nests:
        if not isinstance(surveyed.tests[nest.name], Tests):
            continue  # what data decides may overlap something
        rewrite = Rewrite(nest, drawn(nest, rng), 1.0)
        try:
            rewrite_source(source, [rewrite], 32, surveyed)
        except (SchedulerError, QuotaExceeded):
            continue
        rewrites.append(rewrite)
    return rewrite_source(source, rewrites, 32, surveyed), len(rewrites), sum(bool(r.schedule) for r in rewrites)


def output(path: Path, *flags: str) -> str:
    program = path.with_suffix("")
    subprocess.run(["gcc", "-w", *FLAGS, *flags, str(path), "-o", str(program), "-lm"], check=True, timeout=120)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60, env=environment)
    return done.stdout


def compared(text: str, seed: str, folder: Path) -> tuple[int, int]:
    """How many nests of a program were rewritten, and how many in another order: it must print the same."""
    path, new = folder / "old.c", folder / "new.c"
    path.write_text(text)
    source = read_source(path, ParseOptions(FLAGS))
    assert source.nests, [(r.span.line, r.reason) for r in source.rejections]
    for nest in source.nests:
        assert parse_nest(format_nest(nest)) == without_spans(nest)
    content, count, moved = tuned(source, random.Random(seed), folder)
    new.write_bytes(content)
    for flags in WAYS:
        assert output(new, *flags) == output(path, *flags), (path.read_text(), content.decode())
    return count, moved


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_structures(seed: int, tmp_path: Path) -> None:
    found = [compared(Writer(1000 + 5 * seed + k).program(), f"{seed} {k}", tmp_path) for k in range(5)]
    assert sum(count for count, _ in found) > 8 and sum(moved for _, moved in found) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_values_of_structures(seed: int, tmp_path: Path) -> None:
    found = [compared(Values(5 * seed + k).program(), f"{seed} {k}", tmp_path) for k in range(5)]
    assert sum(count for count, _ in found) > 12 and sum(moved for _, moved in found) > 8
