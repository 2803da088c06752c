"""Runs the real command line on a case and checks what holds for every input."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCUMENTED = frozenset((0, 1, 2, 3, 4, 5, 9, 130))
_PR_SET_CHILD_SUBREAPER = 36
_WAITING = 12
_COMMAND = (sys.executable, "-c", "from perfembed.cli.main import run; run()")


@dataclass(frozen=True, slots=True)
class Run:
    code: int
    out: str
    err: str
    wall_s: float
    survivors: tuple[str, ...]
    left: tuple[str, ...]  # in the folder for temporary files


def perfembed(
    arguments: Sequence[str | bytes],
    folder: Path,
    scratch: Path,
    limit_s: float,
    *,
    stop_after_s: float | None = None,
) -> Run:
    """One run in `folder`. What it leaves behind is found and killed: orphans come to this process.

    `limit_s`: seconds of processor time of each of its processes; it may wait for others many times as long.
    `stop_after_s`: SIGINT is sent then.
    """
    adopt_orphans()
    scratch.mkdir()
    before = children()
    env = {**os.environ, "TMPDIR": str(scratch), "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    began = time.monotonic()
    out_path, err_path = scratch.with_suffix(".out"), scratch.with_suffix(".err")
    with out_path.open("wb") as out, err_path.open("wb") as err:  # not pipes: a survivor would keep them open
        process = subprocess.Popen(
            [*_COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=env,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s),) * 2),
        )
        try:
            if stop_after_s is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(stop_after_s)
                process.send_signal(signal.SIGINT)
            process.wait(_WAITING * limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            hung = process.poll() is None
            process.kill()
            process.wait()
    wall_s = time.monotonic() - began
    assert not hung, (
        f"did not end within {_WAITING * limit_s} s (stderr: {err_path.read_text('utf-8', 'replace')[-300:]!r})"
    )
    survivors = end_survivors(before)
    return Run(
        process.returncode,
        out_path.read_bytes().decode("utf-8", "surrogateescape"),
        err_path.read_bytes().decode("utf-8", "surrogateescape"),
        wall_s,
        survivors,
        tuple(sorted(p.name for p in scratch.iterdir())),
    )


def check(run: Run, codes: frozenset[int], said: str = "") -> None:
    """Everything but what the files look like."""
    said_all = f"exit code {run.code}\n{run.err[-2000:]}\n{run.out[-1000:]}"
    assert run.code in DOCUMENTED, said_all
    assert run.code in codes, said_all
    assert "Traceback" not in run.err and "Traceback" not in run.out, said_all
    for internal in ("C parser failed", "analysis of the loop failed", "internal error"):
        assert internal not in run.out + run.err, said_all
    assert run.survivors == (), said_all
    assert run.left == (), said_all
    if run.code in (1, 2, 4, 5, 9, 130) or not run.out:
        assert run.err.startswith("perfembed") or run.code == 130, said_all
    assert len(run.err) < 20_000, len(run.err)
    for text in (run.out, run.err):
        strange = sorted({c for c in text if c != "\n" and c != "\t" and not c.isprintable()})
        assert strange == [], f"{strange!r} in what was printed: {said_all}"
    assert said in run.out + run.err, said_all


def known_open(reason: str) -> list[pytest.MarkDecorator]:
    """The mark of a case that is known not to work yet; it fails once it does."""
    return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []


def adopt_orphans() -> None:
    """Descendants that lose their parent become children of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found |= {int(word) for word in (task / "children").read_text().split()}
    return found


def end_survivors(before: set[int], patience_s: float = 1.0) -> tuple[str, ...]:
    """The children that are there now and will not go by themselves; they are killed, their children too."""
    end = time.monotonic() + patience_s
    while (left := children() - before) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    found: list[str] = []
    while left:
        found += [_end(pid) for pid in left]
        left = children() - before
    return tuple(found)


def _end(pid: int) -> str:
    """Kills a survivor and everything below it; what it was."""
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:100]
    except OSError:
        name = "?"
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return f"{pid} {name}"
