"""Metrics as targets and back."""

import math

import numpy as np
import pytest

from perfembed.embedding.network.targets import from_learned, metric_row, scale_metrics, targets, to_learned
from profilers.counters import metrics


def test_every_metric_has_a_scale_after_its_unit() -> None:
    assert [t.name for t in targets()] == [m.name for m in metrics()]
    for target, metric in zip(targets(), metrics(), strict=True):
        assert (target.scale == "log") == (target.zero > 0)
        assert target.scale == "log" or metric.unit == "1", "what has a unit has no natural size"
    plain = {t.name for t in targets() if t.scale == "plain"}
    assert plain == {"l2_miss_ratio", "vectorization_ratio", "branch_rate", "data_locality"}


def test_round_trip() -> None:
    rng = np.random.default_rng(0)
    values = 10 ** rng.uniform(-6, 3, size=(200, len(targets())))
    values[0] = 0
    names = [t.name for t in targets()]
    locality, volume = names.index("data_locality"), names.index("memory_volume")
    least_bytes = 1e9 * values[:, volume] * rng.uniform(0, 2, size=200)
    values[:, locality] = np.minimum(
        1.0, np.divide(least_bytes / 1e9, values[:, volume], out=np.ones(200), where=values[:, volume] > 0)
    )
    back = from_learned(to_learned(values, least_bytes))
    assert back == pytest.approx(values, rel=1e-6, abs=1e-12)
    assert np.isfinite(scale_metrics(values)).all()


def test_locality_is_the_least_traffic_over_the_traffic() -> None:
    values = np.ones((2, len(targets())))
    names = [t.name for t in targets()]
    values[:, names.index("memory_volume")] = 0.5, 0.0
    found = from_learned(to_learned(values, np.array([1e8, 1e8])))
    assert found[:, names.index("data_locality")] == pytest.approx([0.2, 1.0])
    assert np.isnan(to_learned(values, np.array([np.nan, 1.0]))[0, names.index("data_locality")])


def test_what_is_unknown_stays_unknown() -> None:
    values = np.ones((1, len(targets())))
    values[0, 3], values[0, 10] = math.nan, math.inf
    scaled = scale_metrics(values)
    assert np.flatnonzero(np.isnan(scaled)).tolist() == [3, 10]


def test_predictions_are_never_negative_nor_infinite() -> None:
    for wild in (-1e9, 1e9):
        found = from_learned(np.full((1, len(targets())), wild))
        assert (found >= 0).all() and np.isfinite(found).all()


def test_rows_are_in_the_order_of_the_metrics() -> None:
    names = [m.name for m in metrics()]
    row = metric_row({name: float(n) for n, name in enumerate(names) if n != 4})
    assert math.isnan(row[4]) and [v for v in row if not math.isnan(v)] == [float(n) for n in range(20) if n != 4]
