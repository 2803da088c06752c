"""Runs a campaign over typed bounds in several processes and gathers what they found."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.campaigns.bounds.check import Checker
from tests.campaigns.bounds.model import Campaign, CampaignResult, Tally
from tests.campaigns.bounds.reduce import Reducer, keep
from tests.campaigns.parts import added_up, in_parts

FILE = 25  # programs of one file, which is a task

Progress = Callable[[int, Tally], None]
"""Called with the number of programs done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and faults whatever the number of jobs, but for what is too slow.

    Files hold `FILE` programs each from number `first` on: parts of a campaign begin at multiples of it.
    """
    began = time.monotonic()
    total = Tally()
    parts = in_parts(campaign.first, campaign.programs, FILE, campaign.jobs, partial(_file, campaign))
    done, interrupted = added_up(parts, total, progress)
    total.faults.sort(key=lambda f: f.program)
    return CampaignResult(campaign, done, total, time.monotonic() - began, interrupted)


def _file(campaign: Campaign, begin: int, end: int) -> Tally:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=campaign.workdir) as folder:
        checker = Checker(campaign, Path(folder))
        checker.check(begin, end)
        tally = checker.tally
        if campaign.reduce:
            reducer = Reducer(campaign, Path(folder))
            tally.faults = [reducer.reduced(f) if f.unit is not None else f for f in tally.faults]
        for fault in tally.faults if campaign.keep is not None else ():
            assert campaign.keep is not None
            keep(fault, campaign.keep)
        return tally
