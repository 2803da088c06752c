"""How alike schedules are."""

import math

from perfembed.retrieval.donors import StoredDonor
from perfembed.retrieval.likeness import good_recipes, likeness, recipe
from scheduler.schedule import parse_schedule
from tests.perfembed.transfer_support import MACHINE


def donor(*schedules: str, speedups: tuple[float, ...] = ()) -> StoredDonor:
    return StoredDonor(
        "0" * 16, "n", "", "a", "a.c", "here", MACHINE, {}, "double", schedules, speedups or (2.0,) * len(schedules)
    )


def test_names_and_sizes_do_not_matter() -> None:
    one = recipe(parse_schedule("interchange(i, j); tile([i, j], [32, 64]); parallelize(i_t)"))
    other = recipe(parse_schedule("interchange(a, b); tile([b, a], [8, 16]); parallelize(b_t)"))
    assert one == other == {("interchange", 0), ("tile", 0), ("tile of", 2), ("parallelize", 0)}


def test_a_step_counts_twice_at_most() -> None:
    many = recipe(parse_schedule("parallelize(i); parallelize(j); parallelize(k)"))
    assert many == {("parallelize", 0), ("parallelize", 1)}


def test_only_schedules_as_good_as_the_best_count() -> None:
    found = good_recipes(donor("parallelize(i)", "unroll(i, 2)", "skew(i, j, 1)", speedups=(4.0, 3.9, 2.0)))
    assert found == (frozenset({("parallelize", 0)}), frozenset({("unroll", 0)}))
    assert good_recipes(donor("nonsense")) == ()


def test_likeness_is_that_of_the_most_alike() -> None:
    first = good_recipes(donor("parallelize(i)", "tile([i], [8]); vectorize(i)"))
    second = good_recipes(donor("tile([i], [16])"))
    assert likeness(first, second) == 2 / 3 and likeness(first, first) == 1.0
    assert math.isnan(likeness(first, ()))
