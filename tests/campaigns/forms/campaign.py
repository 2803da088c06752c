"""Runs a campaign over forms of programs in several processes and gathers what they found."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.campaigns.forms.check import Checker
from tests.campaigns.forms.model import Campaign, CampaignResult, Tally
from tests.campaigns.parts import added_up, in_parts

_CHUNK = 8  # programs of each form a task

Progress = Callable[[int, Tally], None]
"""Called with the number of programs done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and faults whatever the number of jobs."""
    began = time.monotonic()
    total, several = Tally(), len(campaign.forms)
    parts = in_parts(campaign.first, campaign.programs, _CHUNK, campaign.jobs, partial(_chunk, campaign))
    done, interrupted = added_up(((count * several, tally) for count, tally in parts), total, progress)
    faults = tuple(sorted(total.faults, key=lambda f: (f.form, f.program)))
    counts = {form: dict(sorted(total.counts[form].items())) for form in campaign.forms if form in total.counts}
    return CampaignResult(campaign, done, counts, faults, time.monotonic() - began, interrupted)


def _chunk(campaign: Campaign, begin: int, end: int) -> Tally:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=campaign.workdir) as folder:
        checker = Checker(campaign, Path(folder))
        for number in range(begin, end):
            for form in campaign.forms:
                checker.check(form, number)
        return checker.tally
