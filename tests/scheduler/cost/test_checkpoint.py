"""Models on disk: whole, of the right kind, or refused with a reason."""

import json
from pathlib import Path

import numpy as np
import pytest

from scheduler.cost.checkpoint import CheckpointError, card_path, load_checkpoint, save_checkpoint

TENSORS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not contiguous
    "half": np.array([0.5, 2.0], np.float16),
    "nothing": np.zeros((0, 4), np.float32),
}


def stored(folder: Path) -> Path:
    path = folder / "sub" / "model.safetensors"
    save_checkpoint(path, "test", TENSORS, {"seed": 3, "metrics": {"mape": 0.25}})
    return path


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    path = stored(tmp_path)
    tensors, card = load_checkpoint(path, "test")
    assert set(tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert np.array_equal(tensors[name], tensor)
    assert card["seed"] == 3 and card["metrics"] == {"mape": 0.25}
    assert sorted(p.name for p in path.parent.iterdir()) == ["model.json", "model.safetensors"]


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    path = stored(tmp_path)
    before = path.read_bytes(), card_path(path).read_bytes()
    save_checkpoint(path, "test", dict(reversed(TENSORS.items())), {"metrics": {"mape": 0.25}, "seed": 3})
    assert (path.read_bytes(), card_path(path).read_bytes()) == before


@pytest.mark.parametrize("position", [3, 40, -1])
def test_flipped_bits_are_found(tmp_path: Path, position: int) -> None:
    path = stored(tmp_path)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: not the numbers its card model\.json describes"):
        load_checkpoint(path, "test")


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"format": 99}', "\udcff"])
def test_broken_cards(tmp_path: Path, text: str) -> None:
    path = stored(tmp_path)
    card_path(path).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CheckpointError, match=r"model\.json: no card of a model"):
        load_checkpoint(path, "test")


def test_a_card_that_hides_broken_numbers(tmp_path: Path) -> None:
    import hashlib

    path = stored(tmp_path)
    path.write_bytes(b"\xff" * 64)
    card = json.loads(card_path(path).read_text())
    card["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    card_path(path).write_text(json.dumps(card))
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(path, "test")


def test_missing_files_and_other_kinds(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.raises(CheckpointError, match="a model of kind 'test', expected 'other'"):
        load_checkpoint(path, "other")
    with pytest.raises(CheckpointError, match=r"none\.json: cannot be read: No such file"):
        load_checkpoint(tmp_path / "none.safetensors", "test")
    path.unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors: cannot be read: No such file"):
        load_checkpoint(path, "test")


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        save_checkpoint(tmp_path / "file" / "model.safetensors", "test", TENSORS, {})
    with pytest.raises(CheckpointError, match="the card is no JSON"):
        save_checkpoint(tmp_path / "model.safetensors", "test", TENSORS, {"mape": float("nan")})
    with pytest.raises(CheckpointError, match=r"\*\.safetensors"):
        save_checkpoint(tmp_path / "model.bin", "test", TENSORS, {})
