"""Random solvers along lines with scratch arrays: what is said to be private is, and lanes compute the same.

In the reference the scratch arrays are ordinary ones that hold anything before, so that an iteration that reads what
another one wrote is found.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.computed.lanes import in_lanes, lanes
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.text import parse_nest
from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.polyhedral.private_scopes import narrow_scopes
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Tile
from tests.generator import random_step
from tests.scheduler.codegen.support import RELAXED, build, inputs, run, run_checked, with_storage

PROGRAMS = int(os.environ.get("PERFEMBED_LINES_PROGRAMS", "6"))
FIRST = int(os.environ.get("PERFEMBED_LINES_FIRST", "0"))
SCRATCH = ("t", "u")
SIZES = ((9, 12), (1, 1), (6, 2), (3, 5), (2, 30))


class Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"lines {seed}")
        self.statements = 0
        self.loops = 0

    def nest(self) -> LoopNest:
        text = """nest lines {
  param n: int in [1, 30]; param m: int in [1, 30];
  array F: double[n][m + 4][n] restrict; array D: double[n][m + 4][n] restrict const;
  array t: double[36] private(k); array u: double[36] private(k);
"""
        first = self.rng.choice(("", "", "for z: int in [0, 36) step 1 { " + self.write("t", "z") + " }"))
        fills = [self.fill(array) for array in SCRATCH if self.rng.random() < 0.6]
        body = "".join([*fills, *(self.piece() for _ in range(self.rng.randint(2, 5)))])
        inner = f"for i: int in [0, n) step 1 {{ {body} }}"
        return parse_nest(f"{text}  for k: int in [0, n) step 1 {{ {first} {inner} }} }}")

    def name(self) -> str:
        self.statements += 1
        return f"S{self.statements}"

    def fill(self, array: str) -> str:
        """All of a scratch array."""
        self.loops += 1
        j = f"j{self.loops}"
        high = self.rng.choice(("36", "36", "m + 4"))
        return f"for {j}: int in [0, {high}) step 1 {{ {self.name()}: {array}[{j}] = {self.rng.randint(1, 9)}.0; }} "

    def piece(self) -> str:
        if self.rng.random() < 0.25:
            return self.write(self.target(), "0")
        self.loops += 1
        j = f"j{self.loops}"
        low = self.rng.choice(("0", "0", "1", "2"))
        high = self.rng.choice(("m", "m", "m + 2", "m - 1", "m + 1"))
        down = self.rng.random() < 0.25
        head = f"[{high} - 1, {low} - 1) step -1" if down else f"[{low}, {high}) step 1"
        inside = "".join(self.write(self.target(), j) for _ in range(self.rng.randint(1, 3)))
        return f"for {j}: int in {head} {{ {inside} }} "

    def target(self) -> str:
        return self.rng.choice(("t", "t", "u", "F"))

    def write(self, array: str, j: str) -> str:
        place = self.element(array, j, (0, 0, 1))
        read = self.rng.choice(("t", "u", "F", "D"))
        value = f"0.5 * {self.element(read, j, (0, 1, 2))} + {self.rng.randint(1, 5)}.0"
        if j == "z" or self.rng.random() < 0.35:
            value = f"{self.rng.randint(1, 9)}.0" if j == "z" else f"0.25 * {self.element('D', j, (0, 1))}"
        return f"{self.name()}: {place} = {value}; "

    def element(self, array: str, j: str, offsets: tuple[int, ...]) -> str:
        offset = self.rng.choice(offsets)
        place = f"{j} + {offset}" if offset and j != "z" else j
        return f"{array}[{place}]" if array in SCRATCH else f"{array}[k][{place}][i]"


def schedules(nest: LoopNest, rng: random.Random) -> list[Schedule]:
    """The lanes that are proposed, each loop in lanes, and a random schedule that begins with a block."""
    replayer = Replayer(plain(nest))
    space = Space(replayer, Target(2, vector_bytes=16), {"n": 30, "m": 30})
    found = list(lanes(space))
    blocked = [in_lanes(space, loop, rng.choice((2, 4, 5))) for loop in tree_loops(replayer.tree(())) if loop.children]
    found += [schedule for schedule in blocked if schedule is not None]
    grown: Schedule = ()
    block = Tile(("i",), (rng.choice((2, 3, 4)),))
    if isinstance(replayer.replay((block,)), ScheduledNest):
        grown = (block,)
    for _ in range(24):
        step = random_step(replayer.nest, rng, replayer.tree(grown))
        if step is not None and isinstance(replayer.replay((*grown, step)), ScheduledNest):
            grown = (*grown, step)
        if len(grown) == 7:
            break
    return [*found, grown]


def check(folder: Path, seed: int) -> tuple[int, int, int]:
    """(arrays made private further inside, schedules with blocks of them, parallel ones)"""
    written = Writer(seed).nest()
    nest = narrow_scopes(written)
    ordinary = with_storage(written, t=Storage.RESTRICT, u=Storage.RESTRICT)
    ordinary = replace(ordinary, arrays=tuple(replace(a, scope=None) for a in ordinary.arrays))
    scopes = {a.name: a.scope for a in nest.arrays if a.name in SCRATCH}
    shared = {name for name, scope in scopes.items() if scope == "k"}
    if shared:  # what they hold at first may be read: nothing is known of the result
        nest = with_storage(nest, **dict.fromkeys(shared, Storage.RESTRICT))
        nest = replace(nest, arrays=tuple(replace(a, scope=None) if a.name in shared else a for a in nest.arrays))
    blocks, parallel = 0, 0
    rng = random.Random(seed)
    for schedule in schedules(nest, rng):
        replayer = Replayer(plain(nest))
        scheduled = replayer.replay(schedule)
        assert isinstance(scheduled, ScheduledNest)
        try:
            text = emit(scheduled, replayer.of(schedule).model)
        except CodegenUnsupported:
            continue
        blocks += bool(scheduled.windows)
        parallel += "omp parallel" in text
        for n, m in SIZES:
            parameters = {"n": n, "m": m}
            if any(c.affine.evaluate(parameters) < 0 for c in nest.assumptions):
                continue
            base, own = plain(ordinary), plain(nest)
            before, specs = kernel_source(base, emit_original(base), parameters)
            after, own_specs = kernel_source(own, text, parameters)
            data = inputs(base, parameters, seed)
            expected = run(build(folder, "original", before, RELAXED), specs, parameters, data)
            found = run(build(folder, "scheduled", after, RELAXED), own_specs, parameters, data)
            outcomes = [found]
            if n == 6:
                outcomes.append(run_checked(folder, "checked", after, own_specs, parameters, data))
            for outcome in outcomes:
                same = expected["F"].tobytes() == outcome["F"].tobytes()
                assert same, (seed, n, m, format_schedule(schedule), text)
    return len(SCRATCH) - len(shared), blocks, parallel


def test_lines(tmp_path: Path) -> None:
    found = [check(tmp_path, seed) for seed in range(FIRST, FIRST + PROGRAMS)]
    private, blocks, parallel = map(sum, zip(*found, strict=True))
    print(private, blocks, parallel)
    assert private and blocks and parallel
