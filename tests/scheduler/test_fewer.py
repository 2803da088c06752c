"""A nest cut short runs a part of what it ran, and nothing else."""

import random

import islpy as isl
import pytest

from scheduler.fewer import fewer_iterations, largest_work
from scheduler.ir.nest import Loop
from scheduler.ir.text import parse_nest
from scheduler.ir.walk import loops, placed_statements
from scheduler.polyhedral.model import Model
from tests.generator.inputs import random_parameters
from tests.generator.nests.random_nest import random_nest

TEXT = """nest n { param n: int in [1, ?]; array A: double[n][n] restrict;
for i: int in [0, 100) step 1 { for j: int in [i, n) step 1 { for k: int in [n, i) step -1 {
S0: A[i][j] = A[i][j] + A[i][k]; } } } }"""


def test_stops_become_numbers_where_no_iterator_is_in_them() -> None:
    nest = fewer_iterations(parse_nest(TEXT), {"n": 50}, {"i": 7, "j": 9, "k": 5})
    stops = {loop.name: str(loop.stop[0]) for loop in loops(nest) if isinstance(loop.stop, tuple)}
    assert stops == {"i": "7", "j": "9", "k": "i"}


def test_what_is_short_stays() -> None:
    nest = fewer_iterations(parse_nest(TEXT), {"n": 6}, {"i": 700, "j": 900})
    stops = {loop.name: str(loop.stop[0]) for loop in loops(nest) if isinstance(loop.stop, tuple)}
    assert stops == {"i": "100", "j": "6", "k": "i"}
    assert largest_work(nest, {"i": 7, "j": 9, "k": 5}) == 7 * 9 * 5


@pytest.mark.parametrize("seed", range(60))
def test_iterations_are_some_of_the_nests(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng)
    parameters = random_parameters(nest, rng, 1, 9)
    most = {loop.name: rng.choice((1, 2, 3, 5, 30)) for loop in loops(nest)}
    short = fewer_iterations(nest, parameters, most)
    values = " and ".join(f"{name} = {value}" for name, value in parameters.items()) or "true"
    before, after = Model(nest), Model(short)
    for statement in before.placed:
        whole = str(before.domain(statement))
        fixed = isl.Set.read_from_str(before.context, f"[{', '.join(parameters)}] -> {{ : {values} }}").params()
        part = isl.Set.read_from_str(before.context, str(after.domain(statement))).intersect_params(fixed)
        assert part.is_subset(before.domain(statement)), whole
        placed = next(p for p in placed_statements(nest) if p.statement.name == statement)
        if all(loop.name in most and not loop.is_opaque for loop in placed.loops):
            bounds = [loop for loop in placed.loops if _plain(loop)]
            for k, loop in enumerate(placed.loops):
                if loop in bounds:
                    low, high = part.dim_min_val(k), part.dim_max_val(k)
                    assert part.is_empty() or high.sub(low).to_python() < most[loop.name] * abs(loop.step)


def _plain(loop: Loop) -> bool:
    """Both bounds are numbers for given parameters."""
    parts = [*loop.start, *loop.stop] if isinstance(loop.start, tuple) and isinstance(loop.stop, tuple) else []
    return all(part.is_constant for part in parts)
