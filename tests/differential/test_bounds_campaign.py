"""The campaign over typed bounds in CI size: no fault, and two fifths of the runs have to take tuned loops."""

import os

from tests.campaigns.bounds.campaign import run_campaign
from tests.campaigns.bounds.model import Campaign

JOBS = min(2, len(os.sched_getaffinity(0)))


def test_bounds() -> None:
    result = run_campaign(Campaign(programs=30, seed=45, schedules=2, jobs=JOBS), lambda done, tally: None)
    assert not result.tally.faults, result.tally.faults
    counts = result.tally.counts
    assert counts["programs written"] >= 12 and counts["reordered"] >= 8, counts
    assert 5 * counts["runs tuned"] > 2 * counts["runs"], counts
