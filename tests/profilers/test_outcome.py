"""Outcomes are plain values."""

import pickle

from profilers.outcome import BuildFailed, Crashed, Timed, TimedOut


def test_statistics_and_pickling():
    timed = Timed((3.0, 1.0, 2.0))
    assert (timed.min, timed.median) == (1.0, 2.0)
    for outcome in (timed, BuildFailed("x"), Crashed("SIGSEGV", "y"), TimedOut(2.0)):
        assert pickle.loads(pickle.dumps(outcome)) == outcome
