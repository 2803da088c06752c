"""Losses that place nests: near are those whose good schedules are alike."""

from __future__ import annotations

import torch
from torch import Tensor


def contrastive_loss(vectors: Tensor, similar: Tensor, margin: float) -> Tensor:
    """Hadsell et al. 2006, equation 4, over the pairs that are known (not NaN), with partial similarity.

    `vectors` [b, 128] of length 1, `similar` [b, b]. 0 without a known pair.
    """
    rows, columns = torch.triu_indices(len(vectors), len(vectors), offset=1, device=vectors.device)
    wanted = similar[rows, columns]
    known = ~wanted.isnan()
    rows, columns, wanted = rows[known], columns[known], wanted[known]
    if not len(wanted):
        return vectors.sum() * 0
    squares = (vectors[rows] - vectors[columns]).square().sum(1)
    apart = (margin - (squares + 1e-12).sqrt()).clamp(min=0).square()
    return (wanted * squares + (1 - wanted) * apart).mean()


def stress_loss(vectors: Tensor, metrics: Tensor) -> Tensor:
    """Kruskal 1964 (multidimensional scaling): squared differences between distances of nests and of their metrics.

    `vectors` [b, 128] of length 1, whose distances are stretched as fits best; `metrics` [b, 20] standardized, NaN
    where unknown, whose distances are root mean squares, of what both nests have. 0 without a pair.
    """
    rows, columns = torch.triu_indices(len(vectors), len(vectors), offset=1, device=vectors.device)
    apart = metrics[rows] - metrics[columns]
    known = ~apart.isnan()
    count = known.sum(1)
    rows, columns, apart, known, count = (t[count > 0] for t in (rows, columns, apart, known, count))
    if not len(count):
        return vectors.sum() * 0
    wanted = (torch.where(known, apart, 0.0).square().sum(1) / count).sqrt()
    found = ((vectors[rows] - vectors[columns]).square().sum(1) + 1e-12).sqrt()
    stretch = (found * wanted).sum() / found.square().sum()
    return (stretch * found - wanted).square().mean()
