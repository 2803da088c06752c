"""What the harness is told of a workload, as the text that it reads."""

import hashlib
import os
from dataclasses import dataclass
from typing import Literal

from profilers.errors import HarnessError
from profilers.workload import Argument, CapturedFill, ConstantFill, RandomFill


@dataclass(frozen=True, slots=True)
class OpenMP:
    """How the OpenMP runtime behaves; None leaves the runtime's own default, which is what users get."""

    wait_policy: Literal["active", "passive"] | None = None
    spin_count: int | None = None  # GOMP_SPINCOUNT
    proc_bind: str | None = None
    places: str | None = None


@dataclass(frozen=True, slots=True)
class TimingSettings:
    """How often a kernel is repeated.

    After one warm-up call, samples are taken until there are `max_samples`, or `min_samples` and
    `target_seconds` have passed (restoring included). A warm-up of 0.1 s and of `target_seconds` or more
    counts as a sample, and as that time. A sample of a kernel shorter than `batch_seconds` is the mean of
    several calls, each timed alone. `stop_above_s`: give up when two samples are there (one, where this is
    20 ms or more: then the warm-up counts as well) and even the best is slower, or when the warm-up call
    takes longer; since that is cold, and threads start in it, limits below 0.2 s are then four times as long
    and 50 ms, up to 0.2 s.
    """

    min_samples: int = 3
    max_samples: int = 50
    target_seconds: float = 0.2
    stop_above_s: float | None = None
    batch_seconds: float = 2e-4
    openmp: OpenMP = OpenMP()

    def __post_init__(self) -> None:
        if not 1 <= self.min_samples <= self.max_samples <= 1_000_000:
            raise HarnessError(f"needs 1 <= min_samples <= max_samples: {self.min_samples}, {self.max_samples}")
        for seconds in (self.target_seconds, self.batch_seconds, self.stop_above_s or 0.0):
            if not 0 <= seconds < 1e6:
                raise HarnessError(f"{seconds} s cannot be a duration here")


def inputs_digest(arguments: tuple[Argument, ...]) -> str:
    """Identifies what a reference was computed from and holds: types, sizes, fills, which are outputs."""
    parts = [(a.ctype, a.count, a.filled, _fill_text(a), a.written, a.compared) for a in arguments]
    return hashlib.sha256(repr(parts).encode("utf-8", errors="surrogateescape")).hexdigest()[:16]


def specification_of(
    arguments: tuple[Argument, ...],
    mode: str,
    settings: TimingSettings,
    reference: str,
    tolerances: tuple[float, float],
    more: tuple[str, ...] = (),
) -> bytes:
    """What harness.c reads; `more` are the further lines of its mode."""
    samples = (settings.target_seconds, settings.stop_above_s or 0.0, settings.batch_seconds)
    lines = [
        "perfembed-harness 1",
        f"mode {mode} inputs {inputs_digest(arguments)}",
        f"samples {settings.min_samples} {settings.max_samples} {_hex(*samples)}",
        f"tolerance {_hex(*tolerances)}",
        reference,
        *more,
        f"arguments {len(arguments)}",
        *map(_argument_line, arguments),
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="surrogateescape")


def _fill_text(argument: Argument) -> str:
    match argument.fill:
        case RandomFill(seed, low, high):
            return f"random {seed % 2**64} {_hex(low, high)}"
        case ConstantFill(value):
            return f"constant {_hex(value) if argument.is_float else int(value)}"
        case CapturedFill(path, offset):
            return f"captured {offset} {os.path.abspath(path)}"


def _argument_line(argument: Argument) -> str:
    head = f"{argument.ctype.replace(' ', '_')} {argument.written:d} {argument.compared:d}"
    filled = argument.count if argument.filled is None else argument.filled
    return f"{head} {argument.alignment_offset} {argument.count} {filled} {_fill_text(argument)}"


def _hex(*values: float) -> str:
    return " ".join(float(value).hex() for value in values)
