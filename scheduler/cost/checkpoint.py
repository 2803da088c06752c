"""Trained models on disk: numbers as safetensors, and a card in JSON beside them that says what they are.

`model.safetensors` goes with `model.json`; the card holds the checksum of the numbers. Neither can run code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scheduler.errors import SchedulerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMAT = 1
_MAX_BYTES = 1 << 30
_MAX_CARD_BYTES = 1 << 22


class CheckpointError(SchedulerError):
    """A model that cannot be stored or read: what is wrong with which file, and what to do."""


def card_path(path: Path) -> Path:
    return path.with_suffix(".json")


def save_checkpoint(
    path: Path, kind: str, tensors: Mapping[str, npt.NDArray[np.generic]], card: Mapping[str, object]
) -> None:
    """Replaces both files; what is there after a crash loads as the old model, the new one, or not at all.

    Raises CheckpointError where the folder cannot be written or the card is no JSON.
    """
    import numpy as np
    from safetensors.numpy import save

    if path.suffix != ".safetensors":
        raise CheckpointError(f"{path}: models are stored in files called *.safetensors")
    data = save({name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)})
    document = {**card, "format": FORMAT, "kind": kind, "sha256": hashlib.sha256(data).hexdigest()}
    try:
        text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"
    except (TypeError, ValueError) as problem:
        raise CheckpointError(f"{card_path(path)}: the card is no JSON: {problem}") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
        _replace(card_path(path), text.encode())
    except OSError as problem:
        raise CheckpointError(f"{problem.filename or path}: cannot be written: {problem.strerror}") from None


def load_checkpoint(path: Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The numbers and the card. Raises CheckpointError unless both are whole, belong together and are of the kind."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        text = _limited(card_path(path), _MAX_CARD_BYTES)
        card = json.loads(text)
        data = _limited(path, _MAX_BYTES)
    except OSError as problem:
        raise CheckpointError(f"{problem.filename}: cannot be read: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise CheckpointError(f"{card_path(path)}: no card of a model") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise CheckpointError(f"{card_path(path)}: no card of a model in format {FORMAT}")
    if card.get("kind") != kind:
        raise CheckpointError(f"{path}: a model of kind {card.get('kind')!r}, expected {kind!r}")
    if card.get("sha256") != hashlib.sha256(data).hexdigest():
        raise CheckpointError(f"{path}: not the numbers its card {card_path(path).name} describes; damaged or mixed up")
    try:
        return load(data), card
    except (SafetensorError, ValueError, KeyError) as problem:
        raise CheckpointError(f"{path}: damaged: {problem}") from None


def _limited(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CheckpointError(f"{path}: larger than {limit >> 20} MiB: no model of this program")
    return data


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
