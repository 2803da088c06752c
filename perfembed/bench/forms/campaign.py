"""Runs a campaign over forms of programs in several processes and gathers what they found."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from perfembed.bench.forms.check import Checker
from perfembed.bench.forms.model import Campaign, CampaignResult, Tally

_CHUNK = 8  # programs of each form a task

Progress = Callable[[int, Tally], None]
"""Called with the number of programs done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and faults whatever the number of jobs."""
    began = time.monotonic()
    total = Tally()
    done, interrupted = 0, False
    try:
        for count, tally in _tallies(campaign):
            done += count
            total.add(tally)
            progress(done, total)
    except KeyboardInterrupt:
        interrupted = True
    faults = tuple(sorted(total.faults, key=lambda f: (f.form, f.program)))
    counts = {form: dict(sorted(total.counts[form].items())) for form in campaign.forms if form in total.counts}
    return CampaignResult(campaign, done, counts, faults, time.monotonic() - began, interrupted)


def _tallies(campaign: Campaign) -> Iterator[tuple[int, Tally]]:
    last = campaign.first + campaign.programs
    chunks = [(begin, min(begin + _CHUNK, last)) for begin in range(campaign.first, last, _CHUNK)]
    if campaign.jobs == 1:
        for begin, end in chunks:
            yield (end - begin) * len(campaign.forms), _chunk(campaign, begin, end)
        return
    pool = ProcessPoolExecutor(campaign.jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        tasks = {pool.submit(_chunk, campaign, b, e): e - b for b, e in chunks}
        for task in as_completed(tasks):
            yield tasks[task] * len(campaign.forms), task.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _chunk(campaign: Campaign, begin: int, end: int) -> Tally:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=campaign.workdir) as folder:
        checker = Checker(campaign, Path(folder))
        for number in range(begin, end):
            for form in campaign.forms:
                checker.check(form, number)
        return checker.tally
