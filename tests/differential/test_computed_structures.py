"""Structures that isl computes, and what searches make of them, against the original: interpreted, and as C text."""

from __future__ import annotations

import os
import random
import subprocess
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.affine.structures import computed_structures
from scheduler.codegen.emit.emit_c import emit
from scheduler.errors import CodegenUnsupported, SchedulerError
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.generator import generate
from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from tests.campaigns.legality.drawn import small_step
from tests.campaigns.legality.subject import Subject
from tests.doubles.interpret import InterpreterError
from tests.generator import random_nest
from tests.rewriting import rewritten, without_originals

KERNELS = Path(__file__).parents[1] / "kernels"
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
OPTIMIZED = ("-O3", "-march=native")


def shaped(space: Space, structure: Schedule, rng: random.Random) -> Schedule:
    """A structure with tiles, blocks or unrolled loops, and then in parallel and vectorized, where that is legal."""
    schedule = structure
    for chain in space.leaf_chains(structure)[:3]:
        makers = (space.tilings, space.wavefronts, partial(register_moves, space), space.inner_moves)
        moved = list(islice(rng.choice(makers)(schedule, chain), 12))
        if moved:
            small = tuple(small_step(step, rng) for step in rng.choice(moved))
            schedule = small if space.legal(small) else schedule
    for marked in (space.parallelized, space.vectorized):
        more = marked(schedule)
        schedule = more if rng.random() < 0.9 and space.legal(more) else schedule
    return schedule


@pytest.mark.parametrize("seed", range(int(os.environ.get("COMPUTED_SEEDS", "30"))))
def test_random_nests_interpreted(seed: int) -> None:
    rng = random.Random(f"computed {seed}")
    try:
        subject = Subject(random_nest(rng), f"computed {seed}")
    except (SchedulerError, InterpreterError):
        return  # too hard, or the program itself does not run
    replayer = subject.replayer
    space = Space(replayer, Target(threads=3), {p.name: 40 for p in replayer.nest.parameters})
    for structure in computed_structures(replayer).structures():
        for schedule in (structure, shaped(space, structure, rng)):
            found = replayer.replay(schedule)
            assert isinstance(found, ScheduledNest)
            assert subject.mismatch(found.tree, f"{seed}") is None, format_schedule(schedule)


def drawn(nest: LoopNest, rng: random.Random) -> tuple[Schedule, ...]:
    """For each computed structure a schedule that C text can be made of."""
    try:
        replayer = Replayer(nest)
    except SchedulerError:
        return ()
    space = Space(replayer, Target(threads=2), {p.name: 100 for p in nest.parameters})
    kept: list[Schedule] = []
    for structure in computed_structures(replayer).structures():
        schedule = shaped(space, structure, rng)
        verdict = replayer.replay(schedule)
        assert isinstance(verdict, ScheduledNest)
        try:
            emit(verdict, replayer.model)
        except CodegenUnsupported:
            continue
        kept.append(schedule)
    return tuple(kept)


def printed(source: Path, flags: tuple[str, ...]) -> bytes:
    program = source.with_suffix("")
    command = ["gcc", *flags, "-w", "-DSMALL", "-fopenmp", "-ffp-contract=off", "-iquote", str(KERNELS), str(source)]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True, timeout=120)
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([str(program)], check=True, capture_output=True, timeout=120, env=environment).stdout


def check(source: SourceFile, content: bytes, rng: random.Random, most: int, folder: Path) -> int:
    """Each computed structure of each nest in turn in a file of its own; how many files."""
    ways = {nest.name: drawn(nest, rng) for nest in source.nests}
    before = folder / "before.c"
    before.write_bytes(content)
    expected = {flags: printed(before, flags) for flags in (SANITIZED, OPTIMIZED)}
    count = min(most, max(map(len, ways.values()), default=0))
    for turn in range(count):
        chosen = [Rewrite(n, ways[n.name][turn % len(ways[n.name])], 1.0) for n in source.nests if ways[n.name]]
        written = folder / f"after{turn}.c"
        written.write_bytes(without_originals(rewritten(source, chosen, ("-DSMALL",))))
        flags = (SANITIZED, OPTIMIZED)[turn % 2]
        assert printed(written, flags) == expected[flags], [format_schedule(r.schedule) for r in chosen]
    return count


@pytest.mark.parametrize(
    "kernel", os.environ.get("COMPUTED_KERNELS", "cholesky lu jacobi-2d gemver covariance trmm").split()
)
def test_kernels(kernel: str, tmp_path: Path) -> None:
    path = KERNELS / f"{kernel}.c"
    content = path.read_bytes()
    source = read_source(path, ParseOptions(("-DSMALL",)), content)
    most = int(os.environ.get("COMPUTED_MOST", "2"))
    assert check(source, content, random.Random(f"computed {kernel}"), most, tmp_path)


@pytest.mark.parametrize("seed", range(int(os.environ.get("COMPUTED_PROGRAMS", "4"))))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    content = generate(7000, seed).source.encode()
    path = tmp_path / "program.c"
    path.write_bytes(content)
    source = read_source(path, ParseOptions(("-DSMALL",)), content)
    check(source, content, random.Random(f"computed program {seed}"), 2, tmp_path)
