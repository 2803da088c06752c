"""Trains the two towers on the cross-transfer matrix.

The loss is listwise, weighted with regret: of the recipes that were asked for a nest one is drawn with the softmax of
what the towers say; what that loses against the best of them, in the mean, is made small. A Huber loss beside it keeps
what they say in units of log gain. (Listwise: Cao et al. 2007; expected regret in the place of likelihood.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.retrieval.towers import STEPS, WIDTH, Floats, RecipeKey, Recipes, Towers, recipe_inputs, standardized

_CONSTANT = 1e-7  # what varies less was the same in training


@dataclass(frozen=True, slots=True)
class TowerSettings:
    """`huber` is the weight of the loss beside the listwise one, `sharpness` of the softmax a unit of log gain,
    `dropout` the share of a nest's numbers that are left out in each step."""

    members: int = 8
    hidden: int = 48
    steps: int = 200
    rate: float = 1e-3
    decay: float = 0.05
    anchor_decay: float = 0.05
    dropout: float = 0.3
    huber: float = 0.5
    sharpness: float = 6.0


@dataclass(frozen=True, slots=True)
class TowerExamples:
    """`nests` [n, space]; of each the positions of `recipes` that were asked and their gains (logarithms)."""

    nests: Floats
    recipes: Recipes
    asked: tuple[npt.NDArray[np.int64], ...]
    gains: tuple[npt.NDArray[np.float64], ...]


def train_towers(
    examples: TowerExamples,
    used: npt.NDArray[np.bool_],
    anchors: Sequence[RecipeKey],
    seed: int,
    settings: TowerSettings = TowerSettings(),
    card: Mapping[str, Any] | None = None,
) -> Towers:
    """`used` [space]: which of a nest's numbers they may look at. The same input, seed and number of threads give the
    same towers on one machine. Raises ValueError without nests.
    """
    import torch

    if not len(examples.nests):
        raise ValueError("towers need nests")
    every = np.concatenate((examples.nests, examples.recipes.nests))
    mean, spread = every.mean(axis=0).astype(np.float32), every.std(axis=0)
    scale = np.where(used & (spread > _CONSTANT), 1.0 / np.maximum(spread, _CONSTANT), 0.0).astype(np.float32)
    nests = torch.from_numpy(standardized(examples.nests, mean, scale))
    recipes = torch.from_numpy(recipe_inputs(examples.recipes, mean, scale))
    asked, gains, mask = _padded(examples)
    best = gains.masked_fill(~mask, -1e9).max(dim=1).values
    places = {key: n for n, key in enumerate(anchors)}
    anchor_of = torch.tensor([places.get(key, len(anchors)) for key in examples.recipes.keys])
    generator = torch.Generator().manual_seed(seed)
    count = nests.shape[1]

    def layer(rows: int, columns: int) -> torch.nn.Parameter:
        start = torch.randn(settings.members, rows + 1, columns, generator=generator) / max(rows, 1) ** 0.5
        start[:, -1] = 0.0
        return torch.nn.Parameter(start)

    layers = {
        "nest.0": layer(count, settings.hidden),
        "nest.1": layer(settings.hidden, WIDTH + 1),
        "recipe.0": layer(count + STEPS + 1, settings.hidden),
        "recipe.1": layer(settings.hidden, WIDTH + 1),
    }
    own = torch.nn.Parameter(torch.zeros(settings.members, len(anchors) + 1, WIDTH + 1))
    optimizer = torch.optim.AdamW(
        [
            {"params": list(layers.values()), "weight_decay": settings.decay},
            {"params": [own], "weight_decay": settings.anchor_decay},
        ],
        lr=settings.rate,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps)

    def through(inputs: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(inputs @ first[:, :-1] + first[:, -1:])
        found: torch.Tensor = hidden @ second[:, :-1] + second[:, -1:]
        return found

    def dropped(inputs: torch.Tensor, columns: int) -> torch.Tensor:
        kept = (torch.rand(settings.members, 1, columns, generator=generator) >= settings.dropout).float()
        whole = torch.ones(settings.members, 1, inputs.shape[1])
        whole[:, :, :columns] = kept / (1 - settings.dropout)
        return inputs[None] * whole

    known = torch.cat((torch.ones(len(anchors)), torch.zeros(1)))[None, :, None]
    loss = torch.zeros(())
    for _ in range(settings.steps):
        query = through(dropped(nests, count), layers["nest.0"], layers["nest.1"])  # [members, n, WIDTH + 1]
        recipe = through(dropped(recipes, count), layers["recipe.0"], layers["recipe.1"])
        recipe = recipe + (own * known)[:, anchor_of]
        product = query[:, :, :-1] @ recipe[:, :, :-1].transpose(1, 2)
        said = product + query[:, :, -1:] + recipe[:, :, -1][:, None]  # [members, n, m]
        chosen = said.gather(2, asked[None].expand(settings.members, -1, -1))
        chances = (settings.sharpness * chosen).masked_fill(~mask, -1e9).softmax(dim=2)
        regret = best - (chances * gains).sum(dim=2)
        huber = torch.nn.functional.huber_loss(chosen, gains.expand_as(chosen), reduction="none", delta=0.5)
        fit = (huber * mask).sum(dim=2) / mask.sum(dim=1)
        loss = (regret + settings.huber * fit).mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    tensors = {name: tensor.detach().numpy().astype(np.float32) for name, tensor in layers.items()}
    tensors["anchors"] = own.detach().numpy().astype(np.float32)[:, :-1]
    told = {
        **(card or {}),
        "nests": len(examples.nests),
        "recipes": len(examples.recipes.keys),
        "labels": int(mask.sum()),
        "seed": seed,
        "loss": float(loss.detach()) / settings.members,
    }
    return Towers(mean, scale, tensors, tuple(anchors), told)


def _padded(examples: TowerExamples) -> tuple[Any, Any, Any]:
    """(positions of recipes, gains, which there are), each [n, most]."""
    import torch

    most = max(len(one) for one in examples.asked)
    asked = torch.zeros(len(examples.asked), most, dtype=torch.int64)
    gains = torch.zeros(len(examples.asked), most)
    mask = torch.zeros(len(examples.asked), most, dtype=torch.bool)
    for row, (positions, found) in enumerate(zip(examples.asked, examples.gains, strict=True)):
        asked[row, : len(positions)] = torch.from_numpy(positions)
        gains[row, : len(positions)] = torch.from_numpy(found).float()
        mask[row, : len(positions)] = True
    return asked, gains, mask
