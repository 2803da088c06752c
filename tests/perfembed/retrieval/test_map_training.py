"""The map of schedules, trained on donors and what they are worth to each other."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perfembed.embedding.network.schedule_map import ScheduleMap
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.retrieval.donations import Donation
from perfembed.retrieval.donors import donor_shards, read_donors
from perfembed.retrieval.map_training import train_space, worth_matrix
from perfembed.retrieval.space_training import usable_space
from tests.perfembed.retrieval.test_donations import written


def test_worth_is_of_the_best_and_of_drawn_ones_where_nobody_asked() -> None:
    asked = [Donation("a", "b", 4.0, False), Donation("a", "c", 2.0, True), Donation("a", "x", 8.0, False)]
    found = worth_matrix(["a", "b", "c", "d"], asked)
    assert np.isnan(found[1:]).all() and np.isnan(found[0, 0])
    assert found[0, 1:].tolist() == [1.0, 0.5, 0.5]


@pytest.mark.campaign
def test_trained_on_what_ships(tmp_path: Path) -> None:
    shard = donor_shards()[0]
    ids = sorted(read_donors([shard]))
    donations = [Donation(a, b, 1.0 + n % 3, n % 2 == 1) for n, (a, b) in enumerate(pairwise(ids))]
    path = train_space([shard], [written(tmp_path, donations)], 0, tmp_path)
    card = ScheduleMap.load(path).card
    assert card["data"] == [shard.name] and card["donations"] == ["some.parquet"] and 0 < card["worth"] <= 1
    with pytest.raises(UsageError, match="two algorithms"):
        train_space([], [], 0, tmp_path)
    with pytest.raises(UsageError, match="nobody knows"):
        train_space([shard], [], 0, tmp_path)
    with pytest.raises(EnvironmentMissing, match="embedding"):
        usable_space(tmp_path)
