"""Two towers: one places a nest, the other a recipe (a donor's nest with one of its schedules); the inner product of
both is what the recipe is expected to gain at the nest, so that asking for recipes is a maximum inner product search.

Source: two-tower retrieval (Covington et al. 2016; Yi et al. 2019, "Sampling-bias-corrected neural modeling"), with
measured gains (`perfembed.retrieval.cross_transfers`) in the place of clicks. NumPy: nothing of torch is loaded to ask.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.embedding.network.checkpoint import ModelUnusable
from perfembed.errors import EnvironmentMissing
from perfembed.learning.cost_models import SHIPPED
from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.feature_table import VERSION
from scheduler.transform import TRANSFORMATIONS

NAME = "towers.safetensors"
WIDTH = 16  # of a member's vectors, besides two numbers: how much nests gain at all, and how much recipes do
_KIND = "towers"
_BOUND = 4.0  # standard deviations
_KEYWORDS = tuple(sorted({step.keyword for step in TRANSFORMATIONS}))
_CLAUSE = re.compile(r"(?:^|;)\s*(\w+)\(([^;]*)")
_MANY = 3  # steps of a kind; how many there are is a matter of the nest's size
_TOGETHER = ("tile", "register_block")  # of which it is told how many loops they take

Floats = npt.NDArray[np.float32]
RecipeKey = tuple[str, int]
"""A donor's nest_id, and the number of the schedule among its own."""


def steps_of(schedule: str) -> Floats:
    """[STEPS] of a schedule's text: how many steps of each kind there are, and how many loops they tile together."""
    counts = dict.fromkeys(_KEYWORDS, 0)
    together = dict.fromkeys(_TOGETHER, 0)
    for keyword, arguments in _CLAUSE.findall(schedule):
        if keyword in counts:
            counts[keyword] += 1
        if keyword in together:
            loops = arguments.partition("]")[0].count(",") + 1
            together[keyword] = max(together[keyword], min(loops, _MANY))
    numbers = [min(count, _MANY) / _MANY for count in counts.values()]
    return np.array([*numbers, *(count / _MANY for count in together.values())], dtype=np.float32)


STEPS = len(_KEYWORDS) + len(_TOGETHER)


@dataclass(frozen=True, slots=True)
class Recipes:
    """Donors' schedules: `keys`; the vectors of the donors' nests [m, space]; `steps` [m, STEPS]; what each gained at
    its own nest, `gains` [m], logarithms."""

    keys: tuple[RecipeKey, ...]
    nests: Floats
    steps: Floats
    gains: Floats


