"""The performance embedding: a graph and, where there is one, a profile become a vector of 128 numbers.

Source: Trümper et al. 2023 (Performance Embeddings, ICS), section 3: graph transformer layers with edge attributes
(Shi et al. 2021, PyG's TransformerConv), attentional pooling, the 95 profile features in a linear branch of their own,
an MLP that fuses both, and a head that predicts 20 metrics. Beyond the paper: numbers of the machine are an input, a
flag says whether there is a profile, so that one space serves with and without, and flags say which counters are known
and who counted; maxima over nodes are pooled too, the profile's branch has hidden layers beside the linear one, and the
profile reaches the embedding, and that the metrics, on linear ways as well: the logarithm of a rate is a difference of
those of counts. The embedding has length 1: what is trained is what is indexed.

Shapes: N nodes and M edges of B graphs together, F node and E edge features (`perfembed.embedding.encoding.schema`).
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch_geometric.nn import AttentionalAggregation, TransformerConv, global_max_pool

from perfembed.embedding.encoding.schema import NODE_KINDS, NestGraph, columns, edge_features, node_features
from perfembed.embedding.network.interface import (
    DIMENSION,
    MACHINE_NUMBERS,
    Embedding,
    Machine,
    NetworkSettings,
    machine_numbers,
    profile_width,
    told_width,
    weights_id,
)
from perfembed.embedding.network.targets import from_learned, targets
from profilers.contained.scratch import scratch_folder
from profilers.counters import STATISTICS, feature_names
from scheduler.machine.target import Target

_BATCH = 64  # graphs embedded at once
_FEW = 8  # graphs too few to be worth several threads


@dataclass(frozen=True, slots=True)
class Batch:
    """Graphs side by side: `features` [N, F], `edges` [2, M], `edge_features` [M, E], `graph` [N]: whose node."""

    features: Tensor
    edges: Tensor
    edge_features: Tensor
    graph: Tensor
    sizes: tuple[int, ...]

    def to(self, device: torch.device) -> Batch:
        edges, graph = self.edges.to(device), self.graph.to(device)
        return Batch(self.features.to(device), edges, self.edge_features.to(device), graph, self.sizes)


@dataclass(frozen=True, slots=True)
class Output:
    """`nodes` [N, 128], `graph` [B, 128], `nest` [B, 128] of length 1, `metrics` [B, 20] (as learned, standardized)."""

    nodes: Tensor
    graph: Tensor
    nest: Tensor
    metrics: Tensor


def collate(graphs: Sequence[NestGraph]) -> Batch:
    """Graphs of any sizes as one batch. Raises ValueError without any."""
    if not graphs:
        raise ValueError("a batch of no graphs")
    sizes = [len(g.nodes) for g in graphs]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    return Batch(
        torch.from_numpy(np.concatenate([g.features for g in graphs])),
        torch.from_numpy(np.concatenate([g.edges + s for g, s in zip(graphs, starts, strict=True)], axis=1)),
        torch.from_numpy(np.concatenate([g.edge_features for g in graphs])),
        torch.repeat_interleave(torch.tensor(sizes)),
        tuple(sizes),
    )


def profile_tensor(profiles: Sequence[Sequence[float] | None]) -> Tensor:
    """[B, 98]; a row of NaN where there is no profile, NaN where a counter is missing."""
    missing = (math.nan,) * profile_width()
    return torch.tensor([missing if p is None else tuple(p) for p in profiles], dtype=torch.float32)


@contextlib.contextmanager
def _temporary_files_removed() -> Iterator[None]:
    """PyG writes modules for its layers to the folder for temporary files, imports them, and leaves them there."""
    before = tempfile.tempdir
    with scratch_folder() as folder:
        tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before


class Layer(nn.Module):
    """x + attention(norm x), then x + MLP(norm x)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(DIMENSION)
        with _temporary_files_removed():
            self.attention = TransformerConv(DIMENSION, DIMENSION // heads, heads=heads, edge_dim=len(edge_features()))
        self.between = nn.LayerNorm(DIMENSION)
        self.update = nn.Sequential(nn.Linear(DIMENSION, 2 * DIMENSION), nn.GELU(), nn.Linear(2 * DIMENSION, DIMENSION))

    def forward(self, x: Tensor, edges: Tensor, attributes: Tensor) -> Tensor:  # [N, 128] -> [N, 128]
        x = x + self.attention(self.before(x), edges, attributes)
        return x + self.update(self.between(x))  # type: ignore[no-any-return]


class Network(nn.Module):
    """Standardization constants of features, profiles and targets are buffers, and so part of the weights."""

    node_mean: Tensor  # [F], over the nodes that have the feature
    node_std: Tensor
    node_has: Tensor  # [kinds, F]: which kind of node has which feature
    profile_mean: Tensor  # [95], of log(1 + count)
    profile_std: Tensor
    target_mean: Tensor  # [20], of scaled metrics
    target_std: Tensor

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        self.settings = settings
        counts, outputs = len(feature_names()), len(targets())
        self.enter = nn.Linear(len(node_features()), DIMENSION)
        self.layers = nn.ModuleList(Layer(settings.heads) for _ in range(settings.layers))
        self.leave = nn.LayerNorm(DIMENSION)
        gate = nn.Sequential(nn.Linear(DIMENSION, DIMENSION // 2), nn.ReLU(), nn.Linear(DIMENSION // 2, 1))
        self.pool = AttentionalAggregation(gate, nn.Linear(DIMENSION, DIMENSION))
        self.summary = nn.Linear(2 * DIMENSION, DIMENSION)
        self.profile = nn.Linear(told_width(), DIMENSION)
        width = settings.fusion
        self.detail = nn.Sequential(
            nn.Linear(told_width(), width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, DIMENSION)
        )
        self.fuse = nn.Sequential(
            nn.Linear(2 * DIMENSION + 1 + len(MACHINE_NUMBERS), settings.fusion),
            nn.GELU(),
            nn.Linear(settings.fusion, DIMENSION),
        )
        self.head = nn.Sequential(nn.GELU(), nn.Linear(DIMENSION, DIMENSION), nn.GELU(), nn.Linear(DIMENSION, outputs))
        self.straight = nn.Linear(DIMENSION, outputs)
        self.register_buffer("node_has", _features_of_kinds())
        for name, size in (("node", len(node_features())), ("profile", counts), ("target", outputs)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_std", torch.ones(size))

    def forward(self, batch: Batch, profiles: Tensor, machine: Tensor, hidden: Tensor | None = None) -> Output:
        """`profiles` [B, 98] as `profile_tensor` gives them, `machine` [B, 5]; `hidden` [B, 1]: 1 where the profile has
        to do without the graph (in training).
        """
        has = batch.features[:, : len(NODE_KINDS)] @ self.node_has  # [N, F]
        x = self.enter((batch.features - self.node_mean) / self.node_std * has)  # [N, 128]
        for layer in self.layers:
            x = layer(x, batch.edges, batch.edge_features)
        nodes = self.leave(x)
        count = len(batch.sizes)
        pooled = (self.pool(nodes, batch.graph, dim_size=count), global_max_pool(nodes, batch.graph, count))
        graph = self.summary(torch.cat(pooled, dim=1))  # [B, 128]
        counts, sources = profiles[:, : len(self.profile_mean)], profiles[:, len(self.profile_mean) :]
        known = ~counts.isnan()
        given = known.any(1, keepdim=True).float()  # [B, 1]
        standard = (counts.clamp(min=0).log1p() - self.profile_mean) / self.profile_std
        each = known[:, :: len(STATISTICS)].float()  # [B, 19]
        told = torch.cat((torch.where(known, standard, 0.0), each, sources.nan_to_num()), dim=1)  # [B, 117]
        seen = (self.profile(told) + self.detail(told)) * given  # [B, 128]
        static = graph if hidden is None else graph * (1 - hidden)
        nest = seen + self.fuse(torch.cat((static, seen, given, machine), dim=1))  # [B, 128]
        nest = nn.functional.normalize(nest, dim=1)
        scaled = nest * math.sqrt(DIMENSION)  # numbers of about 1
        return Output(nodes, graph, nest, self.head(scaled) + self.straight(scaled))


class EmbeddingModel:
    """A trained network (`EmbedsNests`). `card`: where it comes from (data, seed, settings, errors); plain JSON."""

    def __init__(self, network: Network, card: Mapping[str, Any]) -> None:
        self.network = network.eval()
        self.card = dict(card)
        self.model_id = weights_hash(network)

    def embed(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> list[Embedding]:
        """One embedding a graph; `profiles` are rows of `profile_numbers`, None where there is none."""
        found: list[Embedding] = []
        for output, sizes in self._run(graphs, profiles, machine):
            nodes = torch.split(output.nodes, list(sizes))
            found += [Embedding(v.numpy(), n.numpy()) for v, n in zip(output.nest, nodes, strict=True)]
        return found

    def predict(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> npt.NDArray[np.float64]:
        """The 20 metrics of each graph [n, 20], in their units and the order of `profilers.counters.metrics`."""
        rows = [
            (output.metrics * self.network.target_std.cpu() + self.network.target_mean.cpu()).numpy()
            for output, _ in self._run(graphs, profiles, machine)
        ]
        return from_learned(np.concatenate(rows)) if rows else np.zeros((0, len(targets())))

    def _run(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> list[tuple[Output, tuple[int, ...]]]:
        if profiles is not None and len(profiles) != len(graphs):
            raise ValueError(f"{len(graphs)} graphs with {len(profiles)} profiles")
        rows = profiles if profiles is not None else [None] * len(graphs)
        device, numbers = (
            self.network.target_mean.device,
            torch.tensor(machine_numbers(machine) if isinstance(machine, Target) else machine),
        )
        found = []
        threads = 1 if len(graphs) <= _FEW else torch.get_num_threads()
        with torch.inference_mode(), torch_threads(threads):
            for first in range(0, len(graphs), _BATCH):
                batch = collate(graphs[first : first + _BATCH])
                given = profile_tensor(rows[first : first + _BATCH]).to(device)
                output = self.network(batch.to(device), given, numbers.expand(len(batch.sizes), -1).to(device))
                moved = (t.cpu() for t in (output.nodes, output.graph, output.nest, output.metrics))
                found.append((Output(*moved), batch.sizes))
        return found


def weights_hash(network: nn.Module) -> str:
    """The `weights_id` of a network."""
    return weights_id({name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()})


def _features_of_kinds() -> Tensor:
    """[kinds, F]: 1 where nodes of the kind have the feature; the columns of the kinds themselves are first."""
    found = torch.zeros(len(NODE_KINDS), len(node_features()))
    for (kind, _), column in columns().items():
        found[NODE_KINDS.index(kind), column] = 1.0
    return found


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads inside, as many as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
