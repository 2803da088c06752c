"""The campaign over typed bounds in CI size. No fault is allowed, and most of what runs has to be tuned loops."""

import os

from perfembed.bench.bounds.campaign import run_campaign
from perfembed.bench.bounds.model import Campaign
from perfembed.bench.render_bounds import render_bounds
from perfembed.report.style import Style

JOBS = min(2, len(os.sched_getaffinity(0)))


def test_bounds() -> None:
    result = run_campaign(Campaign(programs=40, seed=44, schedules=2, jobs=JOBS), lambda done, tally: None)
    assert not result.tally.faults, render_bounds(result, Style(False))
    counts = result.tally.counts
    assert counts["programs written"] >= 20 and counts["reordered"] >= 10, counts
    assert counts["runs tuned"] > counts["runs"] // 2, counts
