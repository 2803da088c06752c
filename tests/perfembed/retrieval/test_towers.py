"""Towers as they are stored and asked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfembed.embedding.network.checkpoint import ModelUnusable
from perfembed.errors import EnvironmentMissing
from perfembed.retrieval.tower_training import TowerSettings, train_towers
from perfembed.retrieval.towers import NAME, STEPS, Towers, steps_of, usable_towers
from tests.perfembed.retrieval.tower_support import NUMBERS, examples

ANCHORS = (("d1", 0), ("d2", 0))


@pytest.fixture(scope="module")
def towers() -> Towers:
    settings = TowerSettings(members=2, hidden=5, steps=3)
    return train_towers(examples(), np.ones(NUMBERS, dtype=bool), ANCHORS, 0, settings)


def test_they_are_stored_whole(towers: Towers, tmp_path: Path) -> None:
    path = tmp_path / NAME
    towers.save(path)
    found = Towers.load(path)
    assert found.towers_id == towers.towers_id and found.anchors == ANCHORS and found.card["nests"] == 48
    recipes = examples().recipes
    np.testing.assert_array_equal(found.recipes(recipes), towers.recipes(recipes))
    assert usable_towers(tmp_path).towers_id == towers.towers_id


def test_what_is_missing_damaged_or_of_another_shape_is_said(towers: Towers, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="towers"):
        usable_towers(tmp_path)
    path = tmp_path / NAME
    replace(towers, mean=towers.mean[:-1]).save(path)
    with pytest.raises(ModelUnusable, match="train it again"):
        Towers.load(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelUnusable):
        Towers.load(path)


def test_numbers_far_outside_of_what_was_seen_are_bounded(towers: Towers) -> None:
    nests = np.full((1, NUMBERS), 1e30, dtype=np.float32)
    assert np.abs(towers.queries(nests)).max() < 1e3


def test_steps_are_counted_by_their_kinds() -> None:
    plain = steps_of("")
    assert plain.shape == (STEPS,) and not plain.any()
    once, twice = steps_of("tile([i], [8])"), steps_of("tile([i], [8]); tile([j, k, l], [8, 8, 8]); parallelize(i)")
    assert np.count_nonzero(once) == 2 and np.count_nonzero(twice) == 3
    assert (twice >= once).all() and (twice <= 1).all()
    assert not steps_of("no_such_step([i])").any()
