"""Embedding models on disk: safetensors with a JSON card beside it, never pickle."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import torch

from perfembed.encoding.schema import FEATURE_VERSION
from perfembed.errors import EnvironmentMissing
from perfembed.model.gnn import EmbeddingModel, Network, NetworkSettings
from perfembed.model.targets import TARGET_VERSION
from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint

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
    """Raises ModelUnusable unless the file is whole and made for the features of this program."""
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
    try:
        network = Network(NetworkSettings(**card["network"]))
        network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise ModelUnusable(f"{path}: does not fit its card: {str(problem).splitlines()[0]}") from None
    model = EmbeddingModel(network, card)
    if card.get("model_id") != model.model_id:
        raise ModelUnusable(f"{path}: the weights are of model {model.model_id}, the card says {card.get('model_id')}")
    return model
