"""Which recipes are asked for: those that the towers expect most of."""

from dataclasses import replace

import numpy as np
import pytest

from perfembed.retrieval.donors import Donors, Found, StoredDonor
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.recipe_index import RecipeIndex, by_turns, promising, recipes_of
from perfembed.retrieval.tower_training import TowerSettings, train_towers
from tests.perfembed.retrieval.tower_support import NUMBERS, examples
from tests.perfembed.transfer_support import MACHINE

faiss = pytest.importorskip("faiss")

EXAMPLES = examples()
TOWERS = train_towers(EXAMPLES, np.ones(NUMBERS, dtype=bool), (), 0, TowerSettings(2, 8, 60, rate=3e-3, dropout=0.0))


def source(with_recipes: bool = True) -> Donors:
    """Each with two schedules."""
    recipes = EXAMPLES.recipes
    schedules = ("tile([i], [8])", "parallelize(i)")
    ids = [donor for donor, _ in recipes.keys]
    donors = {
        i: StoredDonor(i, i, "", "even" if n % 2 else "odd", "p", "m", MACHINE, {}, "double", schedules, (2.0, 1.9))
        for n, i in enumerate(ids)
    }
    made = Donors(donors, VectorIndex.build(ids, recipes.nests, "tiny"))
    return replace(made, recipes=RecipeIndex(donors, made.index, TOWERS)) if with_recipes else made


def said(nest: np.ndarray) -> dict[tuple[str, int], float]:  # type: ignore[type-arg]
    donors = source()
    recipes = recipes_of(donors.by_id, donors.index.vector)
    return dict(zip(recipes.keys, (TOWERS.queries(nest[None]) @ TOWERS.recipes(recipes).T)[0].tolist(), strict=True))


def test_the_search_finds_the_largest_inner_products() -> None:
    recipes = source().recipes
    assert recipes is not None
    for nest in EXAMPLES.nests[:8]:
        every = said(nest)
        found = recipes.search(nest, 4)
        gains = [gain for _, gain in found]
        assert found[0][0] == max(every, key=lambda key: every[key])
        assert gains == sorted(gains, reverse=True) == pytest.approx([every[key] for key, _ in found], abs=1e-5)
        assert len({donor for (donor, _), _ in found}) == 4


def test_by_turns_the_nearest_and_those_of_which_most_is_expected() -> None:
    for nest in EXAMPLES.nests[:8]:
        every = said(nest)
        found = promising([source()], nest, 6)
        near = promising([source(with_recipes=False)], nest, 6)
        best = sorted({donor for donor, _ in every}, key=lambda donor: -max(every[donor, 0], every[donor, 1]))
        assert found[0].donor.nest_id == near[0].donor.nest_id
        assert best[0] in [one.donor.nest_id for one in found[:2]] and len({one.donor.nest_id for one in found}) == 6
        assert all(
            gain == pytest.approx(every[one.donor.nest_id, number], abs=1e-5)
            for one in found
            for number, gain in one.gains.items()
        )


def test_only_donors_that_are_let_through() -> None:
    found = promising([source()], EXAMPLES.nests[0], 6, lambda donor: donor.algorithm == "odd")
    assert len(found) == 6 and {one.donor.algorithm for one in found} == {"odd"}
    assert promising([source()], EXAMPLES.nests[0], 6, lambda donor: False) == ()


def test_without_towers_the_nearest() -> None:
    nest = EXAMPLES.recipes.nests[7]
    found = promising([source(with_recipes=False)], nest, 3)
    assert found[0].donor.nest_id == "d7" and found[0].distance == pytest.approx(0.0, abs=1e-6)
    assert not any(one.gains for one in found)


def test_no_donors() -> None:
    empty = Donors({}, VectorIndex.build([], np.zeros((0, NUMBERS), dtype=np.float32), "tiny"))
    donors = replace(empty, recipes=RecipeIndex({}, empty.index, TOWERS))
    assert promising([donors], EXAMPLES.nests[0], 3) == ()


def test_a_donor_that_is_the_nest_itself_comes_first() -> None:
    donor = next(iter(source().by_id.values()))
    same, good = Found(donor, 0.0, {0: -0.5}), Found(replace(donor, nest_id="good"), 5.0, {0: 2.0})
    unknown = Found(replace(donor, nest_id="unknown"), 1.0)
    assert by_turns([good, unknown, same], 3) == (same, good, unknown)
    assert by_turns([good, unknown, same, same], 1) == (same,)
