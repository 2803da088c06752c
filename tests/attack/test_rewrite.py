"""Nests of hostile programs, transformed at random and put back: the program prints what it printed."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.runtime_checks.guards import runtime_condition
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.nest import LoopNest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform.initial import initial_tree
from tests.attack.harness import known_open
from tests.attack.registry import generator
from tests.attack.rewritten import REWRITTEN, Rewritten
from tests.generator.schedules import random_schedule
from tests.rewriting import rewritten

pytestmark = pytest.mark.gcc

_VARIANTS = 2
_BUILD = ("gcc", "-O1", "-w", "-fopenmp", "-ffp-contract=off")


@pytest.mark.parametrize("found", [pytest.param(r, id=r.name, marks=known_open(r.open)) for r in REWRITTEN.values()])
def test_rewritten_program_prints_the_same(found: Rewritten, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(found.source)
    source = read_source(path, ParseOptions(found.flags), found.source)
    assert len(source.nests) >= found.nests, [r.reason for r in source.rejections]
    expected = printed(path, found.flags)

    for variant in range(_VARIANTS):
        chosen = [(nest, legal(nest, f"{found.name} {nest.name} {variant}")) for nest in source.nests]
        rewrites = [Rewrite(nest, schedule, 1.0) for nest, schedule in chosen if schedule is not None]
        tuned = tmp_path / f"b{variant}.c"
        tuned.write_bytes(rewritten(source, rewrites, found.flags))
        assert printed(tuned, found.flags) == expected, [str(r.schedule) for r in rewrites]


def legal(nest: LoopNest, seed: str) -> Schedule | None:
    """A random schedule that may run and can be written, the empty one if none is found; None: not even that."""
    rng, replayer, tree = generator(seed), Replayer(nest), initial_tree(nest)
    for length in (4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 0):
        schedule = random_schedule(nest, rng, length, tree)
        verdict = replayer.replay(schedule)
        if isinstance(verdict, ScheduledNest) and (schedule or length == 0):
            with contextlib.suppress(CodegenUnsupported):
                emit(verdict, replayer.model, vector_bytes=32)
                runtime_condition(replayer.nest, replayer.model)
                return schedule
    return None


def printed(source: Path, flags: tuple[str, ...]) -> str:
    program = source.with_suffix("")
    done = subprocess.run(
        [*_BUILD, *flags, str(source), "-o", str(program), "-lm"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[:3000]
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=8, env=environment)
    assert ran.returncode == 0, (ran.returncode, ran.stderr[:2000])
    return ran.stdout
