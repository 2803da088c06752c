"""What the tests of encoding and model share: nests as text, variants of them, graphs compared."""

from collections import Counter

import numpy as np
import torch

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.encoding.schema import NestGraph
from perfembed.embedding.network.gnn import EmbeddingModel, Network
from perfembed.embedding.network.interface import NetworkSettings
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest

SIZES = {"n": 200, "m": 300, "l": 400, "T": 10}

MATMUL = """nest matmul {
  param n: int in [1, ?];
  param m: int in [1, ?];
  param l: int in [1, ?];
  array A: double[n][l] const;
  array B: double[l][m] const;
  array C: double[n][m];
  for i: int in [0, n) step 1 {
    for j: int in [0, m) step 1 {
      for k: int in [0, l) step 1 { S0: C[i][j] += A[i][k] * B[k][j]; }
    }
  }
}"""

# The same with other names, arrays declared in another order, operands in another order, the update spelled out.
MATMUL_VARIANTS = (
    MATMUL.replace("A[i][k] * B[k][j]", "B[k][j] * A[i][k]"),
    MATMUL.replace("C[i][j] += A[i][k] * B[k][j]", "C[i][j] = C[i][j] + A[i][k] * B[k][j]"),
    MATMUL.replace("C[i][j] += A[i][k] * B[k][j]", "C[i][j] = B[k][j] * A[i][k] + C[i][j]"),
    """nest other {
  param n: int in [1, ?];
  param m: int in [1, ?];
  param l: int in [1, ?];
  array product: double[n][m];
  array right: double[l][m] const;
  array left: double[n][l] const;
  for row: int in [0, n) step 1 {
    for column: int in [0, m) step 1 {
      for inner: int in [0, l) step 1 { S0: product[row][column] += left[row][inner] * right[inner][column]; }
    }
  }
}""",
)

STENCIL = """nest stencil {
  param T: int in [1, ?];
  param n: int in [1, ?];
  array A: float[n][n];
  array B: float[n][n];
  for t: int in [0, T) step 1 {
    for i: int in [1, n - 1) step 1 {
      for j: int in [1, n - 1) step 1 { S0: B[i][j] = (A[i][j - 1] + A[i][j + 1] + A[i - 1][j]) / 3.0f; }
    }
    for i2: int in [1, n - 1) step 1 {
      for j2: int in [1, n - 1) step 1 { S1: A[i2][j2] = B[i2][j2]; }
    }
  }
}"""


def nest(text: str) -> LoopNest:
    return parse_nest(text)


def graph(text: str) -> NestGraph:
    return encode(parse_nest(text), SIZES)


def content(g: NestGraph) -> tuple[Counter[bytes], Counter[bytes]]:
    """Nodes and edges without names and order: equal for graphs that a network cannot tell apart by one layer."""
    nodes = Counter(row.tobytes() for row in g.features)
    edges = Counter(
        g.features[a].tobytes() + g.features[b].tobytes() + row.tobytes()
        for (a, b), row in zip(g.edges.T, g.edge_features, strict=True)
    )
    return nodes, edges


def permuted(g: NestGraph, seed: int) -> NestGraph:
    """The same graph with nodes and edges in another order."""
    rng = np.random.default_rng(seed)
    order, edges = rng.permutation(len(g.nodes)), rng.permutation(g.edges.shape[1])
    place = np.argsort(order)
    return NestGraph(
        tuple(g.nodes[n] for n in order), g.features[order], place[g.edges][:, edges], g.edge_features[edges]
    )


def tiny_model(seed: int = 0) -> EmbeddingModel:
    """Untrained, but with all parts: the same for the same seed."""
    torch.manual_seed(seed)
    return EmbeddingModel(Network(NetworkSettings(layers=1, heads=2, fusion=16)), {})
