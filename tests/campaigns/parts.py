"""Numbered pieces of a campaign, done part by part in several processes, and what comes of them added up."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, Self, TypeVar

T = TypeVar("T")


class Adding(Protocol):
    """Something to add up."""

    def add(self, other: Self) -> None: ...


A = TypeVar("A", bound=Adding)


def in_parts(
    first: int,
    count: int,
    size: int,
    jobs: int,
    work: Callable[[int, int], T],
    alone: Callable[[int, int], T] | None = None,
) -> Iterator[tuple[int, T]]:
    """For each part of the numbers [first, first + count) how many it holds, and work(begin, end).

    With several jobs the parts end in any order, and `work` must be picklable. `alone`: does parts whose process died,
    in this one; without it BrokenProcessPool is raised.
    """
    last = first + count
    parts = [(begin, min(begin + size, last)) for begin in range(first, last, size)]
    if jobs == 1:
        for begin, end in parts:
            yield end - begin, work(begin, end)
        return
    crashed: list[tuple[int, int]] = []
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        tasks: dict[Future[T], tuple[int, int]] = {pool.submit(work, *part): part for part in parts}
        for task in as_completed(tasks):
            begin, end = tasks[task]
            try:
                yield end - begin, task.result()
            except BrokenProcessPool:  # with it all is lost that was not done
                if alone is None:
                    raise
                crashed.append((begin, end))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    if alone is not None:
        for begin, end in crashed:
            yield end - begin, alone(begin, end)


def added_up(parts: Iterable[tuple[int, A]], total: A, progress: Callable[[int, A], None]) -> tuple[int, bool]:
    """Adds the parts to `total`: how many pieces were done, and whether Ctrl-C ended it early.

    `progress` is called with the number done and the total so far.
    """
    done = 0
    try:
        for count, tally in parts:
            done += count
            total.add(tally)
            progress(done, total)
    except KeyboardInterrupt:
        return done, True
    return done, False
