"""The network in NumPy computes what it does in torch, which trains it; donors come out in the same order."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.encoding.schema import NestGraph
from perfembed.embedding.network.checkpoint import load_model
from perfembed.embedding.network.gnn import EmbeddingModel, Network
from perfembed.embedding.network.inference import NumpyEmbeddingModel, erf, weight_shapes
from perfembed.embedding.network.interface import SOURCES, NetworkSettings, profile_width
from perfembed.learning.cost_models import SHIPPED
from perfembed.mapping.embed_file import place_source
from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import StoredDonor, donor_shards, nearest, read_donors
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.nest_space import NestSpace
from perfembed.retrieval.space_training import NAME, load_embedding_model
from perfembed.tuning.options import TuneOptions
from profilers.counters import feature_names
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from tests.perfembed.embedding_support import MATMUL, STENCIL, graph

KERNELS = Path(__file__).parents[3] / "kernels"
HERE = Target(2)
EXACT = 5e-6  # of the greatest number of a vector


def in_numpy(model: EmbeddingModel) -> NumpyEmbeddingModel:
    arrays = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    return NumpyEmbeddingModel(model.network.settings, arrays, model.card)


def assert_same(
    one: EmbeddingModel,
    other: NumpyEmbeddingModel,
    graphs: list[NestGraph],
    profiles: list[list[float] | None] | None = None,
) -> None:
    embedded = zip(one.embed(graphs, profiles, HERE), other.embed(graphs, profiles, HERE), strict=True)
    for ours, theirs in embedded:
        assert ours.vector.shape == theirs.vector.shape and ours.nodes.shape == theirs.nodes.shape
        assert np.abs(ours.vector - theirs.vector).max() <= EXACT * np.abs(ours.vector).max()
        assert np.abs(ours.nodes - theirs.nodes).max() <= EXACT * np.abs(ours.nodes).max()
    predicted = one.predict(graphs, profiles, HERE), other.predict(graphs, profiles, HERE)
    np.testing.assert_allclose(*predicted, rtol=1e-3, atol=1e-6)


@pytest.fixture(scope="module")
def shipped() -> EmbeddingModel:
    return load_model(SHIPPED / NAME)


@pytest.fixture(scope="module")
def kernel_nests() -> list[StoredDonor]:
    """The nests of tests/kernels that are in the database that ships."""
    found = read_donors([shard for shard in donor_shards() if shard.name.startswith("kernels")])
    assert len({donor.algorithm for donor in found.values()} & {path.stem for path in KERNELS.glob("*.c")}) > 40
    return list(found.values())


@pytest.mark.campaign
def test_the_shipped_network_on_the_nests_of_all_kernels(
    shipped: EmbeddingModel, kernel_nests: list[StoredDonor]
) -> None:
    model = load_embedding_model()
    assert model.model_id == shipped.model_id and model.settings == shipped.network.settings
    graphs = [encode(parse_nest(donor.text), donor.sizes) for donor in kernel_nests]
    assert_same(shipped, model, graphs)
    rng = np.random.default_rng(1)
    sources = np.eye(len(SOURCES))
    profiles = [
        [*(10 ** rng.uniform(0, 9, len(feature_names()))).tolist(), *sources[n % len(sources)]]
        for n, _ in enumerate(graphs)
    ]
    assert_same(shipped, model, graphs, profiles)


@pytest.mark.campaign
def test_the_same_donors_in_the_same_order(shipped: EmbeddingModel, kernel_nests: list[StoredDonor]) -> None:
    faiss = pytest.importorskip("faiss")
    before, now = NestSpace(shipped), NestSpace(load_embedding_model())
    assert before.space_id == now.space_id
    source = seed_donors(now)
    index: VectorIndex = source.index
    vectors = np.stack([index.vector(i) for i in index.ids if index.vector(i) is not None])
    flat = faiss.IndexFlatL2(vectors.shape[1])
    flat.add(vectors)
    nests = [(Replayer(parse_nest(donor.text)), donor.sizes) for donor in kernel_nests]
    for donor, one, other in zip(kernel_nests, before.vectors(nests, HERE), now.vectors(nests, HERE), strict=True):
        assert one is not None and other is not None
        squares, rows = flat.search(one[None], 20)
        wanted = sorted((float(s), index.ids[int(r)]) for s, r in zip(squares[0], rows[0], strict=True))
        found = nearest([source], other, 20)
        assert [f.donor.nest_id for f in found] == [i for _, i in wanted], donor.name
        np.testing.assert_allclose([f.distance**2 for f in found], [s for s, _ in wanted], atol=1e-5)


@pytest.mark.slow
def test_the_files_of_all_kernels(shipped: EmbeddingModel) -> None:
    before, now = NestSpace(shipped), NestSpace(load_embedding_model())
    source = seed_donors(now)
    for path in sorted(KERNELS.glob("*.c")):
        content, options = path.read_bytes(), TuneOptions(threads=2)
        pairs = zip(*(place_source(str(path), content, options, s) for s in (before, now)), strict=True)
        for one, other in pairs:
            if one.vector is not None and other.vector is not None:
                near = [[f.donor.nest_id for f in nearest([source], n.vector, 10)] for n in (one, other)]
                assert near[0] == near[1], (path, one.name)


@pytest.mark.parametrize("settings", [NetworkSettings(layers=1, heads=1, fusion=3), NetworkSettings(2, 8, 40)])
def test_other_networks_profiles_with_gaps_and_graphs_without_edges(settings: NetworkSettings) -> None:
    torch.manual_seed(4)
    model = EmbeddingModel(Network(settings), {})
    other = in_numpy(model)
    assert other.model_id == model.model_id
    one, two = graph(MATMUL), graph(STENCIL)
    lonely = NestGraph(one.nodes, one.features, one.edges[:, :0], one.edge_features[:0])
    gaps: list[float] = [math.nan if k % 3 else 1e4 * k for k in range(profile_width())]
    assert_same(model, other, [one, lonely, two, one], [None, gaps, [0.0] * len(gaps), gaps])
    assert_same(model, other, [lonely])
    assert_same(model, other, [two] * 70)
    assert other.embed([], None, HERE) == [] and other.predict([], None, HERE).shape == (0, 20)
    with pytest.raises(ValueError, match="1 graphs with 2 profiles"):
        other.embed([one], [None, None], HERE)


def test_weights_have_the_names_and_shapes_of_torch() -> None:
    settings = NetworkSettings(2, 4, 48)
    arrays = {name: tensor.numpy() for name, tensor in Network(settings).state_dict().items()}
    assert weight_shapes(settings) == {name: array.shape for name, array in arrays.items()}
    with pytest.raises(ValueError, match="missing"):
        NumpyEmbeddingModel(NetworkSettings(3, 4, 48), arrays, {})
    with pytest.raises(ValueError, match="has shape"):
        NumpyEmbeddingModel(NetworkSettings(2, 4, 49), arrays, {})


def test_erf() -> None:
    x = np.linspace(-6, 6, 9001, dtype=np.float32)
    np.testing.assert_allclose(erf(x), [math.erf(value) for value in x], atol=5e-7)
