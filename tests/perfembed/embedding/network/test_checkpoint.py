"""Models on disk."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from perfembed.embedding.network.checkpoint import ModelUnusable, load_for_inference, load_model, save_model
from perfembed.embedding.network.gnn import EmbeddingModel, Network
from perfembed.embedding.network.interface import NetworkSettings
from perfembed.errors import EXIT_ENVIRONMENT
from scheduler.machine.target import Target
from tests.perfembed.embedding_support import MATMUL, graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    torch.manual_seed(2)
    network = Network(NetworkSettings(layers=1, heads=2, fusion=32))
    network.target_mean[3] = 7.0
    return EmbeddingModel(network, {"settings": {"seed": 3}, "data": "0123"})


def test_round_trip(path: Path, model: EmbeddingModel) -> None:
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.model_id == model.model_id and loaded.network.settings == model.network.settings
    assert loaded.card["settings"] == {"seed": 3} and loaded.card["data"] == "0123"
    one, same = (m.embed([graph(MATMUL)], None, Target(2))[0] for m in (model, loaded))
    assert (one.vector == same.vector).all() and (one.nodes == same.nodes).all()
    assert (model.predict([graph(MATMUL)], None, Target(2)) == loaded.predict([graph(MATMUL)], None, Target(2))).all()
    assert sorted(p.suffix for p in path.parent.iterdir()) == [".json", ".safetensors"]
    save_model(path, loaded)  # again, with the card that was loaded
    assert load_model(path).model_id == load_for_inference(path).model_id == model.model_id


@pytest.mark.parametrize("load", [load_model, load_for_inference])
@pytest.mark.parametrize("part", [".safetensors", ".json"])
def test_damage_is_noticed(path: Path, model: EmbeddingModel, part: str, load: Callable[[Path], object]) -> None:
    save_model(path, model)
    file = path.with_suffix(part)
    content = file.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 25)) if part == ".safetensors" else ():
        file.write_bytes(content[:place] + bytes((content[place] ^ 16,)) + content[place + 1 :])
        with pytest.raises(ModelUnusable):
            load(path)
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelUnusable):
        load(path)
    file.unlink()
    with pytest.raises(ModelUnusable, match="cannot be read") as caught:
        load(path)
    assert caught.value.exit_code == EXIT_ENVIRONMENT and "train" in caught.value.advice


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", 0, "made for features of version 0"),
        ("targets", 99, "made for targets of version 99"),
        ("network", {"layers": 2, "heads": 2, "fusion": 32}, "does not fit its card"),
        ("network", {"depth": 2}, "does not fit its card"),
        ("model_id", "0" * 16, "the card says 0000"),
        ("kind", "something else", "a model of kind 'something else'"),
    ],
)
def test_a_card_that_does_not_fit(path: Path, model: EmbeddingModel, key: str, value: object, message: str) -> None:
    save_model(path, model)
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps({**card, key: value}))
    for load in (load_model, load_for_inference):
        with pytest.raises(ModelUnusable, match=message):
            load(path)


def test_where_nothing_can_be_written(tmp_path: Path, model: EmbeddingModel) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelUnusable, match="cannot be written"):
        save_model(tmp_path / "file" / "model.safetensors", model)
    with pytest.raises(ModelUnusable, match=r"\*.safetensors"):
        save_model(tmp_path / "model.pt", model)
