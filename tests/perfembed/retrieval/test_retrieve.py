"""From a nest to candidates: nearest donors, transferred, proved legal, ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from perfembed.retrieval.ablation import Ablation
from perfembed.retrieval.donors import Donors, StoredDonor, nearest
from perfembed.retrieval.families import LeftOut
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.nest_space import NestSpace
from perfembed.retrieval.retrieve import Retrieval
from scheduler.ir.text import nest_id, parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import ForwardArray
from tests.perfembed.embedding_support import tiny_model
from tests.perfembed.transfer_support import BICG, GEMM, GEMM_SCHEDULE, MACHINE, MVT, MVT_SCHEDULE, TRANSPOSED

pytestmark = pytest.mark.gcc

SPACE = NestSpace(tiny_model())


def stored(text: str, algorithm: str, schedule: str) -> StoredDonor:
    identity = nest_id(parse_nest(text))
    return StoredDonor(
        identity, algorithm, text, algorithm, f"{algorithm}.c", "here", MACHINE, {}, "double", (schedule,), (8.0,)
    )


def source(*donors: StoredDonor) -> Donors:
    vectors = np.stack([SPACE.vector(Replayer(parse_nest(d.text)), {}, MACHINE) for d in donors])
    return Donors({d.nest_id: d for d in donors}, VectorIndex.build([d.nest_id for d in donors], vectors, "tiny"))


PRODUCT = """nest product {
  array X: double[900][700]; array Y: double[700][800]; array Z: double[900][800];
  for a: int in [0, 900) step 1 { for b: int in [0, 800) step 1 {
    for c: int in [0, 700) step 1 { S0: Z[a][b] += X[a][c] * Y[c][b]; } } } }"""
SCALED_INSIDE = """nest scaled {
  array P: double[900][700]; array Q: double[700][800]; array R: double[900][800];
  for i: int in [0, 900) step 1 { for j: int in [0, 800) step 1 {
    S0: R[i][j] *= 3.0;
    for k: int in [0, 700) step 1 { S1: R[i][j] += P[i][k] * Q[k][j]; } } } }"""

DONORS = source(stored(GEMM, "gemm", GEMM_SCHEDULE), stored(MVT, "mvt", MVT_SCHEDULE))


class Counting:
    """Predicts that longer schedules are faster."""

    spread = (0.5, 2.0)

    def predict(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        schedules: Sequence[ScheduledNest],
        seconds: float | None = None,
    ) -> npt.NDArray[np.float64]:
        return np.array([1.0 + len(s.schedule) for s in schedules])


def test_candidates_are_legal_different_and_in_the_order_of_the_model() -> None:
    retrieval = Retrieval(SPACE, [DONORS], MACHINE, k=2, cost=Counting())
    replayer = Replayer(parse_nest(TRANSPOSED))
    found = retrieval.retrieve(retrieval.side(replayer, {}), measure=4)
    assert {f.donor.algorithm for f in found.neighbours} == {"gemm", "mvt"}
    chosen = found.recommendation.chosen
    assert 1 < len(chosen) <= 4
    assert len({c.scheduled.tree for c in chosen}) == len(chosen)
    assert all(isinstance(Replayer(parse_nest(TRANSPOSED)).replay(c.scheduled.schedule), ScheduledNest) for c in chosen)
    predicted = [found.predicted[c.scheduled.schedule] for c in chosen]
    assert predicted == sorted(predicted, reverse=True)
    assert len(found.predicted) == len(found.recommendation.pool) and found.spread == (0.5, 2.0)


def test_donors_of_a_nests_core_are_found_too() -> None:
    apart = source(stored(PRODUCT, "product", "interchange(b, c)"), stored(MVT, "mvt", MVT_SCHEDULE))
    retrieval = Retrieval(SPACE, [apart], MACHINE, k=1)
    found = retrieval.retrieve(retrieval.side(Replayer(parse_nest(SCALED_INSIDE)), {}))
    assert [f.donor.algorithm for f in found.neighbours] == ["product"]
    assert found.neighbours[0].distance < 1e-3  # of the core, not of the whole
    assert found.recommendation.chosen


def test_an_algorithm_left_out_gives_no_donor() -> None:
    retrieval = Retrieval(SPACE, [DONORS], MACHINE, without_algorithms=LeftOut(["gemm"]))
    found = retrieval.retrieve(retrieval.side(Replayer(parse_nest(BICG)), {}))
    assert [f.donor.algorithm for f in found.neighbours] == ["mvt"] and not found.predicted


def test_donors_must_have_in_common_what_is_asked_for() -> None:
    whole = Retrieval(SPACE, [DONORS], MACHINE, same=["type"])
    assert len(whole.retrieve(whole.side(Replayer(parse_nest(BICG)), {})).neighbours) == 2
    floats = whole.retrieve(whole.side(Replayer(parse_nest(BICG.replace("double", "float"))), {}))
    assert floats.neighbours == floats.recommendation.chosen == ()
    elsewhere = Retrieval(SPACE, [DONORS], MACHINE, same=["machine"])
    assert elsewhere.retrieve(elsewhere.side(Replayer(parse_nest(BICG)), {})).neighbours == ()


def test_a_damaged_donor_is_reported_and_the_others_are_used() -> None:
    bad = StoredDonor(
        "0" * 16, "bad", "nest bad {", "bad", "bad.c", "here", MACHINE, {}, "double", ("tile([i], [8])",), (9.0,)
    )
    vector = SPACE.vector(Replayer(parse_nest(BICG)), {}, MACHINE)
    good = stored(MVT, "mvt", MVT_SCHEDULE)
    vectors = np.zeros((2, len(vector)), dtype=np.float32)
    broken = Donors(
        {bad.nest_id: bad, good.nest_id: good}, VectorIndex.build([bad.nest_id, good.nest_id], vectors, "t")
    )
    retrieval = Retrieval(SPACE, [broken], MACHINE)
    found = retrieval.retrieve(retrieval.side(Replayer(parse_nest(BICG)), {}))
    assert [name for name, _ in found.unreadable] == [bad.nest_id]
    assert found.recommendation.chosen


def test_other_donors_than_the_nearest_may_be_chosen() -> None:
    only = [d for d in DONORS.by_id.values() if d.algorithm == "mvt"]
    retrieval = Retrieval(
        SPACE,
        [DONORS],
        MACHINE,
        ablation=Ablation(lambda side, k: nearest([source(*only)], SPACE.vector(side.replayer, {}, MACHINE), k)),
    )
    found = retrieval.retrieve(retrieval.side(Replayer(parse_nest(BICG)), {}))
    assert [f.donor.algorithm for f in found.neighbours] == ["mvt"]


SUMMED = """nest summed {
  array P: double[900][700]; array Q: double[700][800]; array R: double[900][800]; array t: double private(j);
  for i: int in [0, 900) step 1 { for j: int in [0, 800) step 1 {
    S0: t = R[i][j];
    for k: int in [0, 700) step 1 { S1: t += P[i][k] * Q[k][j]; }
    S2: R[i][j] = t; } } }"""


def test_a_sum_in_a_scalar_gets_the_candidates_of_one_in_the_array() -> None:
    retrieval = Retrieval(SPACE, [DONORS], MACHINE, cost=Counting())
    replayer = Replayer(parse_nest(SUMMED))
    side = retrieval.side(replayer, {})
    found = retrieval.retrieve(side).recommendation
    plain = retrieval.retrieve(retrieval.side(Replayer(side.replayer.nest), {})).recommendation
    assert side.first == (ForwardArray("t"),) and plain.chosen
    assert [c.scheduled.schedule for c in found.chosen] == [
        (ForwardArray("t"), *c.scheduled.schedule) for c in plain.chosen
    ]
    for candidate in found.pool:
        replayed = replayer.replay(candidate.scheduled.schedule)
        assert isinstance(replayed, ScheduledNest) and replayed.tree == candidate.scheduled.tree
        assert candidate.log[0].steps == side.first
    asked: list[Schedule] = []

    def none_of_them(scheduled: ScheduledNest) -> bool:
        asked.append(scheduled.schedule)
        return False

    assert retrieval.retrieve(side, writable=none_of_them).recommendation.chosen == ()
    assert set(asked) == {c.scheduled.schedule for c in found.pool}  # as schedules of the nest that is written


def test_what_did_without_a_scalar_donates() -> None:
    donors = source(stored(SUMMED, "summed", f"eliminate(t); {GEMM_SCHEDULE.replace('S1', 'S0')}"))
    (stored_donor,) = donors.by_id.values()
    both = replace(
        stored_donor, schedules=("eliminate(t); tile([i, j], [32, 64])", "parallelize(i)"), speedups=(8.0, 2.0)
    )
    retrieval = Retrieval(SPACE, [Donors({both.nest_id: both}, donors.index)], MACHINE)
    found = retrieval.retrieve(retrieval.side(Replayer(parse_nest(PRODUCT)), {}))
    assert not found.unreadable
    texts = [format_schedule(c.scheduled.schedule) for c in found.recommendation.pool]
    assert any(text.startswith("tile([a, b], ") for text in texts)
    assert any(text.startswith("parallelize(a)") for text in texts)
