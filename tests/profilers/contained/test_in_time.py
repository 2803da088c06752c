"""Work in a child process: what is given up, and whose time counts. Real processes."""

from __future__ import annotations

import os
import resource
import signal
import time

import pytest

from profilers.contained.in_time import Undone, in_time

pytestmark = pytest.mark.gcc


def worked(seconds: float) -> float:
    """Of processor time; what is negative is spent waiting."""
    if seconds < 0:
        time.sleep(-seconds)
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def test_what_is_too_hard_and_what_there_is_no_time_for() -> None:
    assert in_time(worked, [0.01, 9.0, 0.02], item_s=0.3, total_s=5.0) == [0.01, Undone.TOO_HARD, 0.02]
    assert in_time(worked, [0.01, 9.0, 0.02], item_s=9.0, total_s=0.3) == [0.01, Undone.NO_TIME, Undone.NO_TIME]
    assert in_time(worked, [9.0], item_s=0.0, total_s=5.0) == [Undone.TOO_HARD]
    assert in_time(worked, [0.01], item_s=9.0, total_s=0.0) == [Undone.NO_TIME]


def test_waiting_does_not_count() -> None:
    assert in_time(worked, [-0.5, 0.01], item_s=0.2, total_s=0.3) == [-0.5, 0.01]
    assert in_time(worked, [0.01, -9.0, 0.01], item_s=0.2, total_s=0.3, wall_s=0.4) == [0.01, *[Undone.NO_TIME] * 2]


def test_a_crash_is_one_item_s_affair() -> None:
    def crashes(item: int) -> int:
        if item == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert in_time(crashes, [0, 1, 2], item_s=5.0, total_s=5.0) == [0, Undone.TOO_HARD, 2]


def test_failures_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        in_time(lambda item: 1 // item, [1, 0], item_s=5.0, total_s=5.0)


def test_limits_of_the_user_are_kept() -> None:
    """In a process of its own, for a limit that was lowered cannot be raised again."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
            allowed = in_time(lambda what: resource.getrlimit(what), [resource.RLIMIT_AS], item_s=5.0, total_s=5.0)
            os._exit(allowed != [(3 << 30, 3 << 30)])
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
