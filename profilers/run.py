"""Runs programs contained: limited in time, memory, processes and output, and without survivors."""

import contextlib
import math
import os
import re
import selectors
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from profilers.contained.child import Child, Command, Finished, Limits
from profilers.deadline import OutOfTime, left_s

DEFAULT_ENVIRONMENT: Mapping[str, str] = MappingProxyType({"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"})


_ERROR = re.compile(r"error:|cannot find|cannot open|undefined|multiple definition|not found")
_contained_s = 0.0


def contained_seconds() -> float:
    """Wall time during which `run_many` had at least one program running, since this process began."""
    return _contained_s


def run_many(commands: Iterable[Command], *, jobs: int) -> tuple[Finished, ...]:
    """Runs the commands, at most `jobs` at a time, and returns their results in order.

    A command is asked for when there is room for it: what makes them works while earlier ones run.
    On any exception (KeyboardInterrupt too) everything started is killed before it is passed on. Raises OutOfTime where
    a deadline (`profilers.deadline`) ends one of them.
    """
    results: dict[int, Finished] = {}
    running: dict[int, Child] = {}
    spans: list[tuple[float, float]] = []
    late: set[int] = set()  # those that the deadline would end
    waiting = enumerate(commands)
    more = True
    with selectors.DefaultSelector() as selector:
        try:
            while more or running:
                while more and len(running) < max(1, jobs):
                    index, command = next(waiting, (-1, None))
                    if command is None:
                        more = False
                        break
                    in_time = _in_time(command)
                    if in_time is not command:
                        late.add(index)
                    child = running[index] = Child(in_time)
                    selector.register(child.control, selectors.EVENT_READ, (index, None))
                    for stream in child.streams:
                        selector.register(stream.file, selectors.EVENT_READ, (index, stream))
                if not running:
                    break
                soonest = min(child.deadline for child in running.values())
                ended = []
                for key, _ in selector.select(max(0.0, soonest - time.monotonic())):
                    index, stream = key.data
                    if stream is None:
                        if running[index].read_report():
                            ended.append(index)
                    elif not stream.read():
                        selector.unregister(stream.file)
                now = time.monotonic()
                ended += [index for index, child in running.items() if now >= child.deadline and index not in ended]
                for index in ended:
                    child = running[index]
                    selector.unregister(child.control)
                    for stream in child.streams:
                        with contextlib.suppress(KeyError):
                            selector.unregister(stream.file)
                    results[index] = child.finished()
                    spans.append((child.started, child.started + results[index].wall_s))
                    del running[index]
                    if results[index].limit == "wall" and index in late:
                        raise OutOfTime(f"{child.command.argv[0]} was ended")
        except BaseException:
            spans += [(child.started, time.monotonic()) for child in running.values()]
            for child in running.values():
                child.control.close()
            for child in running.values():
                child.close(2.0)
            raise
        finally:
            global _contained_s
            _contained_s += _covered(spans)
    return tuple(results[index] for index in sorted(results))


def _in_time(command: Command) -> Command:
    """The command with what is left of the time as its limit. Raises OutOfTime where nothing is."""
    left = left_s()
    if left <= 0:
        raise OutOfTime(f"{command.argv[0] if command.argv else 'nothing'} was not started")
    return command if left > command.limits.wall_s else replace(command, limits=replace(command.limits, wall_s=left))


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of (from, to)."""
    total, end = 0.0, -math.inf
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def run_contained(
    argv: Sequence[str],
    *,
    limits: Limits,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str],
    stdin: bytes | os.PathLike[str] | None = None,
    pass_fds: tuple[int, ...] = (),
    writable: tuple[str, ...] | None = None,
) -> Finished:
    """Runs one program contained and returns how it ended, at most 0.5 s after its wall limit.

    Raises NotExecutable where the program cannot be executed, ContainmentError and CompilerMissing
    where the supervisor cannot be.
    """
    return run_many((Command(tuple(argv), limits, env, cwd, stdin, pass_fds, writable),), jobs=1)[0]


def error_line(text: str) -> str:
    """The line of what a compiler or a linker said that names what is wrong; else the first one."""
    lines = [line for line in text.splitlines() if not line.startswith("collect2: error:")]
    return next((line for line in lines if _ERROR.search(line)), lines[0] if lines else text.strip())


def describe_signal(number: int) -> str:
    """The signal's name, "SIGSEGV", or "signal 40" for one without."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
