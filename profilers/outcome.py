"""What became of a candidate. Failures are values: they are stored and learned from."""

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Timed:
    """Ran to the end; `samples_s` holds the seconds of one kernel call, one entry per repetition."""

    samples_s: tuple[float, ...]

    @property
    def min(self) -> float:
        """The fastest repetition, in seconds."""
        return min(self.samples_s)

    @property
    def median(self) -> float:
        """The median repetition, in seconds."""
        return statistics.median(self.samples_s)


@dataclass(frozen=True, slots=True)
class BuildFailed:
    """The compiler refused the text, took too long or too much memory; `message` is its first lines."""

    message: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """Ended abnormally: a signal's name ("SIGSEGV"), an exit code, or "memory" or "processes" (a limit)."""

    signal_or_code: str | int
    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Did not end within `limit_s` seconds of wall time (data preparation included)."""

    limit_s: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """Slower than the cut-off: given up after a kernel call had taken `after_s` seconds."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How one argument differs from the reference. Errors are infinite where a NaN or infinity is involved."""

    argument: str
    count: int  # differing elements
    first_index: int  # flat, row-major
    expected: float | int
    actual: float | int
    max_abs_error: float
    max_rel_error: float  # relative to the larger magnitude of the two


@dataclass(frozen=True, slots=True)
class WrongResult:
    """Other output than the reference, a write outside an array, or a write to a read-only argument.

    `argument` and `first_index` name the first difference (the index is negative or past the end
    for a write outside the array); `differences` has one entry per differing argument.
    """

    argument: str
    first_index: int
    max_error: float
    message: str
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """The outputs agree with the reference; `seconds` that the one, cold call took."""

    seconds: float = field(compare=False, default=0.0)


Failure = BuildFailed | Crashed | TimedOut | Stopped | WrongResult
Outcome = Timed | Verified | Failure
