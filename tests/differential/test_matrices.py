"""Sampled schedule matrices of random programs, interpreted and compiled: all legal, all the same results."""

import os
import random
from pathlib import Path

import pytest

from scheduler.codegen import plain
from scheduler.matrices.sample import MatrixSampler, Unsampled
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import format_schedule
from tests.campaigns.legality.campaign import run_campaign
from tests.campaigns.legality.drawn import sampled_schedules
from tests.campaigns.legality.model import Campaign, CampaignResult
from tests.generator import random_nest
from tests.scheduler import nests
from tests.scheduler.codegen.support import check_same
from tests.scheduler.matrices.order import matrix_times, same_order, tree_times

ENVIRONMENT = {"PATH": os.environ["PATH"]}
JOBS = min(2, len(os.sched_getaffinity(0)))


def run(programs: int, seed: int, compiled: int) -> CampaignResult:
    campaign = Campaign(
        programs, seed, schedules=0, planted=0, matrices=2, compiled=compiled, jobs=JOBS,
        environment=tuple(ENVIRONMENT.items()),
    )  # fmt: skip
    result = run_campaign(campaign, lambda done, tally: None)
    assert not result.disagreements, result.disagreements
    return result


def test_interpreted_and_compiled() -> None:
    counts = run(24, 31, 10).counts
    assert counts["legal"] > 150 and counts["illegal"] < 10 and counts["compiled runs gcc"] > 60


@pytest.mark.slow
def test_many() -> None:
    counts = run(400, 32, 300).counts
    assert counts["legal"] > 1500


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GEMM", "JACOBI", "CHOLESKY", "LU", "COVARIANCE", "SEIDEL", "PRIVATE"])
def test_optimized_and_with_sanitizers(name: str, tmp_path: Path) -> None:
    nest = nests.nest(getattr(nests, name))
    rng = random.Random(name)
    compiled = 0
    for schedule in sampled_schedules(Replayer(plain(nest)), rng, 4):
        if not isinstance(Replayer(plain(nest)).replay(schedule), ScheduledNest):
            continue  # other sizes of tiles than the search proposed
        small, large = ({p.name: rng.randint(*range_) for p in nest.parameters} for range_ in ((1, 4), (9, 23)))
        check_same(tmp_path, nest, format_schedule(schedule), large, small)
        compiled += 1
    assert compiled >= 8


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_trees_of_random_programs_are_proved(first: int) -> None:
    proved = 0
    for seed in range(first, first + 20):
        rng = random.Random(seed)
        try:
            replayer = Replayer(random_nest(rng))
            binding = [d for d in replayer.dependences if not replayer.checker.relaxed(d)]
            drawn = MatrixSampler(replayer.model, binding, rng)
            simplifier = Simplifier(replayer.model, drawn.pairs, drawn.space)
            for number in range(3):
                matrix = drawn.sample(number == 1)
                tree = simplifier.tree(matrix)
                found = replayer.replay((tree,))
                # Private arrays may need more storage than can be had; nothing else may be wrong.
                assert isinstance(found, ScheduledNest) or (isinstance(found, Refused) and "kept" in found.reason)
                before = matrix_times(replayer.model, matrix)
                assert same_order(replayer.model, before, tree_times(replayer.model, tree)), (seed, str(tree))
                proved += 1
        except (Unsampled, QuotaExceeded):
            continue
    assert proved > 20
