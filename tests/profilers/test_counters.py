"""The counters, their statistics and the derived metrics."""

import math
from collections import Counter as Bag

import pytest

from profilers.counters import counters, derived, feature_names, metrics, statistics_of
from profilers.formula import names


def test_what_the_paper_lists() -> None:
    assert len(counters()) == 19
    assert len({c.name for c in counters()}) == 19
    assert Bag(c.group for c in counters()) == {
        "instructions": 1, "fp32": 4, "fp64": 4, "branches": 2, "accesses": 2, "memory": 2, "l2": 2, "l1": 2,
    }  # fmt: skip
    assert len(feature_names()) == 95
    assert len(metrics()) == len({m.name for m in metrics()}) == 20


def test_formulas_mention_only_what_there_is() -> None:
    known = {c.name for c in counters()} | {"runtime", "threads", "line", "lower_bound"}
    for metric in metrics():
        assert names(metric.formula) <= known, metric.name
    assert frozenset().union(*(names(m.formula) for m in metrics())) == known


def test_statistics() -> None:
    assert statistics_of((2.0, 4.0, 9.0)) == (2.0, 9.0, 5.0, pytest.approx(math.sqrt(26 / 3)), 15.0)
    assert statistics_of((3.0,)) == (3.0, 3.0, 3.0, 0.0, 3.0)


def test_metrics_by_hand() -> None:
    sums = dict.fromkeys((c.name for c in counters()), 0.0)
    sums |= {"instructions": 4e9, "fp64_256": 1e9, "fp64_scalar": 1e9, "loads": 3e9, "stores": 1e9,
             "memory_reads": 1e8, "memory_writes": 1e8, "l1_replacements": 4e8, "l2_lines_in": 2e8}  # fmt: skip
    found = derived(sums, {"runtime": 2.0, "threads": 2.0, "line": 64.0, "lower_bound": 6.4e9})
    assert found["runtime"] == 2.0
    assert found["instruction_rate"] == pytest.approx(1.0)
    assert found["memory_bandwidth"] == pytest.approx(6.4)
    assert found["memory_volume"] == pytest.approx(12.8)
    assert found["fp64_rate"] == pytest.approx(2.5)
    assert found["vectorization_ratio"] == pytest.approx(0.5)
    assert found["l1_miss_ratio"] == pytest.approx(0.1)
    assert found["l2_miss_ratio"] == pytest.approx(0.5)
    assert found["load_store_ratio"] == pytest.approx(3.0)
    assert found["operational_intensity"] == pytest.approx(5e9 / 12.8e9)
    assert found["data_locality"] == pytest.approx(0.5)
    assert found["fp32_rate"] == found["branch_miss_ratio"] == 0.0
    unknown = derived(sums, {"runtime": 2.0, "threads": 2.0, "line": 64.0, "lower_bound": math.nan})
    assert math.isnan(unknown["data_locality"])
