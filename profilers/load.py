"""How busy others keep the machine."""

import os
import resource
import time
from pathlib import Path


class LoadMeter:
    """Measures how many cores others kept busy between its creation and `other_load()`.

    Our own share is the processor time of this process and of its ended children. The kernel counts
    in steps of 10 ms, so intervals below a few tenths of a second say little; two steps are forgiven.
    """

    __slots__ = ("_busy", "_own", "_time")

    def __init__(self) -> None:
        self._time, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def other_load(self) -> float:
        """Cores kept busy by others; 0.0 where /proc/stat cannot be read."""
        if self._busy is None or (busy := _busy_seconds()) is None:
            return 0.0
        elapsed = time.monotonic() - self._time
        others = (busy - self._busy) - (_own_seconds() - self._own) - 2 / os.sysconf("SC_CLK_TCK")
        return max(0.0, others) / max(elapsed, 1e-3)


def _busy_seconds() -> float | None:
    """Processor seconds spent by anyone since boot on all cores, time stolen by the hypervisor included."""
    try:
        line = Path("/proc/stat").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return None
    user, nice, system, _, _, irq, softirq, *rest = (int(word) for word in line[1:])
    steal = rest[0] if rest else 0
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def crowding() -> float:
    """How many times as long this process took as it had a processor, since it began: 1 on a quiet machine.

    1.0 where the kernel does not say how long its threads waited for one (/proc/self/schedstat).
    """
    try:
        ran, waited, _ = (int(word) for word in Path("/proc/self/schedstat").read_text().split())
    except (OSError, ValueError):
        return 1.0
    return (ran + waited) / ran if ran > 0 else 1.0
