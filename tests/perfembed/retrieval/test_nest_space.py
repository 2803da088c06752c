"""The space donors are looked for in: which nests are near, whatever they are called, and what cannot be placed."""

from dataclasses import replace

import numpy as np
import pytest

from perfembed.embedding.network.schedule_map import ScheduleMap
from perfembed.retrieval.nest_space import NestSpace
from scheduler.cost.feature_table import PROBLEM, TREE
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer
from tests.perfembed.embedding_support import tiny_model
from tests.perfembed.transfer_support import BICG, GEMM, MACHINE, MVT, TRANSPOSED

SPACE = NestSpace(tiny_model())
SIZES: dict[str, int] = {}


def test_one_by_one_or_together() -> None:
    nests = [(Replayer(parse_nest(text)), SIZES) for text in (GEMM, BICG, MVT)]
    together = SPACE.vectors(nests, MACHINE)
    for (replayer, sizes), vector in zip(nests, together, strict=True):
        assert vector is not None
        np.testing.assert_allclose(vector, SPACE.vector(replayer, sizes, MACHINE), atol=1e-5)
    assert SPACE.vectors([], MACHINE) == []


def test_nests_of_like_structure_are_near_even_without_training() -> None:
    gemm, transposed, mvt = (SPACE.vector(Replayer(parse_nest(t)), SIZES, MACHINE) for t in (GEMM, TRANSPOSED, MVT))
    assert np.linalg.norm(gemm - transposed) < np.linalg.norm(gemm - mvt)


def test_parts_are_as_long_as_the_map_says() -> None:
    """Whatever the scale of the model's numbers."""
    gemm = Replayer(parse_nest(GEMM))
    vector = SPACE.vector(gemm, SIZES, MACHINE)
    assert lengths(SPACE, vector) == pytest.approx({"learned": 1, "structure": 1}, abs=1e-5)
    count = len(PROBLEM) + len(TREE)
    flat = np.zeros(count, dtype=np.float32), np.ones(count, dtype=np.float32)
    schedules = ScheduleMap(*flat, np.ones((count, 3), dtype=np.float32), learned=0.5, structure=3.0)
    space = NestSpace(tiny_model(), schedules)
    longer = space.vector(gemm, SIZES, MACHINE)
    found = lengths(space, longer)
    assert found.pop("schedules") > 0 and found == pytest.approx({"learned": 0.5, "structure": 3.0}, abs=1e-5)
    np.testing.assert_allclose(longer[:128], 0.5 * vector[:128], atol=1e-6)
    other = NestSpace(tiny_model(), replace(schedules, learned=0.25))
    assert other.space_id != space.space_id


def lengths(space: NestSpace, vector: np.ndarray) -> dict[str, float]:  # type: ignore[type-arg]
    return {name: float(np.linalg.norm(vector[part])) for name, part in space.parts(len(vector)).items()}


def test_spaces_of_different_models_are_told_apart() -> None:
    assert SPACE.space_id != NestSpace(tiny_model(1)).space_id and SPACE.space_id == NestSpace(tiny_model()).space_id
