"""The surrogate classifier's data, and what ships."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.surrogate import (
    SurrogateExamples,
    load_classifier,
    own_classifier,
    surrogate_examples,
    trained_classifier,
)
from scheduler.cost.surrogate import NAMES
from tests.scheduler.cost.test_train_boosted import ALL


def examples() -> SurrogateExamples:
    """Four algorithms; what is good is told by one feature, but by its opposite in every other one."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 150)
    features = np.zeros((600, 9))
    features[:, 0] = rng.random(600)
    good = (features[:, 0] > 0.5) ^ (groups % 2 == 0)
    features[:, 1] = groups / 4
    return SurrogateExamples(features, good, groups, groups)


def test_features_of_what_was_measured() -> None:
    problems = [replace(ALL[0], speedups=tuple(range(1, 1 + len(ALL[0].schedules)))), *ALL[1:3]]
    found = surrogate_examples(problems)
    assert found.features.shape == (sum(len(p.schedules) for p in problems), len(NAMES))
    assert len(set(found.nests.tolist())) == 3 and len(set(found.groups.tolist())) == len({p.group for p in problems})
    first = found.good[found.nests == 0]
    assert first.any() and not first.all() and bool(first[-1])
    assert len(surrogate_examples([replace(ALL[0], schedules=ALL[0].schedules[:2], speedups=(1.0, 2.0))]).good) == 0


def test_what_ships_loads_and_what_is_missing_is_said(tmp_path: Path) -> None:
    assert load_classifier().card["classifier"] == "forest"
    with pytest.raises(EnvironmentMissing, match="surrogate"):
        load_classifier(own_classifier(str(tmp_path)))
    with pytest.raises(UsageError, match="no labels"):
        trained_classifier(examples().chosen(np.zeros(600, dtype=bool)), "cart", 0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(environment={})
    wrong = ["train", "surrogate", "--classifier", "oak", "-o", str(tmp_path)]
    assert main(wrong, session) == 2 and "expected cart or forest" in capsys.readouterr().err
    assert main(["train", "surrogate", "--data", str(tmp_path), "-q"], session) == 2
    assert "no labels" in capsys.readouterr().err
