"""Work in child processes that may be killed, crash, or hang, without harm to this one."""

from __future__ import annotations

import math
import multiprocessing
import os
import select
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

Inputs = ParamSpec("Inputs")
Result = TypeVar("Result")
Tell = Callable[[str], None]


def apart(function: Callable[Inputs, Result], *args: Inputs.args, **kwargs: Inputs.kwargs) -> Result:
    """Runs a module's function in a fresh process: one without threads, so that it can fork."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


@dataclass(frozen=True, slots=True)
class Ended:
    """A child's end: the lines it told, its signal (0: none) and exit code, and how long it ran."""

    told: tuple[str, ...]
    signal: int
    code: int
    seconds: float

    @property
    def well(self) -> bool:
        """Ran to its end."""
        return self.signal == 0 and self.code == 0


class Forked:
    """A child that runs `work(tell)`; what it tells reaches us even if it is killed right afterwards."""

    def __init__(self, work: Callable[[Tell], None]) -> None:
        reading, writing = os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run(work, writing)
        os.close(writing)
        self._reading = reading

    def kill(self, after_s: float) -> Ended:
        """Kills it (SIGKILL) after so many seconds, if it is still running."""
        time.sleep(after_s)
        os.kill(self.pid, signal.SIGKILL)  # not yet waited for: the number is still this child's
        return self.wait()

    def wait(self, limit_s: float = 120.0) -> Ended:
        """Its end; killed where it does not come within `limit_s` seconds."""
        content = b""
        deadline = time.monotonic() + limit_s
        while True:
            if not select.select([self._reading], [], [], max(0.0, min(deadline - time.monotonic(), limit_s)))[0]:
                content += f"error: not done after {limit_s:g} s\n".encode()
                os.kill(self.pid, signal.SIGKILL)
                deadline = math.inf
            elif part := os.read(self._reading, 1 << 16):
                content += part
            else:
                break
        os.close(self._reading)
        _, status = os.waitpid(self.pid, 0)
        seconds = time.monotonic() - self.started
        code = os.waitstatus_to_exitcode(status)
        return Ended(tuple(content.decode(errors="replace").splitlines()), max(0, -code), max(0, code), seconds)


def _run(work: Callable[[Tell], None], writing: int) -> None:
    code = 1
    try:
        work(lambda line: _write(writing, line))
        code = 0
    except BaseException as problem:
        _write(writing, f"error {type(problem).__name__}: {problem}")
    finally:
        os._exit(code)


def _write(writing: int, line: str) -> None:
    content = line.replace("\n", " ").encode() + b"\n"
    while content:
        content = content[os.write(writing, content) :]
