"""The shipped trees scored on labels of kernels and of programs that they never saw."""

from pathlib import Path

import pytest

from perfembed.learning.cost_models import load_cost_model, part_of
from perfembed.learning.training_data import read_problems
from scheduler.cost.problem import Problem
from tests.evaluation.costmodel import UNTIMED, run_costmodel

LABELS = Path("optdb/data/labels")


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    """Two nests of each part, and two that were trained on."""
    kernels = [p for p in read_problems([LABELS / "kernels-3.parquet"]) if len(p.speedups) >= 8]
    generated = read_problems([LABELS / "held-out-27.parquet", LABELS / "random-2.parquet"])
    held_out = [p for p in generated if part_of(p.group) == "test"]
    many = [p for p in held_out if len(p.speedups) >= 40]
    few = [p for p in held_out if 8 <= len(p.speedups) < 40]
    seen = [p for p in generated if part_of(p.group) != "test"]
    return [one for part in (kernels, many, few, seen) for one in part[:2]]


def test_each_part_is_scored_by_each_model(problems: list[Problem]) -> None:
    heard: list[str] = []
    model = load_cost_model()
    result = run_costmodel(problems, {"boosted": model}, heard.append)
    parts = ["held-out programs", "held out, random and beam", "kernels"]
    assert [line.partition(":")[0] for line in heard] == parts
    assert [(one.part, one.model) for one in result.scores] == [(p, m) for p in parts for m in ("boosted", UNTIMED)]
    for one in result.scores:
        assert one.scores.programs == 2 and -1 <= one.scores.spearman <= 1 and 0 <= one.scores.regret_5 < 1
    (throughput,) = result.throughput  # features are made once for both
    assert throughput.alone > throughput.whole > 0