@dataclass(frozen=True)
class Towers:
    """Several members of the same shape; what they say is averaged.

    `mean`, `scale` [numbers]: of a nest's numbers, 0 where a number is left out. `tensors`: those of the members,
    stacked [members, …]: `nest.0`, `nest.1`, `recipe.0`, `recipe.1`, each with a bias in its last row, and `anchors`
    [members, anchors, WIDTH + 1], which are added to the vectors of those recipes.
    """

    mean: Floats
    scale: Floats
    tensors: Mapping[str, Floats]
    anchors: tuple[RecipeKey, ...]
    card: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def towers_id(self) -> str:
        """12 hex digits of the numbers."""
        digest = hashlib.sha256()
        for tensor in (self.mean, self.scale, *(self.tensors[name] for name in sorted(self.tensors))):
            digest.update(np.ascontiguousarray(tensor).tobytes())
        return digest.hexdigest()[:12]

    def queries(self, nests: Floats) -> Floats:
        """[n, space] -> [n, members * (WIDTH + 2)]: what is multiplied with `recipes`."""
        inputs = standardized(nests, self.mean, self.scale)
        found = _through(inputs, self.tensors["nest.0"], self.tensors["nest.1"])
        ones = np.ones((*found.shape[:2], 1), dtype=np.float32)
        vectors = np.concatenate((found, ones), axis=2)  # [members, n, WIDTH + 2]
        return self._side_by_side(np.asarray(vectors / len(vectors), dtype=np.float32))

    def recipes(self, recipes: Recipes) -> Floats:
        """[m, members * (WIDTH + 2)]."""
        inputs = recipe_inputs(recipes, self.mean, self.scale)
        found = _through(inputs, self.tensors["recipe.0"], self.tensors["recipe.1"])
        places = {key: n for n, key in enumerate(self.anchors)}
        for row, key in enumerate(recipes.keys):
            if key in places:
                found[:, row] += self.tensors["anchors"][:, places[key]]
        ones = np.ones((*found.shape[:2], 1), dtype=np.float32)
        return self._side_by_side(np.concatenate((found[:, :, :-1], ones, found[:, :, -1:]), axis=2))

    @staticmethod
    def _side_by_side(vectors: Floats) -> Floats:
        members, rows, width = vectors.shape
        return np.ascontiguousarray(vectors.transpose(1, 0, 2).reshape(rows, members * width))

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises ModelUnusable."""
        tensors = {"mean": self.mean, "scale": self.scale, **self.tensors}
        told = {
            **self.card,
            "towers_id": self.towers_id,
            "version": VERSION,
            "anchors": [list(k) for k in self.anchors],
        }
        try:
            save_checkpoint(path, _KIND, tensors, told)
        except CheckpointError as problem:
            raise ModelUnusable(str(problem)) from None

    @staticmethod
    def load(path: Path) -> Towers:
        """Raises ModelUnusable unless the file is whole and made for the numbers of this program."""
        try:
            tensors, card = load_checkpoint(path, _KIND)
        except CheckpointError as problem:
            raise ModelUnusable(str(problem)) from None
        anchors = tuple((str(donor), int(number)) for donor, number in card.get("anchors", ()))
        if card.get("version") != VERSION or not _fits(tensors, len(anchors)):
            raise ModelUnusable(f"{path}: made for other numbers: train it again with perfembed train retrieval")
        found = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
        return Towers(found.pop("mean"), found.pop("scale"), found, anchors, card)


def _fits(tensors: Mapping[str, npt.NDArray[Any]], anchors: int) -> bool:
    names = {"mean", "scale", "nest.0", "nest.1", "recipe.0", "recipe.1", "anchors"}
    if set(tensors) != names:
        return False
    count, members = len(tensors["mean"]), len(tensors["nest.0"])
    hidden = tensors["nest.0"].shape[-1]
    return (
        tensors["scale"].shape == (count,)
        and tensors["nest.0"].shape == (members, count + 1, hidden)
        and tensors["recipe.0"].shape == (members, count + STEPS + 2, hidden)
        and all(tensors[name].shape == (members, hidden + 1, WIDTH + 1) for name in ("nest.1", "recipe.1"))
        and tensors["anchors"].shape == (members, anchors, WIDTH + 1)
    )


def usable_towers(folder: Path = SHIPPED) -> Towers:
    """Raises EnvironmentMissing, with advice."""
    try:
        return Towers.load(folder / NAME)
    except ModelUnusable as problem:
        raise EnvironmentMissing(str(problem), "perfembed train retrieval makes it") from None


def standardized(nests: Floats, mean: Floats, scale: Floats) -> Floats:
    """[n, numbers]; what a database of other numbers says is bounded."""
    return np.asarray(np.clip((nests - mean) * scale, -_BOUND, _BOUND) * (scale > 0), dtype=np.float32)


def recipe_inputs(recipes: Recipes, mean: Floats, scale: Floats) -> Floats:
    """[m, numbers + STEPS + 1]."""
    return np.concatenate((standardized(recipes.nests, mean, scale), recipes.steps, recipes.gains[:, None]), axis=1)


def _through(inputs: Floats, first: Floats, second: Floats) -> Floats:
    """[n, f] -> [members, n, out], through one hidden layer of rectified units."""
    hidden = np.maximum(inputs @ first[:, :-1] + first[:, -1:], 0.0)
    return np.asarray(hidden @ second[:, :-1] + second[:, -1:], dtype=np.float32)
