"""The network of `perfembed.embedding.network.gnn`, forward only in NumPy: importing torch takes seconds and 300 MB.

`gnn` defines and trains the network; tests hold this to its numbers. Shapes: N nodes and M edges of B graphs together.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.schema import NODE_KINDS, NestGraph, edge_features, node_features
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
from profilers.counters import STATISTICS, feature_names
from scheduler.machine.target import Target

Floats = npt.NDArray[np.float32]
_BATCH = 64  # graphs embedded at once
_FEW = 8  # graphs too few to be worth several threads
_EPSILON = np.float32(1e-5)  # of torch's LayerNorm
_SHORTEST = np.float32(1e-12)  # of torch's normalize
_NOTHING = np.float32(1e-16)  # of torch_geometric's softmax
# Of the rational approximation of erf in Eigen (Eigen/src/SpecialFunctions, generic_fast_erf_float), highest first.
_ERF_LIMIT = np.float32(4)
_ERF_NUMERATOR = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
    -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_ERF_DENOMINATOR = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02,
)  # fmt: skip


def weight_shapes(settings: NetworkSettings) -> dict[str, tuple[int, ...]]:
    """Name and shape of all weights and constants, as `torch`'s state dictionaries name them."""
    d, counts, outputs, width = DIMENSION, len(feature_names()), len(targets()), settings.fusion
    nodes, edges = len(node_features()), len(edge_features())
    found: dict[str, tuple[int, ...]] = {"node_has": (len(NODE_KINDS), nodes)}
    for name, size in (("node", nodes), ("profile", counts), ("target", outputs)):
        found |= {f"{name}_mean": (size,), f"{name}_std": (size,)}
    linear = {"enter": (d, nodes), "summary": (d, 2 * d), "profile": (d, told_width()), "straight": (outputs, d)}
    linear |= {"pool.gate_nn.0": (d // 2, d), "pool.gate_nn.2": (1, d // 2), "pool.nn": (d, d)}
    linear |= {"detail.0": (width, told_width()), "detail.2": (width, width), "detail.4": (d, width)}
    linear |= {"fuse.0": (width, 2 * d + 1 + len(MACHINE_NUMBERS)), "fuse.2": (d, width)}
    linear |= {"head.1": (d, d), "head.3": (outputs, d)}
    norms = ["leave"]
    for k in range(settings.layers):
        linear |= {f"layers.{k}.attention.lin_{part}": (d, d) for part in ("key", "query", "value", "skip")}
        linear |= {f"layers.{k}.update.0": (2 * d, d), f"layers.{k}.update.2": (d, 2 * d)}
        found[f"layers.{k}.attention.lin_edge.weight"] = (d, edges)
        norms += [f"layers.{k}.before", f"layers.{k}.between"]
    for name, (rows, columns) in linear.items():
        found |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    for name in norms:
        found |= {f"{name}.weight": (d,), f"{name}.bias": (d,)}
    return found


@dataclass(frozen=True, slots=True)
class _Segments:
    """Rows that belong together, side by side: `order` [rows] sorts them, `starts` [k] are where groups begin then,
    `groups` [k] which these are."""

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    groups: npt.NDArray[np.intp]
    sizes: npt.NDArray[np.intp]

    @staticmethod
    def of(owners: npt.NDArray[np.int64]) -> _Segments:
        order = np.argsort(owners, kind="stable")
        groups, starts, sizes = np.unique(owners[order], return_index=True, return_counts=True)
        return _Segments(order, starts, groups, sizes)

    def softmax(self, sorted_rows: Floats) -> Floats:
        """Within each group and column."""
        most = np.repeat(np.maximum.reduceat(sorted_rows, self.starts), self.sizes, axis=0)
        powers = np.exp(sorted_rows - most)
        return np.asarray(powers / (np.repeat(self.sum(powers), self.sizes, axis=0) + _NOTHING), np.float32)

    def sum(self, sorted_rows: Floats) -> Floats:
        """[k, …]"""
        return np.asarray(np.add.reduceat(sorted_rows, self.starts), np.float32)


class NumpyEmbeddingModel:
    """A trained network (`EmbedsNests`). `card`: where it comes from."""

    def __init__(
        self, settings: NetworkSettings, arrays: Mapping[str, npt.NDArray[Any]], card: Mapping[str, Any]
    ) -> None:
        """Raises ValueError for weights of other names or shapes than the settings lead to."""
        expected = weight_shapes(settings)
        if wrong := sorted(expected.keys() ^ arrays.keys()):
            raise ValueError(f"weights {', '.join(wrong[:3])} are missing or not of this network")
        for name, shape in expected.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        self.settings = settings
        self.card = dict(card)
        self.model_id = weights_id(arrays)
        self._weights = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}

    def embed(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> list[Embedding]:
        """As `EmbedsNests.embed`."""
        found: list[Embedding] = []
        for batch, rows in self._batches(graphs, profiles):
            nodes, nest = self._forward(batch, rows, machine)
            ends = np.cumsum([len(graph.nodes) for graph in batch])
            found += [Embedding(v, n) for v, n in zip(nest, np.split(nodes, ends[:-1]), strict=True)]
        return found

    def predict(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> npt.NDArray[np.float64]:
        """As `EmbedsNests.predict`."""
        w, rows = self._weights, []
        for batch, given in self._batches(graphs, profiles):
            _, nest = self._forward(batch, given, machine)
            nest = nest * np.float32(math.sqrt(DIMENSION))
            head = self._linear("head.3", _gelu(self._linear("head.1", _gelu(nest))))
            learned = head + self._linear("straight", nest)
            rows.append(learned * w["target_std"] + w["target_mean"])
        return from_learned(np.concatenate(rows)) if rows else np.zeros((0, len(targets())))

    @staticmethod
    def _batches(
        graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None
    ) -> list[tuple[Sequence[NestGraph], Floats]]:
        """Graphs with their profiles [B, 98], NaN where there is none or a counter is missing."""
        if profiles is not None and len(profiles) != len(graphs):
            raise ValueError(f"{len(graphs)} graphs with {len(profiles)} profiles")
        rows = np.full((len(graphs), profile_width()), np.nan, dtype=np.float32)
        for number, profile in enumerate(profiles or ()):
            if profile is not None:
                rows[number] = profile
        return [(graphs[k : k + _BATCH], rows[k : k + _BATCH]) for k in range(0, len(graphs), _BATCH)]

    def _forward(self, graphs: Sequence[NestGraph], profiles: Floats, machine: Machine) -> tuple[Floats, Floats]:
        """(nodes [N, 128], nests [B, 128])"""
        with _blas_threads().limit(limits=1, user_api="blas") if len(graphs) <= _FEW else contextlib.nullcontext():
            return self._run(graphs, profiles, machine)

    def _run(self, graphs: Sequence[NestGraph], profiles: Floats, machine: Machine) -> tuple[Floats, Floats]:
        w = self._weights
        sizes = np.array([len(graph.nodes) for graph in graphs])
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        features = np.concatenate([graph.features for graph in graphs])
        edges = np.concatenate([g.edges + s for g, s in zip(graphs, starts, strict=True)], axis=1)
        into = _Segments.of(edges[1])
        sources = edges[0][into.order]
        attributes = np.concatenate([graph.edge_features for graph in graphs])[into.order]
        has = features[:, : len(NODE_KINDS)] @ w["node_has"]
        x = self._linear("enter", (features - w["node_mean"]) / w["node_std"] * has)
        for k in range(self.settings.layers):
            layer = f"layers.{k}"
            x = x + self._attention(f"{layer}.attention", self._norm(f"{layer}.before", x), sources, attributes, into)
            inner = _gelu(self._linear(f"{layer}.update.0", self._norm(f"{layer}.between", x)))
            x = x + self._linear(f"{layer}.update.2", inner)
        nodes = self._norm("leave", x)
        graph = self._pooled(nodes, _Segments.of(np.repeat(np.arange(len(graphs)), sizes)))
        counts, sources = np.split(profiles, [len(w["profile_mean"])], axis=1)
        known = ~np.isnan(counts)
        given = known.any(axis=1, keepdims=True).astype(np.float32)
        standard = (np.log1p(np.maximum(np.where(known, counts, 0), 0)) - w["profile_mean"]) / w["profile_std"]
        each = known[:, :: len(STATISTICS)].astype(np.float32)
        told = np.concatenate((np.where(known, standard, np.float32(0)), each, np.nan_to_num(sources)), axis=1)
        detail = _gelu(self._linear("detail.2", _gelu(self._linear("detail.0", told))))
        seen = (self._linear("profile", told) + self._linear("detail.4", detail)) * given
        numbers = np.array(machine_numbers(machine) if isinstance(machine, Target) else machine, dtype=np.float32)
        joined = np.concatenate((graph, seen, given, np.tile(numbers, (len(graphs), 1))), axis=1)
        nest = seen + self._linear("fuse.2", _gelu(self._linear("fuse.0", joined)))
        lengths = np.linalg.norm(nest, axis=1, keepdims=True)
        return nodes, nest / np.maximum(lengths, _SHORTEST)

    def _attention(
        self, name: str, x: Floats, sources: npt.NDArray[np.int64], attributes: Floats, into: _Segments
    ) -> Floats:
        """PyG's TransformerConv (Shi et al. 2021): [N, 128] -> [N, 128]; edges stand in the order of `into`."""
        heads = (-1, self.settings.heads, DIMENSION // self.settings.heads)
        out = self._linear(f"{name}.lin_skip", x)
        if not len(sources):
            return out
        edge = attributes @ self._weights[f"{name}.lin_edge.weight"].T
        key, value = (self._linear(f"{name}.lin_{part}", x)[sources] + edge for part in ("key", "value"))
        query = np.repeat(self._linear(f"{name}.lin_query", x)[into.groups], into.sizes, axis=0)
        scores = (query * key).reshape(heads).sum(axis=2) / np.float32(math.sqrt(heads[2]))
        messages = value.reshape(heads) * into.softmax(scores)[:, :, None]
        out[into.groups] += into.sum(messages.reshape(-1, DIMENSION))
        return out

    def _pooled(self, nodes: Floats, graphs: _Segments) -> Floats:
        """[B, 128]: attentional pooling and maxima. Every graph has nodes, so that `graphs` are all, in order."""
        gate = self._linear("pool.gate_nn.2", np.maximum(self._linear("pool.gate_nn.0", nodes), 0))
        weighed = graphs.sum(graphs.softmax(gate) * self._linear("pool.nn", nodes))
        most = np.maximum.reduceat(nodes, graphs.starts)
        return self._linear("summary", np.concatenate((weighed, most), axis=1))

    def _linear(self, name: str, x: Floats) -> Floats:
        return np.asarray(x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"], np.float32)

    def _norm(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + _EPSILON)
        return np.asarray(centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"], np.float32)


@cache
def _blas_threads() -> Any:
    """What limits the threads of NumPy's linear algebra."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _gelu(x: Floats) -> Floats:
    return np.asarray(np.float32(0.5) * x * (1 + erf(x * np.float32(1 / math.sqrt(2)))), np.float32)


def erf(x: Floats) -> Floats:
    """The error function to 5e-7; SciPy's would cost the import of SciPy."""
    x = np.clip(x, -_ERF_LIMIT, _ERF_LIMIT)
    square = x * x
    return np.asarray(x * _polynomial(square, _ERF_NUMERATOR) / _polynomial(square, _ERF_DENOMINATOR), np.float32)


def _polynomial(x: Floats, coefficients: Sequence[float]) -> Floats:
    found = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found *= x
        found += np.float32(coefficient)
    return found
