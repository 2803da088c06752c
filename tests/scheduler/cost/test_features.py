"""Feature vectors: finite, within the table's ranges, different for different schedules, fast enough."""

import random
import time

import numpy as np
import pytest

from scheduler.cost.feature_table import FEATURES, MEASURED, NAMES, PROBLEM, TREE
from scheduler.cost.features import FeatureExtractor
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.model import Model
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.search import make_search
from scheduler.transform.initial import initial_tree
from tests.generator.nests.random_nest import random_nest
from tests.generator.schedules import random_schedule
from tests.scheduler import nests

TARGET = Target(threads=2)
PARAMETERS = {"n": 1000, "m": 800, "l": 900, "T": 100}
SCHEDULES = 12


def drawn(replayer: Replayer, count: int) -> list[ScheduledNest]:
    seen: list[ScheduledNest] = []

    def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [1.0] * len(schedules)

    space = Space(replayer, TARGET, PARAMETERS)
    make_search("random", space, evaluate, seed=3, limit=count, expired=lambda: False).run()
    return seen


def vector(text: str, schedule: str, target: Target = TARGET, **parameters: int) -> dict[str, float]:
    replayer = Replayer(nests.nest(text))
    scheduled = replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest), scheduled
    extractor = FeatureExtractor(replayer.model, parameters or PARAMETERS, target)
    return dict(zip(NAMES, extractor.vector(scheduled).tolist(), strict=True))


def test_the_table_names_each_feature_once() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(PROBLEM) + 2 * len(TREE) + len(MEASURED) and all(
        f.low < f.high for f in FEATURES
    )


@pytest.mark.gcc
@pytest.mark.parametrize(
    "text", [nests.GEMM, nests.JACOBI, nests.CHOLESKY, nests.SPMM, nests.COVARIANCE, nests.PRIVATE, nests.SEIDEL]
)
def test_random_schedules(text: str) -> None:
    replayer = Replayer(nests.nest(text))
    schedules = drawn(replayer, SCHEDULES)
    extractor = FeatureExtractor(replayer.model, PARAMETERS, TARGET)
    began = time.process_time()
    found = extractor.matrix(schedules)
    assert (time.process_time() - began) / len(schedules) < 0.01
    assert found.shape == (len(schedules), len(FEATURES)) and found.dtype == np.float32
    assert np.isfinite(found).all()
    low, high = (np.array([getattr(f, side) for f in FEATURES], np.float32) for side in ("low", "high"))
    assert ((found >= low) & (found <= high)).all()
    assert len(np.unique(found, axis=0)) >= 0.9 * len({s.tree for s in schedules})
    again = FeatureExtractor(replayer.model, PARAMETERS, TARGET).matrix(schedules[::-1])[::-1]
    assert np.array_equal(found, again)  # neither the order nor what was asked before matters


def test_the_original_differs_in_nothing_from_itself() -> None:
    for text in (nests.GEMM, nests.CHOLESKY, nests.PRIVATE, nests.SPMM):
        found = vector(text, "")
        assert all(value == 0 for name, value in found.items() if name.startswith("d_"))
        assert found["parallel"] == found["vector_marked"] == found["tile_loops"] == 0


def test_what_each_transformation_shows_in() -> None:
    plain = vector(nests.GEMM, "distribute(i, 1); interchange(j, k)")
    assert plain["vector_automatic"] > 0.99 and plain["d_latency"] < -5 and plain["read_large"] == 0
    tiled = vector(nests.GEMM, "distribute(i, 1); interchange(j, k); tile([i_d, k, j], [32, 32, 256])")
    assert tiled["l3_traffic"] < plain["l3_traffic"] - 2 and tiled["tile_bytes"] < plain["tile_bytes"] - 5
    assert tiled["tile_loops"] == 3 and tiled["resident_l2"] > plain["resident_l2"]
    parallel = vector(nests.GEMM, "distribute(i, 1); interchange(j, k); parallelize(i_d)")
    assert parallel["parallel"] > 0.99 and parallel["parallel_trips"] == pytest.approx(np.log2(1000), abs=0.01)
    assert parallel["cycles"] < plain["cycles"] and parallel["efficiency"] == pytest.approx(1.0, abs=0.01)
    blocked = vector(nests.GEMM, "distribute(i, 1); register_block([i_d, j], [4, 8])")
    assert blocked["registers"] > 0.99 and blocked["register_volume"] == 32 and blocked["copies"] > 4
    packed = vector(
        nests.GEMM,
        "distribute(i, 1); interchange(i_d, j); interchange(i_d, k); tile([j, k, i_d], [256, 128, 64]);"
        " interchange(k, i_d); register_block([i_d, j], [4, 8]); pack(k_t, B, [1, 0], 1, 8)",
    )
    assert packed["packs"] == 1 and packed["packed_bytes"] > 10 and packed["d_packs"] == 1
    unrolled = vector(nests.GEMM, "distribute(i, 1); interchange(j, k); unroll(j, 8)")
    assert unrolled["unrolled"] > 2.9


def test_wavefronts_and_fusion_are_seen() -> None:
    wave = vector(
        nests.SEIDEL,
        "skew(t, i, 1); skew(t, j, 1); skew(i, j, 1); tile([t, i, j], [8, 32, 32]); skew(t_t, i_t, 4);"
        " interchange(t_t, i_t); parallelize(t_t)",
    )
    assert wave["wavefront"] == 1 and wave["skewed"] == 2 and wave["skewed_tiles"] == 1
    assert wave["regions"] > 4 and wave["parallel_depth"] == 1


def test_the_machine_is_an_input() -> None:
    schedule = "distribute(i, 1); interchange(j, k); tile([i_d, k, j], [32, 32, 256])"
    small = vector(nests.GEMM, schedule, Target(2, 16, 16 << 10, 128 << 10, 1 << 20))
    large = vector(nests.GEMM, schedule, Target(64, 64, 64 << 10, 2 << 20, 256 << 20))
    assert small["l3_traffic"] > large["l3_traffic"] and small["lanes_used"] < large["lanes_used"]
    assert (small["threads"], large["threads"]) == (2, 64) and small["data_over_l3"] > 0 > large["data_over_l3"]


def test_sizes_change_features() -> None:
    few, many = (vector(nests.GEMM, "parallelize(i)", n=n, m=64, l=64) for n in (2, 2000))
    assert few["grain"] == pytest.approx(many["grain"], abs=0.2) and few["parallel_trips"] == 1
    assert many["instances"] > few["instances"] + 9


@pytest.mark.filterwarnings("error")
def test_any_tree_of_any_nest_has_finite_features() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        nest = expand_privates(random_nest(rng))
        sizes = {p.name: rng.choice([1, 2, 7, 100, 5000]) for p in nest.parameters}
        extractor = FeatureExtractor(Model(nest), sizes, Target(rng.choice([1, 2, 64])))
        for _ in range(3):
            tree = initial_tree(nest)
            steps = random_schedule(nest, rng, 6, tree)
            for step in steps:
                tree = step.apply(tree)
            stored = tuple((a.name, None) for a in nest.arrays if a.expanded and rng.random() < 0.7)
            assert np.isfinite(extractor.vector(ScheduledNest(nest, tree, steps, stored))).all(), (seed, steps)
