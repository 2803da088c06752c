"""Graph attention in plain torch: what PyG computes, with the weights that ship, and nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from perfembed.embedding_model import load_embedding_model
from perfembed.model.attention import AttentionPool, GraphAttention, group_max, group_softmax, group_sum
from perfembed.model.gnn import DIMENSION, Network, NetworkSettings, collate, profile_tensor
from profilers.counters import feature_names
from tests.perfembed.embedding_support import MATMUL, STENCIL, graph
from tests.scheduler.nests import CHOLESKY, SPMM

STARTED = """
import sys
from perfembed.embedding_model import load_embedding_model
from scheduler.space import Target
from tests.perfembed.embedding_support import MATMUL, graph
(found,) = load_embedding_model().embed([graph(MATMUL)], None, Target(2))
assert found.vector.any() and "torch_geometric" not in sys.modules
"""


def test_groups() -> None:
    values, group = torch.tensor([[1.0, -5.0], [3.0, -1.0], [2.0, -2.0]]), torch.tensor([2, 0, 2])
    assert group_sum(values, group, 4).tolist() == [[3.0, -1.0], [0.0, 0.0], [3.0, -7.0], [0.0, 0.0]]
    assert group_max(values, group, 4).tolist() == [[3.0, -1.0], [0.0, 0.0], [2.0, -2.0], [0.0, 0.0]]
    weights = group_softmax(values, group, 4)
    assert weights[1].tolist() == [1.0, 1.0] and torch.allclose(weights[0] + weights[2], torch.ones(2))
    assert torch.allclose(group_softmax(values + 1000, group, 4), weights)
    assert group_sum(values[:0], group[:0], 1).tolist() == [[0.0, 0.0]]


def test_a_node_without_edges_keeps_what_it_is() -> None:
    torch.manual_seed(1)
    one = GraphAttention(8, 2, 3)
    x = torch.randn(3, 8)
    found = one(x, torch.tensor([[0], [1]]), torch.randn(1, 3))
    skipped = one.lin_skip(x)
    assert torch.equal(found[0], skipped[0]) and torch.equal(found[2], skipped[2])
    assert not torch.equal(found[1], skipped[1])


def test_the_same_as_pyg_with_the_weights_that_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # PyG writes modules there
    pyg = pytest.importorskip("torch_geometric.nn")
    ours = load_embedding_model().network
    theirs = Network(ours.settings)
    theirs.load_state_dict(ours.state_dict())
    for layer in theirs.layers:
        own = layer.attention
        assert isinstance(own, GraphAttention)
        layer.attention = pyg.TransformerConv(
            DIMENSION, own.channels, heads=own.heads, edge_dim=own.lin_edge.in_features
        )
        layer.attention.load_state_dict(own.state_dict())
    pool = pyg.AttentionalAggregation(theirs.pool.gate_nn, theirs.pool.nn)
    pool.load_state_dict(ours.pool.state_dict())
    theirs.pool = _Called(pool)  # type: ignore[assignment]
    theirs.eval()
    batch = collate([graph(text) for text in (MATMUL, STENCIL, SPMM, CHOLESKY)])
    profile = tuple(float(10 + 1000 * n) for n in range(len(feature_names())))
    given = profile_tensor([profile, None, None, profile])
    machine = torch.tensor([[0.125, 0.6, 1.9, 2.5, 3.1]]).expand(4, -1)
    with torch.inference_mode():
        a, b = ours(batch, given, machine), theirs(batch, given, machine)
        assert torch.equal(group_max(a.nodes, batch.graph, 4), pyg.global_max_pool(a.nodes, batch.graph, 4))
    for name in ("nodes", "graph", "nest", "metrics"):
        torch.testing.assert_close(getattr(a, name), getattr(b, name), rtol=1e-6, atol=1e-6)


class _Called(torch.nn.Module):
    """PyG's takes the number of graphs by name."""

    def __init__(self, pool: torch.nn.Module) -> None:
        super().__init__()
        self.pool = pool

    def forward(self, x: torch.Tensor, group: torch.Tensor, count: int) -> torch.Tensor:
        found = self.pool(x, group, dim_size=count)
        assert isinstance(found, torch.Tensor)
        return found


def test_gradients_are_those_of_pyg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pyg = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(2)
    ours, theirs = GraphAttention(8, 2, 3), pyg.TransformerConv(8, 4, heads=2, edge_dim=3)
    theirs.load_state_dict(ours.state_dict())
    x, edges, attributes = torch.randn(5, 8), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 1, 1, 4]]), torch.randn(5, 3)
    for one in (ours, theirs):
        one(x, edges, attributes).square().sum().backward()
    found = {name: parameter.grad for name, parameter in ours.named_parameters()}
    expected = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-5, atol=1e-6)


def test_the_names_of_the_weights() -> None:
    assert isinstance(Network(NetworkSettings()).pool, AttentionPool)
    assert {name for name, _ in GraphAttention(8, 2, 3).named_parameters()} == {
        *(f"lin_{which}.{part}" for which in ("key", "query", "value", "skip") for part in ("weight", "bias")),
        "lin_edge.weight",
    }


def test_embedding_leaves_no_file_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.getcwd()}
    subprocess.run([sys.executable, "-c", STARTED], env=environment, check=True, timeout=120)
    assert list(tmp_path.iterdir()) == []
