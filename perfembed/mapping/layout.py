"""Where donors lie on the map, and what is predicted of each: a minute's work, kept in a file until donors change.

A file says which donors, vectors, model and seed it was made of and has a checksum; where anything differs it is made
again. The file of what ships lies beside the shipped donors: it is what `perfembed db map --no-db` left in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.retrieval.donors import StoredDonor
from profilers.scratch import unfinished_file

Floats = npt.NDArray[np.float32]

_VERSION = 1  # of how layouts are made
_MAGIC = b"perfembed-layout-1\n"
_KEPT = 4  # files in a cache: one for each database or so
_NEAR, _PERPLEXITY = 15, 5.0


def layout_key(donors: Sequence[StoredDonor], vectors: Floats, space_id: str, seed: int) -> str:
    """64 hex digits of everything a layout depends on; `vectors` [n, d] of the donors, in their order."""
    digest = hashlib.sha256()
    about = [[d.nest_id, sorted(d.sizes.items()), d.target.numbers()] for d in donors]
    digest.update(json.dumps([_VERSION, space_id, seed, vectors.shape, about]).encode())
    digest.update(np.ascontiguousarray(vectors, dtype=np.float32).data)
    return digest.hexdigest()


def cached_table(
    key: str, shape: tuple[int, int], make: Callable[[], npt.NDArray[Any]], cache: Path | None, *others: Path
) -> Floats:
    """float32 of that shape: of the file with this key in `cache` or other folders, else made, and kept in `cache`.

    A folder that cannot be read or written costs time only.
    """
    name = f"layout-{key[:16]}.table"
    for folder in (*(() if cache is None else (cache,)), *others):
        found = _load(folder / name, key, shape)
        if found is not None:
            return found
    made = np.ascontiguousarray(make(), dtype=np.float32).reshape(shape)
    if cache is not None:
        with contextlib.suppress(OSError):
            _save(cache / name, key, made)
    return made


def place_among(vector: Floats, vectors: Floats, plane: Floats) -> tuple[float, float]:
    """Where a nest that was not there when the `plane` [n, 2] of `vectors` [n, d] was laid out belongs: at the mean of
    its nearest neighbours' places, weighted as t-SNE weighs neighbours.

    Source: Poličar et al. 2019 (openTSNE), whose embedding of new points begins so.
    """
    squares = ((vectors - vector) ** 2).sum(axis=1, dtype=np.float64)
    near = np.argsort(squares, kind="stable")[:_NEAR]
    weights = _affinities(squares[near] - squares[near[0]], min(_PERPLEXITY, len(near)))
    x, y = weights @ plane[near].astype(np.float64)
    return float(x), float(y)


def _affinities(squares: npt.NDArray[np.float64], perplexity: float) -> npt.NDArray[np.float64]:
    """[n]: exp(-square * b), of sum 1, with the b at which their entropy is log(perplexity), by bisection."""
    low, high = 0.0, math.inf
    sharpness = 1.0 / max(float(squares.mean()), 1e-12)
    weights = np.full(len(squares), 1.0 / len(squares))
    for _ in range(60):
        powers = np.exp(-squares * sharpness)
        weights = powers / powers.sum()
        entropy = -float((weights * np.log(np.maximum(weights, 1e-300))).sum())
        if entropy > math.log(perplexity):
            low, sharpness = sharpness, sharpness * 2 if high == math.inf else (sharpness + high) / 2
        else:
            high, sharpness = sharpness, (sharpness + low) / 2
    return np.asarray(weights, dtype=np.float64)


def _load(path: Path, key: str, shape: tuple[int, int]) -> Floats | None:
    """None where it is missing, damaged or of something else."""
    size = len(_MAGIC) + 65 + 65 + 4 * shape[0] * shape[1]
    try:
        with path.open("rb") as file:
            data = file.read(size + 1)
    except OSError:
        return None
    head, rest = data[: len(_MAGIC) + 65], data[len(_MAGIC) + 65 :]
    if len(data) != size or head != _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n":
        return None
    if rest[:65] != key.encode() + b"\n":
        return None
    return np.frombuffer(rest[65:], dtype="<f4").reshape(shape)


def _save(path: Path, key: str, table: Floats) -> None:
    """At once or not at all; the oldest others go. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rest = key.encode() + b"\n" + table.astype("<f4").tobytes()
    with unfinished_file(path.parent) as unfinished:
        unfinished.write_bytes(_MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
        os.replace(unfinished, path)
    files = sorted(path.parent.glob("layout-*.table"), key=lambda file: (file != path, -file.stat().st_mtime))
    for old in files[_KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink()
