"""Towers learn which recipes suit which nests."""

import numpy as np
import pytest

from perfembed.retrieval.tower_training import TowerExamples, TowerSettings, train_towers
from tests.perfembed.retrieval.tower_support import NUMBERS, examples

EVERY = np.ones(NUMBERS, dtype=bool)
QUICK = TowerSettings(members=2, hidden=16, steps=150, rate=3e-3, dropout=0.0)


def test_what_suits_a_nest_that_was_not_seen() -> None:
    towers = train_towers(examples(), EVERY, (), 0, QUICK)
    others = examples(seed=0)
    nests = np.random.default_rng(9).standard_normal((40, NUMBERS)).astype(np.float32)
    nests = nests[abs(nests[:, 0]) > 0.5]
    said = towers.queries(nests) @ towers.recipes(others.recipes).T
    suits = (nests[:, :1] > 0) == (others.recipes.nests[:, 0] > 0)
    best = said.argmax(axis=1)
    assert suits[np.arange(len(nests)), best].mean() > 0.9
    assert said[suits].mean() - said[~suits].mean() > 0.5  # in units of log gain


def test_numbers_that_are_not_used_change_nothing() -> None:
    used = EVERY.copy()
    used[0] = False
    towers = train_towers(examples(), used, (), 0, QUICK)
    nests = examples().nests.copy()
    before = towers.queries(nests)
    nests[:, 0] += 5
    np.testing.assert_array_equal(before, towers.queries(nests))


def test_anchors_have_numbers_of_their_own() -> None:
    """What their nests and steps do not tell: that one recipe always helps."""
    found = examples()
    gains = tuple(np.where(chosen == 3, 2.0, 0.0) for chosen in found.asked)
    favoured = TowerExamples(np.zeros_like(found.nests), found.recipes, found.asked, gains)
    recipes = found.recipes
    alike = type(recipes)(recipes.keys, np.zeros_like(recipes.nests), recipes.steps, recipes.gains)
    favoured = TowerExamples(favoured.nests, alike, favoured.asked, gains)
    towers = train_towers(favoured, EVERY, [("d3", 0), ("d4", 0)], 0, QUICK)
    said = (towers.queries(favoured.nests[:1]) @ towers.recipes(alike).T)[0]
    assert said.argmax() == 3 and said[3] - said[5] > 0.5 and said[4] < said[3] - 0.5


def test_the_same_seed_gives_the_same_towers() -> None:
    first, second, other = (train_towers(examples(), EVERY, (), seed, QUICK) for seed in (1, 1, 2))
    assert first.towers_id == second.towers_id != other.towers_id


def test_nothing_to_learn_from() -> None:
    found = examples()
    with pytest.raises(ValueError, match="need nests"):
        train_towers(TowerExamples(found.nests[:0], found.recipes, (), ()), EVERY, (), 0)
