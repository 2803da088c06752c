"""The protocol that judges ways to find recipes: what it counts, and what it leaves out."""

import json

import numpy as np
import pytest

from perfembed.retrieval.cross_transfers import Asked, Transfers, Tried
from perfembed.retrieval.donors import Donors, StoredDonor
from perfembed.retrieval.index import VectorIndex
from tests.evaluation import views
from tests.evaluation.retrieval import (
    COUNTS,
    REFERENCE,
    TOGETHER,
    VERSUS,
    fold_of,
    judge,
    scores_of,
)
from tests.perfembed.transfer_support import GEMM, MACHINE

WIDTH = 128 + 6
SCHEDULES = ("tile([i], [8])", "parallelize(i)", "interchange(i, j)", "vectorize(i)", "unroll_jam(i, 4)")
rng = np.random.default_rng(0)
IDS = tuple(f"d{n}" for n in range(10))
VECTORS = rng.standard_normal((len(IDS), WIDTH)).astype(np.float32)
STORED = {
    name: StoredDonor(
        name, name, GEMM, "gemm" if n < 2 else f"own-{n}", "p", "m", MACHINE, {}, "double", (SCHEDULES[n % 5],), (2.0,)
    )
    for n, name in enumerate(IDS)
}
DONORS = Donors(STORED, VectorIndex.build(IDS, VECTORS, "tiny"))


def row(number: int, algorithm: str, seconds: dict[str, float]) -> Transfers:
    """The nest takes a second; `anchors` are the even donors."""
    trees = tuple(Tried(f"tile([i], [{n + 2}])", 2.0 - n / 10, "timed", s) for n, s in enumerate(seconds.values()))
    asked = tuple(
        Asked(donor, 0, "anchor" if int(donor[1:]) % 2 == 0 else "drawn", 1.0, "fits", n)
        for n, donor in enumerate(seconds)
    )
    caches = json.dumps([])
    return Transfers(
        f"n{number}", GEMM, algorithm, "p", "m", "x", caches, "gcc", (), 2, "{}", "double", 1.0, 1.0, 0.0, trees,
        (*asked, Asked("d9", 0, "drawn", 0.1, "does not fit")),
    )  # fmt: skip


ROWS = [row(n, f"algorithm-{n % 12}", {name: float(rng.uniform(0.2, 1.2)) for name in IDS[:9]}) for n in range(36)]
NESTS = {one.key: rng.standard_normal(WIDTH).astype(np.float32) for one in ROWS}


def test_every_method_is_judged_on_the_same_nests() -> None:
    found = scores_of(ROWS, judge(ROWS, DONORS, NESTS), 0, VERSUS)
    names = [one.method for one in found.methods]
    assert (
        found.nests == 36
        and found.algorithms == 12
        and {REFERENCE, "at random", "nearest", TOGETHER, *VERSUS} <= set(names)
    )
    assert found.fits == pytest.approx(0.9)
    for one in found.methods:
        shares = [one.shares[k] for k in COUNTS]
        assert shares == sorted(shares) and shares[0] > 0 and shares[-1] == pytest.approx(1.0)
        for over in one.over.values():
            assert all(low <= ratio <= high for ratio, low, high in over.values())
    by_name = {one.method: one for one in found.methods}
    assert by_name["cost model of all"].shares[1] < 1.0
    assert by_name[REFERENCE].over.keys() == set(VERSUS) and REFERENCE in by_name["at random"].over
    assert "constant portfolio" in "\n".join(views.retrieval(found, "title"))


def test_others_nests_are_judged_by_what_is_made_of_all() -> None:
    others = [row(100, "far", {"d2": 0.5, "d3": 0.25}), row(101, "near", {"d5": 0.5})]
    vectors = NESTS | {one.key: NESTS[ROWS[0].key] for one in others}
    losses = judge(ROWS, DONORS, vectors, others)
    found = scores_of(others, losses, 0)
    assert found.nests == 2 and found.algorithms == 2
    assert scores_of(others, losses, 0, counted=[1]).nests == 1
    random = next(one for one in found.methods if one.method == "at random")
    assert random.shares[1] == pytest.approx((0.5 * 1.0) ** 0.25, rel=0.2)


def test_algorithms_stay_on_one_side() -> None:
    folds = {algorithm: fold_of(algorithm) for algorithm in map(str, range(100))}
    assert set(folds.values()) == set(range(5)) and all(fold_of(name) == fold for name, fold in folds.items())
