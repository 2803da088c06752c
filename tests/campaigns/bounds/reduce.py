"""Makes a fault small: fewer statements, no schedule where it needs none, small values."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.schedule import parse_schedule
from tests.campaigns.bounds.arguments import Values
from tests.campaigns.bounds.check import Batch, Checker, Written, defined, of_unit, read, surroundings, write
from tests.campaigns.bounds.driver import program
from tests.campaigns.bounds.model import Campaign, Fault
from tests.campaigns.bounds.unit import Unit, renumbered, smaller

_ROUNDS = 40
_TOGETHER = 24  # candidates of one file
_SIMPLE = (0, 1, 2, 3)


class Reducer:
    """Looks for the same kind of fault in smaller programs; `folder` is scratch."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self.campaign = campaign
        self.folder = folder

    def reduced(self, fault: Fault) -> Fault:
        """The smallest one found; the fault itself where it is not seen alone."""
        plain = [replace(fault, schedules=())] if any(not s.endswith(": ") for s in fault.schedules) else []
        seen = self._seen([*plain, fault])
        if not seen:
            return fault
        best = seen[0]
        for _ in range(_ROUNDS):
            seen = self._seen([replace(best, unit=unit) for unit in smaller(_unit(best))][:_TOGETHER])
            seen = seen or self._seen(list(_with_simpler_values(best))[:_TOGETHER])
            if not seen:
                break
            best = min(seen, key=lambda f: len(_unit(f).text()))
        return best

    def _seen(self, candidates: Sequence[Fault]) -> list[Fault]:
        """Those that still are faults of their kind, all in one file; one that C does not define is none."""
        if not candidates:
            return []
        first = candidates[0]
        flags = tuple(shlex.split(first.flags))
        checker = Checker(replace(self.campaign, ways=(first.way,)), self.folder)
        units = [renumbered(_unit(fault), number) for number, fault in enumerate(candidates)]
        calls = [(number, fault.values) for number, fault in enumerate(candidates)]
        try:
            batch = defined(units, calls, first.seed, flags, self.folder, fewest=1)
            written = self._written(candidates, batch, flags)
            found = list(checker.compared(batch, written, checker.ways[0], set())) if written else []
        except Exception:  # another fault is not this one
            return []
        return [self._as(fault, first) for fault in found if fault.kind == first.kind and fault.unit is not None]

    def _as(self, fault: Fault, first: Fault) -> Fault:
        """By the number that the program had."""
        number = _unit(first).number
        schedules = tuple(f"f{number}_{text.partition('_')[2]}" for text in fault.schedules)
        return replace(fault, program=first.program, unit=renumbered(_unit(fault), number), schedules=schedules)

    def _written(self, candidates: Sequence[Fault], batch: Batch, flags: tuple[str, ...]) -> Written | None:
        """The file with the schedules of the faults where they apply, and the order of the source elsewhere."""
        path = self.folder / "program.c"
        path.write_text(batch.text)
        source = read(path, flags)
        surveyed = surroundings(source, flags, self.folder)
        rewrites = []
        for nest in source.nests:
            number = of_unit(nest)
            if number is None or not isinstance(surveyed.tests[nest.name], AssumptionTests):
                continue
            given = dict(text.split(": ", 1) for text in candidates[number].schedules)
            steps = {name.partition("_")[2]: text for name, text in given.items()}.get(nest.name.partition("_")[2], "")
            for tried in dict.fromkeys((steps, "")):
                with contextlib.suppress(Exception):  # it is not written, then
                    rewrite = Rewrite(nest, parse_schedule(tried), 1.0)
                    write(source, [rewrite], surveyed)
                    rewrites.append(rewrite)
                    break
        return write(source, rewrites, surveyed) if rewrites else None


def _unit(fault: Fault) -> Unit:
    assert fault.unit is not None
    return fault.unit


def _with_simpler_values(fault: Fault) -> Iterator[Fault]:
    for position, value in enumerate(fault.values):
        for simple in _SIMPLE:
            if value not in _SIMPLE[: simple + 1]:
                yield replace(fault, values=_with(fault.values, position, simple))


def _with(values: Values, position: int, value: int) -> Values:
    return (*values[:position], value, *values[position + 1 :])


def reproducer(fault: Fault) -> str:
    """A C file that shows the fault where its nests are written with the schedules that its comment names."""
    assert fault.unit is not None
    detail = "\n   ".join(fault.detail.splitlines())
    named = [s for s in fault.schedules if not s.endswith(": ")]
    schedules = "; ".join(named) or "each nest in its own order (an empty schedule)"
    flags = f", read with {fault.flags}" if fault.flags else ""
    head = f"/* {fault.kind}, compiled as {fault.way}{flags}\n   {detail}\n   written with {schedules} */\n"
    return head + program((fault.unit,), fault.seed, fault.values)


def keep(fault: Fault, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{fault.kind.replace(' ', '-')}-{fault.program}.c"
    path.write_text(reproducer(fault) if fault.unit is not None else _said(fault))
    return path


def _said(fault: Fault) -> str:
    """Of a file as a whole."""
    return "\n".join(("/*", fault.detail, *fault.schedules, "*/", fault.written))
