"""Asks isl's scheduler, in a process of its own, and waits for what it says no longer than it may take."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import subprocess
import tempfile
import weakref

from profilers.contained.python import python_command
from scheduler.affine.model import SETTINGS, Answer, Question, Setting
from scheduler.polyhedral.model import affine_text
from scheduler.replay import Replayer
from scheduler.transform.reschedule import time_maps


def question(replayer: Replayer, settings: tuple[Setting, ...] = SETTINGS) -> Question:
    """Raises NotApplicable for loops whose bounds depend on data (no time map can be given), and QuotaExceeded."""
    model = replayer.model
    prefix = model.parameter_prefix()
    depth = max(len(model.iterators(s)) for s in model.placed)
    orders: list[str] = []
    for one in time_maps(replayer.tree(())).maps:
        names = frozenset(model.iterators(one.statement))
        entries = [str(one.positions[0])]
        for row, position in zip(one.rows, one.positions[1:], strict=True):
            entries += [affine_text(row, "", names), str(position)]
        entries += ["0"] * (2 * depth + 1 - len(entries))
        orders.append(f"{model.tuple_text(one.statement)} -> [{', '.join(entries)}]")
    with model.quota():
        kept = [d.relation for d in replayer.dependences if not replayer.checker.relaxed(d)]
        every = [d.relation for d in replayer.dependences]
        uses = [(s, use) for s in model.placed for use in model.uses(s)]
        reads = [model.access_relation(s, use) for s, use in uses if not use.is_write]
        sure = [(s, use) for s, use in uses if use.is_write and use.must and use.access.is_affine]
        unsure = [(s, use) for s, use in uses if use.is_write and not (use.must and use.access.is_affine)]
        return Question(
            domain=_union(prefix, [str(model.domain(s, "unbounded")) for s in model.placed]),
            order=f"{prefix}{{ {'; '.join(orders)} }}",
            validity=_union(prefix, list(map(str, kept))),
            coincidence=_union(prefix, list(map(str, every))),
            reads=_union(prefix, list(map(str, reads))),
            surely_written=_union(prefix, [str(model.access_relation(s, use)) for s, use in sure]),
            perhaps_written=_union(prefix, [str(model.access_relation(s, use)) for s, use in unsure]),
            nearest=len(kept) == len(every) and not replayer.independent,
            settings=settings,
        )


def _union(prefix: str, texts: list[str]) -> str:
    """One union of sets or maps, each printed by isl with the same parameters."""
    bodies = [text[text.index("{") + 1 : text.rindex("}")].strip() for text in texts]
    return f"{prefix}{{ {'; '.join(filter(None, bodies))} }}"


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
    with tempfile.TemporaryFile() as file:  # not a pipe, which would hold up the caller until it is read
        pickle.dump(question, file)
        file.seek(0)
        return subprocess.Popen(
            python_command("scheduler.affine.child"),
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
