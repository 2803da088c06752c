"""The network and the model around it: what an embedding depends on, and what not."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from perfembed.embedding.encoding.schema import edge_features, node_features
from perfembed.embedding.network.gnn import EmbeddingModel, Network, collate, profile_tensor
from perfembed.embedding.network.interface import DIMENSION, SOURCES, NetworkSettings, machine_numbers
from perfembed.embedding.network.nodes import GraphNodeEmbedder
from profilers.counters import feature_names
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from tests.perfembed.embedding_support import MATMUL, MATMUL_VARIANTS, SIZES, STENCIL, graph, nest, permuted
from tests.scheduler.nests import CHOLESKY, SPMM

torch.set_num_threads(1)  # the networks are small
HERE = Target(2)
COUNTS = tuple(float(10 + 1000 * n) for n in range(len(feature_names())))
SIMULATED, PERF, LIKWID = (tuple(float(s == source) for s in SOURCES) for source in SOURCES)
PROFILE = COUNTS + SIMULATED


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    torch.manual_seed(1)
    return EmbeddingModel(Network(NetworkSettings()), {})


def test_shapes(model: EmbeddingModel) -> None:
    graphs = [graph(t) for t in (MATMUL, STENCIL, SPMM)]
    found = model.embed(graphs, None, HERE)
    for one, g in zip(found, graphs, strict=True):
        assert one.vector.shape == (DIMENSION,) and one.vector.dtype == np.float32
        assert np.linalg.norm(one.vector) == pytest.approx(1, abs=1e-5)
        assert one.nodes.shape == (len(g.nodes), DIMENSION) and np.isfinite(one.nodes).all()
    assert model.predict(graphs, None, HERE).shape == (3, 20)
    assert model.embed([], None, HERE) == [] and model.predict([], None, HERE).shape == (0, 20)
    with pytest.raises(ValueError, match="3 graphs with 1 profiles"):
        model.embed(graphs, [None], HERE)


def test_one_by_one_or_together(model: EmbeddingModel) -> None:
    graphs = [graph(t) for t in (MATMUL, STENCIL, SPMM, CHOLESKY)] * 20
    together = model.embed(graphs, [PROFILE, None] * 40, HERE)
    for position in (0, 1, 2, 3, 79):
        (alone,) = model.embed([graphs[position]], [[PROFILE, None][position % 2]], HERE)
        assert alone.vector == pytest.approx(together[position].vector, abs=1e-4)
        assert alone.nodes == pytest.approx(together[position].nodes, abs=1e-4)


def test_where_the_profile_has_to_do_alone_the_graph_leaves_no_trace(model: EmbeddingModel) -> None:
    batch, profiles = collate([graph(MATMUL), graph(STENCIL)]), profile_tensor([PROFILE, PROFILE])
    machine = torch.tensor(machine_numbers(HERE)).expand(2, -1)
    with torch.inference_mode():
        for hidden, same in ((torch.ones(2, 1), True), (torch.zeros(2, 1), False), (None, False)):
            metrics = model.network(batch, profiles, machine, hidden).metrics
            # Rows of one product may be rounded differently.
            assert torch.allclose(metrics[0], metrics[1], rtol=1e-4, atol=1e-5) == same


def test_order_of_nodes_and_edges_does_not_matter(model: EmbeddingModel) -> None:
    g = graph(STENCIL)
    shuffled = permuted(g, 4)
    one, other = model.embed([g, shuffled], None, HERE)
    assert one.vector == pytest.approx(other.vector, abs=1e-4)
    names = {node: n for n, node in enumerate(g.nodes) if node.kind != "memlet"}
    for position, node in enumerate(shuffled.nodes):
        if node in names:
            assert other.nodes[position] == pytest.approx(one.nodes[names[node]], abs=1e-4)


def test_variants_are_neighbours(model: EmbeddingModel) -> None:
    vectors = [e.vector for e in model.embed([graph(t) for t in (MATMUL, *MATMUL_VARIANTS)], None, HERE)]
    (other,) = model.embed([graph(MATMUL.replace("B[k][j]", "B[j][k]"))], None, HERE)
    nearest = np.linalg.norm(vectors[0] - other.vector)
    assert all(np.linalg.norm(vectors[0] - v) < 1e-3 * nearest for v in vectors[1:])


def test_profile_and_machine_are_inputs(model: EmbeddingModel) -> None:
    g = graph(MATMUL)
    static, profiled = model.embed([g, g], [None, PROFILE], HERE)
    assert np.linalg.norm(static.vector - profiled.vector) > 1e-3
    assert static.nodes == pytest.approx(profiled.nodes, abs=1e-4)  # nodes are of the graph alone
    (elsewhere,) = model.embed([g], None, Target(64, 64))
    assert np.linalg.norm(static.vector - elsewhere.vector) > 1e-4
    assert machine_numbers(HERE) != machine_numbers(Target(2, l2_bytes=1 << 21))


def test_missing_counters_are_no_numbers(model: EmbeddingModel) -> None:
    partial = tuple(math.nan if n // 5 % 3 == 0 else v for n, v in enumerate(COUNTS)) + SIMULATED
    everything_missing = (math.nan,) * len(COUNTS) + SIMULATED
    g = graph(MATMUL)
    static, some, none = model.embed([g] * 3, [None, partial, everything_missing], HERE)
    assert np.isfinite(some.vector).all() and np.linalg.norm(some.vector - static.vector) > 1e-3
    assert none.vector == pytest.approx(static.vector, abs=1e-5)


def test_who_counted_and_what_is_missing_are_inputs(model: EmbeddingModel) -> None:
    g = graph(MATMUL)
    mean = model.network.profile_mean
    average = np.expm1(mean.numpy())  # as the network sees it: 0, and so is what is missing
    missing = np.where(np.arange(len(average)) < 5, math.nan, average)
    rows = [(*average, *SIMULATED), (*average, *PERF), (*average, *LIKWID), (*missing, *SIMULATED)]
    vectors = [e.vector for e in model.embed([g] * 4, [tuple(map(float, r)) for r in rows], HERE)]
    for a in range(4):
        for b in range(a):
            assert np.linalg.norm(vectors[a] - vectors[b]) > 1e-3, (a, b)


def test_gradients_reach_every_weight() -> None:
    network = Network(NetworkSettings(layers=2))
    batch = collate([graph(t) for t in (MATMUL, STENCIL, SPMM)])
    machine = torch.tensor(machine_numbers(HERE)).expand(3, -1)
    output = network(batch, profile_tensor([PROFILE, None, PROFILE]), machine)
    assert output.graph.shape == output.nest.shape == (3, DIMENSION) and output.metrics.shape == (3, 20)
    output.metrics.square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        # attention does not change when all its scores shift, so two biases rightly get (almost) nothing
        if not name.endswith(("lin_key.bias", "gate_nn.2.bias")):
            assert parameter.grad.abs().max() > 0, name
    first = network.enter.weight.grad
    assert first is not None
    used = batch.features.abs().amax(0) > 0
    assert (first.abs().amax(0)[used] > 0).all()


def test_collate() -> None:
    graphs = [graph(MATMUL), graph(STENCIL)]
    batch = collate(graphs)
    assert batch.features.shape == (sum(batch.sizes), len(node_features()))
    assert batch.edge_features.shape == (batch.edges.shape[1], len(edge_features()))
    assert (batch.graph[batch.edges[0]] == batch.graph[batch.edges[1]]).all()  # no edge between graphs
    assert batch.graph.bincount().tolist() == list(batch.sizes)
    with pytest.raises(ValueError, match="no graphs"):
        collate([])


def test_model_id_is_of_the_weights() -> None:
    torch.manual_seed(1)
    one = EmbeddingModel(Network(NetworkSettings(layers=1)), {})
    torch.manual_seed(1)
    same = Network(NetworkSettings(layers=1))
    assert EmbeddingModel(same, {"seed": 3}).model_id == one.model_id
    same.target_mean[0] += 1
    assert EmbeddingModel(same, {}).model_id != one.model_id


@pytest.mark.parametrize("wrong", [{"layers": 0}, {"heads": 3}, {"fusion": 0}])
def test_refused_settings(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="heads that divide"):
        NetworkSettings(**wrong)


@pytest.mark.gcc
def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    code = "from perfembed.embedding.network import gnn, interface; gnn.Network(interface.NetworkSettings(1))"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert not list(tmp_path.iterdir())


def test_nodes_of_scheduled_nests(model: EmbeddingModel) -> None:
    embedder = GraphNodeEmbedder(model, HERE)
    replayer = Replayer(nest(MATMUL))
    first = replayer.tree(())
    tiled = replayer.tree(parse_schedule("tile([i, j], [32, 64]); parallelize(i_t)"))
    before, after = (embedder.loops(replayer, t, SIZES) for t in (first, tiled))
    assert set(before) == {"i", "j", "k"} and set(after) == {"i_t", "j_t", "i", "j", "k"}
    assert {v.shape for v in after.values()} == {(2 * DIMENSION,)}
    assert np.linalg.norm(before["i"] - after["i"]) > 1e-3
    assert set(embedder.arrays(replayer, first, SIZES)) == {"A", "B", "C"}
    assert set(embedder.statements(replayer, first, SIZES)) == {"S0"}
    again = embedder.loops(replayer, first, SIZES)
    assert all((again[name] == before[name]).all() for name in before)


def test_loops_are_matched_across_names(model: EmbeddingModel) -> None:
    """The nearest loop of a renamed nest is the loop that does the same."""
    embedder = GraphNodeEmbedder(model, HERE)
    source, target = Replayer(nest(MATMUL)), Replayer(nest(MATMUL_VARIANTS[-1]))
    ours = embedder.loops(source, source.tree(()), SIZES)
    theirs = embedder.loops(target, target.tree(()), SIZES)
    pairs = {a: min(theirs, key=lambda b: float(np.linalg.norm(ours[a] - theirs[b]))) for a in ours}
    assert pairs == {"i": "row", "j": "column", "k": "inner"}
