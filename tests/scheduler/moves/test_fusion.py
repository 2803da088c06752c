"""Fusions: shifted by what dependences ask for, reversed, at every level, of nests that are apart."""

import random

import numpy as np

from scheduler.machine.target import Target
from scheduler.moves.fusion import fused, fusions
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests


def chain_of_two(read: str) -> str:
    return f"""nest two {{
  param n: int in [8, ?];
  array A: double[n]; array B: double[n];
  for i: int in [4, n - 4) step 1 {{ S0: A[i] = A[i] * 2.0; }}
  for j: int in [4, n - 4) step 1 {{ S1: B[j] = {read}; }}
}}"""


# The first and the last nest share an array; the one between needs nothing of them.
APART = """nest apart {
  param n: int in [1, ?];
  array A: double[n][n]; array B: double[n][n]; array C: double[n][n];
  for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = A[i][j] * 2.0; } }
  for k: int in [0, n) step 1 { for l: int in [0, n) step 1 { S1: B[k][l] = 3.0; } }
  for p: int in [0, n) step 1 { for q: int in [0, n) step 1 { S2: C[p][q] = A[p][q] + 1.0; } }
}"""


def space_of(text: str) -> Space:
    return Space(Replayer(nests.nest(text)), Target(2), {"n": 1000, "T": 10})


def runs_right(space: Space, schedule: Schedule, n: int = 13) -> bool:
    rng = np.random.default_rng(0)
    parameters = {p.name: n for p in space.replayer.nest.parameters}
    arrays = {a.name: rng.uniform(size=(n,) * len(a.shape)) for a in space.replayer.nest.arrays}
    expected = interpret(space.replayer.nest, parameters, arrays)
    scheduled = space.replayer.replay(schedule)
    assert isinstance(scheduled, ScheduledNest)
    result = interpret_scheduled(scheduled, parameters, arrays, parallel_order=random.Random(1))
    return all((result[name] == value).all() for name, value in expected.items())


def test_what_is_read_ahead_is_shifted_and_what_lies_behind_is_not() -> None:
    ahead, behind = space_of(chain_of_two("A[j + 3] + A[j - 2]")), space_of(chain_of_two("A[j - 2]"))
    shifted, plain = fused(ahead, (), "i", "j", 1), fused(behind, (), "i", "j", 1)
    assert shifted is not None and format_schedule(shifted) == "shift(j, S1, 3); fuse(i, j)"
    assert plain is not None and format_schedule(plain) == "fuse(i, j)"
    assert runs_right(ahead, shifted)


def test_what_is_read_backwards_is_reversed_and_shifted_by_a_size() -> None:
    space = space_of(chain_of_two("A[n - 1 - j]"))
    found = fused(space, (), "i", "j", 1)
    assert found is not None and "shift(j, S1, " in format_schedule(found) and "n" in format_schedule(found)
    assert runs_right(space, found)


def test_time_steps_of_stencils_are_fused_at_every_level() -> None:
    space = space_of(nests.JACOBI)
    found = [format_schedule(one) for one in fusions(space, ())]
    assert found == [
        "shift(i2, S1, 1); fuse(i, i2); shift(j2, S1, 1); fuse(j, j2)",
        "shift(i2, S1, 1); fuse(i, i2)",
    ] or found == ["shift(i2, S1, 1); fuse(i, i2); fuse(j, j2)", "shift(i2, S1, 1); fuse(i, i2)"]
    assert all(runs_right(space, one) for one in fusions(space, ()))


def test_nests_that_are_apart_are_brought_together() -> None:
    space = space_of(APART)
    found = list(fusions(space, ()))
    assert len(found) == 2  # the nests that share an array, at two levels
    deepest = space.replayer.tree(found[0])
    assert len(deepest) == 2
    assert all(runs_right(space, one) for one in found)
