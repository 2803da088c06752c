"""The map of schedules: it brings nests together whose schedules are worth, of groups it has not seen, too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfembed.embedding.network.checkpoint import ModelUnusable
from perfembed.embedding.network.schedule_map import MappedNests, ScheduleMap, standardized, train_schedule_map
from perfembed.retrieval.space_training import MAP
from scheduler.cost.feature_table import PROBLEM, TREE

COUNT = len(PROBLEM) + len(TREE)


def invented(count: int, seed: int) -> MappedNests:
    """Nests of four kinds of schedules, which two of many features tell, in groups that say nothing. The structure part
    tells them with some noise, the learned part says nothing.
    """
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, count)
    features = rng.standard_normal((count, COUNT)) * 10 + 50
    features[:, 7] = 3.0 * (kinds % 2) + rng.standard_normal(count) * 0.3
    features[:, 31] = 100.0 * (kinds // 2) + rng.standard_normal(count) * 10
    features[:, 5] = 2.0  # the machine's
    worth = (kinds[:, None] == kinds[None, :]).astype(np.float64)
    structure = np.eye(8)[kinds] + rng.standard_normal((count, 8)) * 0.3
    return MappedNests(
        features,
        unit(rng.standard_normal((count, 128))),
        unit(structure),
        worth,
        tuple(f"g{n % 9}" for n in range(count)),
    )


def unit(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def hits(rows: np.ndarray, worth: np.ndarray) -> float:  # type: ignore[type-arg]
    """How often the nearest neighbour has the same schedules."""
    distances = ((rows[:, None] - rows[None]) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    return float(worth[np.arange(len(rows)), distances.argmin(1)].mean())


@pytest.mark.campaign
def test_nests_it_has_not_seen_get_better_neighbours() -> None:
    found = train_schedule_map(invented(500, 1), seed=1)
    other = invented(100, 2)
    features, worth = other.features, other.worth
    assert hits(found.apply(features), worth) > hits(standardized(features, found.mean, found.scale), worth) + 0.2
    assert found.scale[5] == 0  # another machine is not far away for it
    assert found.card["nests"] == 500 and found.card["groups"] == 9


@pytest.mark.campaign
def test_a_part_counts_as_much_as_it_tells_of_nests_the_map_has_not_seen() -> None:
    nests = invented(500, 1)
    found = train_schedule_map(nests, seed=1)
    assert found.structure > 1.5 * found.learned  # which is noise
    useful = replace(nests, learned=nests.structure, structure=nests.learned)
    swapped = train_schedule_map(useful, seed=1)
    assert swapped.learned == pytest.approx(found.structure, rel=1e-3)
    other = invented(300, 5)

    def joined(nests: MappedNests, learned: float, structure: float) -> np.ndarray:  # type: ignore[type-arg]
        return np.concatenate(
            (learned * nests.learned, structure * nests.structure, found.apply(nests.features)), axis=1
        )

    ours = hits(joined(other, found.learned, found.structure), other.worth)
    assert ours > hits(joined(other, 10.0, 1.0), other.worth) + 0.1
    assert ours >= hits(found.apply(other.features), other.worth)


@pytest.mark.campaign
def test_the_same_seed_gives_the_same_map_and_a_file_keeps_it(tmp_path: Path) -> None:
    data = invented(40, 1)
    one, other = train_schedule_map(data, seed=3), train_schedule_map(data, seed=4)
    assert one.map_id == train_schedule_map(data, seed=3).map_id != other.map_id
    path = tmp_path / MAP
    one.save(path)
    assert ScheduleMap.load(path).map_id == one.map_id
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelUnusable, match="damaged"):
        ScheduleMap.load(path)


@pytest.mark.campaign
def test_a_map_of_other_features_is_refused(tmp_path: Path) -> None:
    path = tmp_path / MAP
    found = train_schedule_map(invented(20, 1), seed=1)
    replace(found, mean=found.mean[:-1], scale=found.scale[:-1], weights=found.weights[:-1]).save(path)
    with pytest.raises(ModelUnusable, match="train it again"):
        ScheduleMap.load(path)


def test_two_groups_at_least() -> None:
    with pytest.raises(ValueError, match="two groups"):
        train_schedule_map(replace(invented(10, 1), groups=("g",) * 10), seed=1)


@pytest.mark.campaign
def test_what_is_unknown_does_not_count() -> None:
    nests = invented(30, 1)
    nests.worth[3], nests.worth[:, 3] = np.nan, np.nan
    found = train_schedule_map(nests, seed=1)
    assert np.isfinite(found.weights).all() and np.isfinite([found.learned, found.structure]).all()
