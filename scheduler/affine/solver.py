"""Asks isl's scheduler, in a process of its own, and waits for what it says no longer than it may take."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

import scheduler
from scheduler.affine.model import Answer, Question

_SECONDS = 3.0  # in all, on a machine that has other things to do


class Asked:
    """A question on its way: asked at once, while the caller goes on with other things."""

    def __init__(self, question: Question) -> None:
        self._answers: tuple[Answer, ...] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # then there is no answer
            self._process = _started(question)
            weakref.finalize(self, _end, self._process)

    def answers(self, seconds: float = _SECONDS) -> tuple[Answer, ...]:
        """One for each setting that was done when the time was up; none where the process could not run."""
        if self._answers is None:
            self._answers = _collected(self._process, seconds) if self._process is not None else ()
        return self._answers


def _started(question: Question) -> subprocess.Popen[bytes]:
    root = str(Path(scheduler.__file__).resolve().parent.parent)
    program = f"import sys; sys.path.insert(0, {root!r}); from scheduler.affine.child import main; main()"
    with tempfile.TemporaryFile() as file:  # not a pipe, which would hold up the caller until it is read
        pickle.dump(question, file)
        file.seek(0)
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _collected(process: subprocess.Popen[bytes], seconds: float) -> tuple[Answer, ...]:
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        output, _ = process.communicate()
    except BaseException:
        _end(process)
        process.communicate()
        raise
    found: list[Answer] = []
    with io.BytesIO(output) as content, contextlib.suppress(EOFError, pickle.UnpicklingError):  # the last may be cut
        while True:
            found.append(pickle.load(content))
    return tuple(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and those it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
