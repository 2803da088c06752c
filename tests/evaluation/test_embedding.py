"""Scores of an embedding: on what they are computed, and what they mean."""

import math
from pathlib import Path

import numpy as np
import pytest

import optdb
from perfembed.embedding.network.interface import machine_numbers
from perfembed.embedding.network.targets import targets
from perfembed.learning.training_profiles import read_examples, read_profiles
from perfembed.retrieval.donors import donor_shards, read_donors
from perfembed.retrieval.nest_space import NestSpace
from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
from scheduler.cost.recursive_lstm import LstmSettings, RecursiveLstm
from tests.evaluation import views
from tests.evaluation.embedding import SIMILARITY, pearson, score_embedding, similarities
from tests.perfembed.embedding_support import tiny_model

SPACE = NestSpace(tiny_model())
SHARD = Path(optdb.__file__).with_name("data") / "profiles" / "kernels-11a.parquet"


def test_every_table_has_its_rows() -> None:
    examples = read_examples([SHARD], machine_numbers)[:24]
    donors = [d for d in read_donors(donor_shards()).values() if d.place.endswith(".c")][:24]
    profile = next(iter(read_profiles([SHARD]).values()))
    found = score_embedding(SPACE, examples, donors)
    assert found.nests == 24 and len(found.metrics) == len(targets()) and found.donors == 24
    assert len(found.likeness) == 4 and all(0 <= s.mean <= s.best <= 1 for s in found.likeness)
    assert 0 < found.static_ms[0] <= found.static_ms[1]
    assert all(len(s.values) == len(SIMILARITY) for s in found.similarity)
    lstm = RecursiveLstmCostModel(RecursiveLstm(LstmSettings(width=16)), {})
    profiled = score_embedding(SPACE, examples, donors, {donors[0].nest_id: profile}, lstm)
    names = [{s.embedding for s in scores.similarity} for scores in (found, profiled)]
    assert names[1] - names[0] == {"recursive LSTM, last layer"}
    known = [{(s.space, s.mean, s.best) for s in scores.likeness} for scores in (found, profiled)]
    assert known[0] < known[1] and len(profiled.likeness) == 6
    assert "learned part, with profile" in "\n".join(views.embedding(profiled))
    with pytest.raises(ValueError, match="no nests"):
        score_embedding(SPACE, [])


def test_correlation_is_of_what_is_known() -> None:
    nan = math.nan
    assert pearson(np.array([1.0, 2, nan, 3]), np.array([2.0, 4, 1, 6])) == pytest.approx(1.0)
    assert math.isnan(pearson(np.array([1.0, 1]), np.array([1.0, 2])))


def test_neighbours_that_perform_alike_vary_little() -> None:
    names = [t.name for t in targets()]
    values = np.zeros((8, len(names)))
    values[:, names.index("memory_bandwidth")] = [1, 1, 1, 1, 9, 9, 9, 9]
    alike = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]], dtype=np.float32)
    mixed = alike[[0, 4, 1, 5, 2, 6, 3, 7]]
    column = SIMILARITY.index("memory_bandwidth")
    assert similarities(alike, values)[column] == pytest.approx(0.0)
    assert similarities(mixed, values)[column] > 0.5
