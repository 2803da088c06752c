"""Runs a spelling campaign over several processes and gathers what they found."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.campaigns.parts import added_up, in_parts
from tests.campaigns.spelling.check import Checker
from tests.campaigns.spelling.model import Campaign, CampaignResult, Tally

_CHUNK = 24  # files a task: whole bases

Progress = Callable[[int, Tally], None]
"""Called with the number of files done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and faults whatever the number of jobs."""
    began = time.monotonic()
    total = Tally()
    work, alone = partial(_chunk, campaign), partial(_chunk, campaign, apart=True)  # the parser may crash
    parts = in_parts(campaign.first, campaign.files, _CHUNK, campaign.jobs, work, alone)
    done, interrupted = added_up(parts, total, progress)
    faults = tuple(sorted(total.faults, key=lambda f: (f.file, f.kind)))
    counts = dict(sorted(total.counts.items()))
    return CampaignResult(campaign, done, counts, faults, time.monotonic() - began, interrupted)


def _chunk(campaign: Campaign, begin: int, end: int, apart: bool = False) -> Tally:
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=campaign.workdir) as folder:
        checker = Checker(campaign, Path(folder), apart)
        for index in range(begin, end):
            checker.check(index)
        return checker.tally
