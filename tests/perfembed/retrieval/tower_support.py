"""Nests and recipes that gain what their numbers say: a recipe helps nests of its own kind."""

import numpy as np

from perfembed.retrieval.tower_training import TowerExamples
from perfembed.retrieval.towers import STEPS, Recipes

NUMBERS = 6


def examples(count: int = 48, recipes: int = 20, seed: int = 0) -> TowerExamples:
    """Of nests with x0 > 0 the recipes of donors with x0 > 0 gain 1, of the others those of the others."""
    rng = np.random.default_rng(seed)
    nests = rng.standard_normal((count, NUMBERS)).astype(np.float32)
    donors = rng.standard_normal((recipes, NUMBERS)).astype(np.float32)
    made = Recipes(
        tuple((f"d{n}", 0) for n in range(recipes)),
        donors,
        np.zeros((recipes, STEPS), dtype=np.float32),
        np.ones(recipes, dtype=np.float32),
    )
    gains = ((nests[:, :1] > 0) == (donors[:, 0] > 0)).astype(np.float64)
    asked = tuple(np.sort(rng.choice(recipes, recipes // 2, replace=False)) for _ in range(count))
    return TowerExamples(nests, made, asked, tuple(row[chosen] for row, chosen in zip(gains, asked, strict=True)))
