"""What a program says, to be compared with what another build of it says: the times that it prints put aside.

Most programs that are worth tuning print how long they took, and many draw random numbers from the time. Where two runs
differ, both are made once more under a clock that says the same in every run (`still_clock.c`, preloaded), so that all
that they say can be compared; what differs then, the original is run again for: words that it changes by itself are
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from perfembed.building.build import Made
from perfembed.capture.compared import Said, difference, varying
from perfembed.capture.program import ProgramRun, preloading, run_program
from perfembed.world import Ran, run_failure
from profilers.contained.child import Limits

_HERE = Path(__file__).parent
_MOST, _MOST_OF_LONG, _LONG_S = 6, 3, 2.0  # runs of the original
_SLOWER, _LATE_S = 3.0, 5.0  # a run under the still clock that takes longer than this waits for time to pass

RunOther = Callable[[ProgramRun, Limits], Ran]


class Outputs:
    """Of the original: `built` makes runs of it. `note`: how it was compared, where that was not word for word."""

    def __init__(
        self, program: ProgramRun, built: Made, folder: Path, wall_s: float, exit_code: int, first: Ran | None = None
    ) -> None:
        """`folder`: for the clock; `wall_s`, `exit_code`: of a run of the original, such as `first`."""
        self.program = program
        self.built = built
        self.folder = folder
        self.wall_s, self.exit_code = wall_s, exit_code
        self.first = first
        self.note = ""

    def difference(self, other: RunOther, ran: Ran | None = None) -> str:
        """The first thing that the other program says differently; empty: nothing.

        `other` makes runs of it; `ran` is one, where it may say the same under the user's clock. Raises what running
        raises (`run_program`) and what `other` raises.
        """
        self.note = ""
        if self.first is not None and ran is not None and not difference(self.first, ran, self.program.world):
            return ""
        if (stopped := self._stopped) is not None:
            again = other(stopped.program, self._limits)
            if run_failure(again.finished, self._limits) is None:
                different = stopped.difference(again)
                self.note = " and ".join(filter(None, ("with its clock stopped", stopped.note)))
                return different
        limits = self.program.world.limits
        different = self._plain.difference(ran if ran is not None else other(self.program, limits))
        if different:  # what the other one changes by itself proves nothing
            different = self._plain.difference(other(self.program, limits))
        self.note = self._plain.note
        return different

    @property
    def _limits(self) -> Limits:
        limits = self.program.world.limits
        return replace(limits, wall_s=min(limits.wall_s, _SLOWER * self.wall_s + _LATE_S))

    @cached_property
    def _plain(self) -> _Repeated:
        first = self.first if self.first is not None else run_program(self.built, self.program)
        return _Repeated(self.program, first, lambda: run_program(self.built, self.program))

    @cached_property
    def _stopped(self) -> _Repeated | None:
        """The original where time stands still; None where it does something else then."""
        program, limits = with_still_clock(self.program, self.folder), self._limits
        if program is None:
            return None
        first = run_program(self.built, program, limits=limits)
        if run_failure(first.finished, limits) is not None or first.exit_code != self.exit_code:
            return None
        return _Repeated(program, first, lambda: run_program(self.built, program, limits=limits))


class _Repeated:
    """A program, run again as long as another one seems to say something else."""

    def __init__(self, program: ProgramRun, first: Ran, run: Callable[[], Ran]) -> None:
        self.program = program
        self.runs: list[Said] = [first]
        self.run = run
        self.most = _MOST if first.wall_s < _LONG_S else _MOST_OF_LONG

    def difference(self, other: Said) -> str:
        world = self.program.world
        while different := difference(self.runs[0], other, world, self.runs[1:]):
            if len(self.runs) == self.most:
                break
            self.runs.append(self.run())
        return different

    @property
    def note(self) -> str:
        words = varying(self.runs[0], self.runs[1:], self.program.world)
        return f"but for {words} that the original changes from run to run" if words else ""


def with_still_clock(program: ProgramRun, folder: Path) -> ProgramRun | None:
    """The program under a clock that says the same in every run; None where it cannot be preloaded."""
    return preloading(program, folder, _HERE / "still_clock.c")
