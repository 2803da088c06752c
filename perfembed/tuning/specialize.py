"""Nests read again as for the values that integers had in the program: `a[i * stride]` is affine where stride is 1.

Only where a nest is not affine, or is so under assumptions that did not hold, for as few integers as help, and for
values with which the nest spent almost all of its time. What is written tests them, and runs the original loops for
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from perfembed.capture import NestProfile, ProgramProfile
from perfembed.capture.extents import broken_assumptions
from perfembed.capture.instrument import recorded_values
from perfembed.tuning.project import Project
from profilers.deadline import left_s
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import opaque_parts

Given = Mapping[str, int]  # by what C calls an integer, its value
ReadAgain = Callable[[SourceFile, Mapping[int, Given]], SourceFile | None]
"""A file read with values given for the nests that begin at these bytes; None where that fails."""

_STEADY = 0.9  # of the time of a nest, that it ran with the same value
_SMALL = 16  # a factor, a stride, a block of a few: rather than the size of the data
_MOST_READINGS = 8
_TIME = 0.2  # of what is left, for reading again


@dataclass(frozen=True, slots=True)
class Specialized:
    """The project with some nests read for values, and by the names of these, the values."""

    project: Project
    given: Mapping[str, Given]


def specialized(project: Project, profile: ProgramProfile, least_share: float, read_again: ReadAgain) -> Specialized:
    """Nests with less than `least_share` of the program's time stay as they are, and those that there is no time for.

    The files in which the program spends most come first.
    """
    known = {nest.name: nest for nest in profile.nests}
    given: dict[str, Given] = {}
    read: dict[str, SourceFile] = {}
    least_s = (1 - _TIME) * left_s()

    def share(source: SourceFile) -> float:
        return sum(known[nest.name].share for nest in source.nests if nest.name in known)

    for source in sorted(project.sources, key=share, reverse=True):
        trials = {}
        for nest in source.nests:
            ran = known.get(nest.name)
            if nest.span is not None and ran is not None and not ran.problem and ran.share >= least_share:
                trials[nest.span.begin] = _Trial(nest, ran, source.fixable.get(nest.name, ()))
        found = _search(source, trials, read_again, least_s)
        given |= {trial.nest.name: trial.given for trial in trials.values() if trial.given}
        read[source.path] = with_nests(source, {trials[b].nest.name: again for b, again in found.items()})
    return Specialized(replace(project, sources=tuple(read[source.path] for source in project.sources)), given)


class _Trial:
    """The search for the integers of one nest: `given` are the best so far."""

    def __init__(self, nest: LoopNest, ran: NestProfile, fixable: Sequence[str]) -> None:
        self.nest = nest
        self.given: Given = {}
        self._recorded = frozenset(ran.values)
        names = {text: name for name, text, _ in recorded_values(nest)}
        self._values = {text: ran.values[name] for text, name in names.items()}
        self._steady = {text for text, name in names.items() if ran.steady.get(name, 0.0) >= _STEADY}
        self._fixable = dict.fromkeys(fixable)
        self._tried: list[Given] = []
        self._faults = self._of(nest)

    def _of(self, nest: LoopNest) -> tuple[int, int]:
        """What keeps it from being tuned: assumptions that do not hold where it ran, and what is not affine."""
        values = {p.name: self._values[text] for p in nest.parameters if (text := p.base or p.name) in self._values}
        return broken_assumptions(nest, values), opaque_parts(nest)

    def next(self) -> Given | None:
        """What to read the nest with; None where there is nothing left to try.

        First the neutral values, then small ones too, then all; of what helps, each is left out in turn.
        """
        sets: list[Given] = []
        if any(self._faults):
            every = {text: self._values[text] for text in self._fixable if text in self._steady}
            sets = [
                {text: value for text, value in every.items() if value in (0, 1)},
                {text: value for text, value in every.items() if abs(value) <= _SMALL},
                every,
            ]
        sets += [{t: v for t, v in self.given.items() if t != left_out} for left_out in self.given]
        return next((s for s in sets if s and s not in self._tried), None)

    def judge(self, given: Given, nest: LoopNest | None, fixable: Sequence[str]) -> bool:
        """Whether the nest that was read with these values is better; `fixable`: what is in it then."""
        self._tried.append(given)
        if nest is None or not {p.name for p in nest.parameters} <= self._recorded:
            return False  # what it computes in front of its loops was not recorded when the program ran
        self._fixable |= dict.fromkeys(fixable)
        faults = self._of(nest)
        fewer = len(given) < len(self.given)
        if faults > self._faults or (faults == self._faults and not fewer):
            return False
        self.given, self._faults = given, faults
        return True


def _search(
    source: SourceFile, trials: Mapping[int, _Trial], read_again: ReadAgain, least_s: float
) -> dict[int, tuple[SourceFile, LoopNest]]:
    """The best reading of each nest: the file as it was read then, and the nest in that; `least_s` are left then."""
    found: dict[int, tuple[SourceFile, LoopNest]] = {}
    for _ in range(_MOST_READINGS):
        if left_s() < least_s:
            break
        asked = {begin: given for begin, trial in trials.items() if (given := trial.next()) is not None}
        again = read_again(source, asked) if asked else None
        if again is None:
            break
        nests = {nest.span: nest for nest in again.nests}
        for begin, given in asked.items():
            trial = trials[begin]
            nest = nests.get(trial.nest.span)
            fixable = again.fixable.get(nest.name, ()) if nest is not None else ()
            if trial.judge(given, nest, fixable) and nest is not None:
                found[begin] = again, nest
    return found


def with_nests(source: SourceFile, others: Mapping[str, tuple[SourceFile, LoopNest]]) -> SourceFile:
    """The file with nests, by their names, as they were read another time, in that file."""
    if not others:
        return source
    nests, assumptions, sharing = [], dict(source.assumptions), dict(source.sharing)
    remainders = dict(source.remainders)
    for nest in source.nests:
        if nest.name in others:
            whole, other = others[nest.name]
            assumptions[nest.name] = whole.assumptions[other.name]
            remainders.pop(nest.name, None)
            if other.name in whole.remainders:
                remainders[nest.name] = whole.remainders[other.name]
            if other.name in whole.sharing:
                known = sharing.get(nest.name, whole.sharing[other.name])  # who runs it does not change
                sharing[nest.name] = replace(whole.sharing[other.name], context=known.context, reason=known.reason)
            nest = replace(other, name=nest.name)
        nests.append(nest)
    return replace(source, nests=tuple(nests), assumptions=assumptions, sharing=sharing, remainders=remainders)
