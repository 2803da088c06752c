"""Runs a campaign over several processes and gathers what they found."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from tests.campaigns.legality.compiled import check_compiled
from tests.campaigns.legality.model import Campaign, CampaignResult, Tally
from tests.campaigns.legality.program import run_program
from tests.campaigns.parts import added_up, in_parts

_CHUNK = 20  # programs a task

Progress = Callable[[int, Tally], None]
"""Called with the number of programs done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and disagreements whatever the number of jobs."""
    began = time.monotonic()
    total = Tally()
    parts = in_parts(campaign.first, campaign.programs, _CHUNK, campaign.jobs, partial(_chunk, campaign))
    done, interrupted = added_up(parts, total, progress)
    disagreements = sorted(total.disagreements, key=lambda d: (d.program, d.kind, d.schedule, d.detail))
    counts = dict(sorted(total.counts.items()))
    return CampaignResult(campaign, done, counts, tuple(disagreements), time.monotonic() - began, interrupted)


def _chunk(campaign: Campaign, begin: int, end: int) -> Tally:
    tally = Tally()
    for index in range(begin, end):
        tally.add(run_program(campaign, index))
    if tally.runnable:
        tally.add(check_compiled(campaign, tally.runnable))
        tally.runnable = []
    return tally
