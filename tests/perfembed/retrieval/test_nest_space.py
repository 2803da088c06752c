"""The space donors are looked for in: which nests are near, whatever they are called, and what cannot be placed."""

import numpy as np
import pytest

from perfembed.retrieval.nest_space import NestSpace, parts
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


def test_distances_are_those_of_the_learned_numbers_and_the_structure() -> None:
    vector = SPACE.vector(Replayer(parse_nest(GEMM)), SIZES, MACHINE)
    found = {name: float(np.linalg.norm(vector[part])) for name, part in parts(len(vector)).items()}
    assert found == pytest.approx({"learned": 1, "structure": 1}, abs=1e-5)


def test_spaces_of_different_models_are_told_apart() -> None:
    assert SPACE.space_id != NestSpace(tiny_model(1)).space_id and SPACE.space_id == NestSpace(tiny_model()).space_id
