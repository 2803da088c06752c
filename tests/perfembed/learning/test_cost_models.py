"""The cost models on the disk: which are there, which one is taken, and a user's own."""

from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.cost_models import (
    Ensemble,
    load_cost_model,
    load_cost_models,
    own_weights,
    part_of,
    train_cost_model,
    weights_path,
)
from scheduler.cost.boosted import BoostedCostModel
from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
from tests.scheduler.cost.test_train_boosted import ALL

TRAIN = [p for p in ALL if part_of(p.group) == "train"][:2]


def quiet(text: str) -> None:
    del text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Boosted trees, an LSTM, and one without expressions."""
    made = tmp_path_factory.mktemp("weights")
    train_cost_model("boosted", TRAIN, 1, 1, made, quiet)
    train_cost_model("lstm", TRAIN, 1, 1, made, quiet)
    train_cost_model("lstm", TRAIN, 1, 1, made, quiet, without="expressions")
    return made


def test_all_models_of_a_folder(folder: Path) -> None:
    found = load_cost_models(folder)
    assert list(found) == ["boosted", "lstm", "both", "lstm without expressions"]
    assert isinstance(found["both"], Ensemble)
    without = found["lstm without expressions"]
    assert isinstance(without, RecursiveLstmCostModel) and not without.network.settings.expressions


def test_the_default_and_what_there_is(folder: Path, tmp_path: Path) -> None:
    assert isinstance(load_cost_model(folder=folder), BoostedCostModel)
    only = weights_path("lstm", tmp_path)
    only.write_bytes(weights_path("lstm", folder).read_bytes())
    only.with_suffix(".json").write_bytes(weights_path("lstm", folder).with_suffix(".json").read_bytes())
    assert isinstance(load_cost_model(folder=tmp_path), RecursiveLstmCostModel)
    only.unlink()
    with pytest.raises(EnvironmentMissing, match="cost-boosted"):
        load_cost_model(folder=tmp_path)


def test_what_ships_loads() -> None:
    assert isinstance(load_cost_model(folder=own_weights(None)), BoostedCostModel)


def test_both_kinds_go_on_from_weights(folder: Path, tmp_path: Path) -> None:
    for kind in ("boosted", "lstm"):
        start = weights_path(kind, folder)
        trained = train_cost_model(kind, ALL[:3], 1, 1, tmp_path, quiet, start)
        assert trained.path.exists() and trained.labels == sum(len(p.speedups) for p in ALL[:3])


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no labels"):
        train_cost_model("boosted", [], 0, 1, tmp_path, quiet)


def test_a_folder_without_models_is_said_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")
    assert main(["tune", str(source), "--weights", str(tmp_path)], Session({})) == 2
    assert "there are no cost models" in capsys.readouterr().err


def test_an_ablation_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cost", "--without", "matrices"], Session({})) == 2
    assert main(["train", "cost", "--model", "lstm", "--without", "loops"], Session({})) == 2
    assert "--without" in capsys.readouterr().err
