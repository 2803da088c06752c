"""Sampled schedule matrices of random programs, interpreted and compiled: all legal, all the same results."""

import os
import random

import pytest

from perfembed.bench.legality.campaign import run_campaign
from perfembed.bench.legality.model import Campaign, CampaignResult
from perfembed.bench.render import render_campaign
from perfembed.report.style import Style
from scheduler.generator import random_nest
from scheduler.matrices.sample import MatrixSampler, Unsampled
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Refused, Replayer, ScheduledNest
from tests.scheduler.matrices.order import matrix_times, same_order, tree_times

ENVIRONMENT = {"PATH": os.environ["PATH"]}
JOBS = min(2, len(os.sched_getaffinity(0)))


def run(programs: int, seed: int, compiled: int) -> CampaignResult:
    campaign = Campaign(
        programs, seed, schedules=0, planted=0, matrices=2, compiled=compiled, jobs=JOBS,
        environment=tuple(ENVIRONMENT.items()),
    )  # fmt: skip
    result = run_campaign(campaign, lambda done, tally: None)
    assert not result.disagreements, render_campaign(result, Style())
    return result


def test_interpreted_and_compiled() -> None:
    counts = run(40, 31, 16).counts
    assert counts["legal"] > 150 and counts["illegal"] < 10 and counts["compiled runs gcc"] > 100


@pytest.mark.slow
def test_many() -> None:
    counts = run(400, 32, 300).counts
    assert counts["legal"] > 1500


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
