"""Means and standard deviations of what a network gets and gives: constants beside its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from perfembed.embedding.encoding.schema import NODE_KINDS
from perfembed.embedding.network.examples import Example, learned
from perfembed.embedding.network.gnn import Network, collate, profile_tensor


def standardize(network: Network, examples: Sequence[Example]) -> None:
    """Fills the buffers from what is known of the training examples."""
    features = collate([e.graph for e in examples]).features
    kinds = features[:, : len(NODE_KINDS)]
    nodes = torch.where((kinds @ network.node_has) > 0, features, math.nan)
    nodes[:, : len(NODE_KINDS)] = math.nan  # stay 0 and 1
    wanted = torch.from_numpy(learned(examples)).float()
    counts = profile_tensor([e.profile for e in examples])[:, : len(network.profile_mean)].clamp(min=0).log1p()
    for values, mean, std, least in (
        (nodes, network.node_mean, network.node_std, 0.05),
        (wanted, network.target_mean, network.target_std, 1e-3),
        (counts, network.profile_mean, network.profile_std, 1.0),  # counters that hardly ever count stay small
    ):
        for column in range(values.shape[1]):
            known = values[:, column][~values[:, column].isnan()]
            if len(known):
                mean[column] = known.mean()
                std[column] = max(float(known.std(correction=0)), least)
