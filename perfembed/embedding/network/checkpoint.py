"""Embedding models on disk: safetensors with a JSON card beside it, never pickle; read for torch or for NumPy."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfembed.embedding.encoding.schema import FEATURE_VERSION
from perfembed.embedding.network.inference import NumpyEmbeddingModel
from perfembed.embedding.network.interface import NetworkSettings
from perfembed.embedding.network.targets import TARGET_VERSION
from perfembed.errors import EnvironmentMissing
from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    import numpy.typing as npt

    from perfembed.embedding.network.gnn import EmbeddingModel

KIND = "performance-embedding"


class ModelUnusable(EnvironmentMissing):
    """A model file that is missing, damaged, or made for other features than this program computes."""


def save_model(path: Path, model: EmbeddingModel) -> None:
    """Writes `path` (*.safetensors) and the card beside it. Raises ModelUnusable where that is impossible."""
    card = {
        **model.card,
        "model_id": model.model_id,
        "features": FEATURE_VERSION,
        "targets": TARGET_VERSION,
        "network": asdict(model.network.settings),
    }
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in model.network.state_dict().items()}
    try:
        save_checkpoint(path, KIND, arrays, card)
    except CheckpointError as problem:
        raise ModelUnusable(str(problem)) from None


def load_model(path: Path) -> EmbeddingModel:
    """To be trained. Raises ModelUnusable unless the file is whole and made for the features of this program."""
    import torch  # here, not above: what does not train starts without

    from perfembed.embedding.network.gnn import EmbeddingModel, Network

    arrays, card = _load(path)
    try:
        network = Network(NetworkSettings(**card["network"]))
        network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise _misfit(path, problem) from None
    model = EmbeddingModel(network, card)
    _check_id(path, model.model_id, card)
    return model


def load_for_inference(path: Path) -> NumpyEmbeddingModel:
    """As `load_model`, without torch."""
    arrays, card = _load(path)
    try:
        model = NumpyEmbeddingModel(NetworkSettings(**card["network"]), arrays, card)
    except (KeyError, TypeError, ValueError) as problem:
        raise _misfit(path, problem) from None
    _check_id(path, model.model_id, card)
    return model


def _load(path: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Weights and card."""
    try:
        arrays, card = load_checkpoint(path, KIND)
    except CheckpointError as problem:
        raise ModelUnusable(str(problem), "perfembed train embedding makes a new one") from None
    for key, version in (("features", FEATURE_VERSION), ("targets", TARGET_VERSION)):
        if card.get(key) != version:
            raise ModelUnusable(
                f"{path}: made for {key} of version {card.get(key)}, this program has version {version}",
                "perfembed train embedding makes a new one",
            )
    return arrays, card


def _misfit(path: Path, problem: Exception) -> ModelUnusable:
    return ModelUnusable(f"{path}: does not fit its card: {str(problem).splitlines()[0]}")


def _check_id(path: Path, model_id: str, card: dict[str, Any]) -> None:
    if card.get("model_id") != model_id:
        raise ModelUnusable(f"{path}: the weights are of model {model_id}, the card says {card.get('model_id')}")
