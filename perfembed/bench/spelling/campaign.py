"""Runs a spelling campaign over several processes and gathers what they found."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from perfembed.bench.spelling.check import Checker
from perfembed.bench.spelling.model import Campaign, CampaignResult, Tally

_CHUNK = 24  # files a task: whole bases

Progress = Callable[[int, Tally], None]
"""Called with the number of files done and the tally so far."""


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
    faults = tuple(sorted(total.faults, key=lambda f: (f.file, f.kind)))
    return CampaignResult(
        campaign, done, dict(sorted(total.counts.items())), faults, time.monotonic() - began, interrupted
    )


def _tallies(campaign: Campaign) -> Iterator[tuple[int, Tally]]:
    last = campaign.first + campaign.files
    chunks = [(begin, min(begin + _CHUNK, last)) for begin in range(campaign.first, last, _CHUNK)]
    if campaign.jobs == 1:
        for begin, end in chunks:
            yield end - begin, _chunk(campaign, begin, end)
        return
    crashed: list[tuple[int, int]] = []
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(campaign.jobs, mp_context=context)
    try:
        tasks: dict[Future[Tally], tuple[int, int]] = {pool.submit(_chunk, campaign, b, e): (b, e) for b, e in chunks}
        for task in as_completed(tasks):
            begin, end = tasks[task]
            try:
                yield end - begin, task.result()
            except BrokenProcessPool:  # the parser crashed, and with it all that was not done
                crashed.append((begin, end))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for begin, end in crashed:
        yield end - begin, _chunk(campaign, begin, end, apart=True)


def _chunk(campaign: Campaign, begin: int, end: int, apart: bool = False) -> Tally:
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=campaign.workdir) as folder:
        checker = Checker(campaign, Path(folder), apart)
        for index in range(begin, end):
            checker.check(index)
        return checker.tally
