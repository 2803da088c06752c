"""The campaign in CI size: 400 random programs interpreted, 40 schedules compiled. No disagreement is allowed."""

import os

from tests.campaigns.legality.campaign import run_campaign
from tests.campaigns.legality.model import Campaign, CampaignResult
from tests.compilers import clang as newest_clang

ENVIRONMENT = {"PATH": os.environ["PATH"]}
JOBS = min(2, len(os.sched_getaffinity(0)))


def run(campaign: Campaign) -> CampaignResult:
    result = run_campaign(campaign, lambda done, tally: None)
    assert not result.disagreements, result.disagreements
    assert result.programs == campaign.programs
    return result


def test_interpreted() -> None:
    result = run(Campaign(programs=220, seed=20, schedules=2, planted=1, jobs=JOBS))
    counts = result.counts
    assert counts["programs"] > 205
    assert counts["legal"] > 220 and counts["illegal"] > 110
    assert result.planted > 30
    assert counts["planted stale mark"] > 5


def test_compiled() -> None:
    clang = newest_clang("-fopenmp")
    compilers = ("gcc", clang) if clang else ("gcc",)
    result = run(
        Campaign(
            programs=20,
            seed=21,
            schedules=2,
            planted=0,
            compiled=20,
            compilers=compilers,
            jobs=JOBS,
            environment=tuple(ENVIRONMENT.items()),
        )
    )
    assert result.counts["compiled runs gcc"] > 140
