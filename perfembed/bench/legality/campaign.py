"""Runs a campaign over several processes and gathers what they found."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed

from perfembed.bench.legality.compiled import check_compiled
from perfembed.bench.legality.model import Campaign, CampaignResult, Tally
from perfembed.bench.legality.program import run_program

_CHUNK = 20  # programs a task

Progress = Callable[[int, Tally], None]
"""Called with the number of programs done and the tally so far."""


def run_campaign(campaign: Campaign, progress: Progress) -> CampaignResult:
    """The same campaign gives the same counts and disagreements whatever the number of jobs."""
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
    disagreements = sorted(total.disagreements, key=lambda d: (d.program, d.kind, d.schedule, d.detail))
    counts = dict(sorted(total.counts.items()))
    return CampaignResult(campaign, done, counts, tuple(disagreements), time.monotonic() - began, interrupted)


def _tallies(campaign: Campaign) -> Iterator[tuple[int, Tally]]:
    last = campaign.first + campaign.programs
    chunks = [(begin, min(begin + _CHUNK, last)) for begin in range(campaign.first, last, _CHUNK)]
    if campaign.jobs == 1:
        for begin, end in chunks:
            yield end - begin, _chunk(campaign, begin, end)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(campaign.jobs, mp_context=context)
    try:
        tasks: dict[Future[Tally], int] = {pool.submit(_chunk, campaign, b, e): e - b for b, e in chunks}
        for task in as_completed(tasks):
            yield tasks[task], task.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _chunk(campaign: Campaign, begin: int, end: int) -> Tally:
    tally = Tally()
    for index in range(begin, end):
        tally.add(run_program(campaign, index))
    if tally.runnable:
        tally.add(check_compiled(campaign, tally.runnable))
        tally.runnable = []
    return tally
