"""What a nest's OpenMP pragmas allow, and whether they are right: dependences between iterations that threads share.

Iterations of a shared loop run at the same time, so that none may depend on another one, but for what the pragmas take
care of: reductions, the last value, and code that one thread at a time runs (OpenMP API 5.2, section 1.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from scheduler.frontend.model import RACE, Shared, Sharing
from scheduler.ir.nest import LoopNest, Span, Storage
from scheduler.ir.walk import uses
from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.legality import Reassociate
from scheduler.polyhedral.reductions import is_exact
from scheduler.polyhedral.verdict import values_at
from scheduler.replay import LegalityOptions, Replayer

Instance = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Race:
    """Two instances of different iterations of a shared loop that touch one element, one of them writing it.

    `certain` is False where data decide whether they do: then the pragma is the user's word.
    """

    shared: Shared
    array: str
    kind: str
    source: Instance
    sink: Instance
    lines: tuple[int, int]
    parameters: Instance
    certain: bool

    @property
    def reason(self) -> str:
        """One sentence."""
        where = f"line {self.lines[0]}" + (f" and {self.lines[1]}" if self.lines[0] != self.lines[1] else "")
        if not self.certain:
            return (
                f"possible {RACE}it cannot be proved that iterations of loop {self.shared.loop} touch different "
                f"elements of {self.array} ({where})"
            )
        what = {"flow": "one writes, the other reads", "anti": "one reads, the other writes", "output": "both write"}
        first, second = (", ".join(f"{k} = {v}" for k, v in point) for point in (self.source, self.sink))
        at = f" for {', '.join(f'{k} = {v}' for k, v in self.parameters)}" if self.parameters else ""
        return (
            f"{RACE}iterations {first} and {second} of loop {self.shared.loop} touch the same element of {self.array} "
            f"({where}: {what[self.kind]}){at}"
        )


def reordered(nest: LoopNest, sharing: Sharing) -> Reassociate:
    """The floating-point arrays whose updates the user's pragmas let be done in another order; False where none."""
    return frozenset(name for name in sharing.reordered if not is_exact(nest.array(name))) or False


def allowed(nest: LoopNest, sharing: Sharing | None, reassociate: bool, trust: bool) -> LegalityOptions:
    """By the options `--reassociate` and `--trust-openmp`, and by the nest's pragmas."""
    if sharing is None:
        return LegalityOptions(reassociate)
    word = frozenset(s.loop for s in sharing.shared if s.threads) if trust else frozenset[str]()
    return LegalityOptions(reassociate or reordered(nest, sharing), word)


def certain_race(nest: LoopNest, sharing: Sharing) -> str:
    """What is wrong with its pragmas; empty where nothing is for certain. Raises QuotaExceeded."""
    if not sharing.shared:
        return ""
    return next((race.reason for race in races(Replayer(nest), sharing) if race.certain), "")


def races(replayer: Replayer, sharing: Sharing) -> tuple[Race, ...]:
    """At most one a shared loop, a certain one where there is any. `replayer`: of the nest as written.

    Raises QuotaExceeded.
    """
    found = []
    for shared in sharing.shared:
        if any(clause.startswith("safelen") for clause in shared.clauses):
            continue  # how far apart iterations must be is said
        here = [r for r in (_race(replayer, sharing, shared, d) for d in replayer.dependences) if r is not None]
        found += sorted(here, key=lambda race: not race.certain)[:1]
    return tuple(found)


def _race(replayer: Replayer, sharing: Sharing, shared: Shared, dependence: Dependence) -> Race | None:
    model, array = replayer.model, replayer.nest.array(dependence.array)
    reduced = {section.partition("[")[0] for _, section in shared.reductions}
    if array.storage is Storage.PRIVATE or array.name in reduced or array.name in shared.lasting:
        return None
    spans = [model.placed[s].statement.span for s in (dependence.source, dependence.sink)]
    if all(span is not None and _protected(sharing, span) for span in spans):
        return None
    carried = _carried(replayer, dependence, _loops(replayer, shared))
    if carried is None:
        return None
    with model.quota():
        point = carried.sample()
    return Race(
        shared,
        array.name,
        dependence.kind.value,
        values_at(point, isl.dim_type.in_, model.iterators(dependence.source)),
        values_at(point, isl.dim_type.out, model.iterators(dependence.sink)),
        (_line(spans[0]), _line(spans[1])),
        values_at(point, isl.dim_type.param, model.parameter_names()),
        dependence.exact and all(_certain(replayer, s, array.name) for s in (dependence.source, dependence.sink)),
    )


def _loops(replayer: Replayer, shared: Shared) -> frozenset[str]:
    """The loop and those that `collapse` takes in."""
    for placed in replayer.model.placed.values():
        names = [loop.name for loop in placed.loops]
        if shared.loop in names:
            first = names.index(shared.loop)
            return frozenset(names[first : first + shared.collapse])
    return frozenset()


def _carried(replayer: Replayer, dependence: Dependence, loops: frozenset[str]) -> isl.Map | None:
    """The part of a dependence between different iterations of the loops, in one iteration of those around."""
    with replayer.model.quota():
        for loop, pairs in replayer.checker.carried_pairs(dependence, replayer.tree(())):
            if loop in loops:
                return pairs
    return None


def _certain(replayer: Replayer, statement: str, array: str) -> bool:
    found = [use for use in uses(replayer.model.placed[statement]) if use.access.array == array]
    return all(use.must and use.access.is_affine for use in found)


def _protected(sharing: Sharing, span: Span) -> bool:
    return any(begin <= span.begin and span.end <= end for begin, end, _ in sharing.protected)


def _line(span: Span | None) -> int:
    return span.line if span is not None else 0
