"""Other ways to write a nest: to the bit the same."""

import random

import pytest

from scheduler.ir.text import format_nest, parse_nest
from scheduler.ir.walk import action_uses, placed_statements
from tests.doubles.interpret import interpret
from tests.generator import random_nest, random_spelling
from tests.scheduler import nests
from tests.scheduler.running import running


@pytest.mark.parametrize("seed", range(60))
def test_spellings_compute_the_same(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng)
    parameters, data, expected = running(nest, rng)
    actual = interpret(random_spelling(nest, rng, indices=seed % 2 == 1), parameters, data)
    assert all(values.tobytes() == actual[name].tobytes() for name, values in expected.items())


def test_sums_and_values_are_put_into_scalars() -> None:
    made = {format_nest(random_spelling(nests.nest(nests.GEMM), random.Random(seed))) for seed in range(30)}
    assert len(made) == 3
    assert any("sum += A[i][k] * B[k][j];" in text and "C[i][j] = sum;" in text for text in made)
    assert any("value = A[i][k] * B[k][j];" in text for text in made)
    for text in made:
        nest = parse_nest(text)
        used = {use.access.array for placed in placed_statements(nest) for use in action_uses(placed.statement.body)}
        assert used == {array.name for array in nest.arrays}


def test_subscripts_are_put_into_scalars_where_asked_for() -> None:
    gemm = nests.nest(nests.GEMM)
    made = {format_nest(random_spelling(gemm, random.Random(seed), indices=True)) for seed in range(60)}
    for loop, written in (("i", "C[opaque(index)][j]"), ("j", "C[i][opaque(index)]")):
        assert any(f"index = 0@long + 1@long * (long){loop};" in text and written in text for text in made)


def test_a_nest_without_sums_and_values_stays() -> None:
    nest = parse_nest("nest a { param n: int; array A: int[n]; for i: int in [0, n) step 1 { S0: A[i] = 1; } }")
    assert random_spelling(nest, random.Random(0)) == nest
