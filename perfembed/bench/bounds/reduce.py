"""Makes a fault small: fewer statements, no schedule where it needs none, small values."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from perfembed.bench.bounds.arguments import Values
from perfembed.bench.bounds.check import Checker, Written, defined, of_unit, read, surroundings, write
from perfembed.bench.bounds.driver import program
from perfembed.bench.bounds.model import Campaign, Fault
from perfembed.bench.bounds.unit import smaller
from perfembed.tuning.rewrite import Rewrite
from scheduler.codegen.premises import PremiseTests
from scheduler.errors import SchedulerError
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.schedule import parse_schedule

_TRIES = 150  # files that are written, compiled and run
_SIMPLE = (0, 1, 2, 3)


class Reducer:
    """Looks for the same kind of fault in smaller programs; `folder` is scratch."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self.campaign = campaign
        self.folder = folder
        self.tries = 0

    def reduced(self, fault: Fault) -> Fault:
        """The smallest one found; the fault itself where it is not seen alone."""
        best = self._seen(fault)
        if best is None:
            return fault
        again = True
        while again and self.tries < _TRIES:
            again = False
            for candidate in self._candidates(best):
                if self.tries >= _TRIES:
                    break
                if found := self._seen(candidate):
                    best, again = found, True
                    break
        return best

    def _candidates(self, fault: Fault) -> Iterator[Fault]:
        assert fault.unit is not None
        if any(not s.endswith(": ") for s in fault.schedules):
            yield replace(fault, schedules=())
        for unit in smaller(fault.unit):
            yield replace(fault, unit=unit)
        for position, value in enumerate(fault.values):
            for simple in _SIMPLE:
                if value not in _SIMPLE[: simple + 1]:
                    yield replace(fault, values=_with(fault.values, position, simple))

    def _seen(self, fault: Fault) -> Fault | None:
        """The fault as it is now; None where it is gone, or where C does not define the program."""
        assert fault.unit is not None
        self.tries += 1
        flags = tuple(shlex.split(fault.flags))
        checker = Checker(replace(self.campaign, ways=(fault.way,)), self.folder)
        try:
            batch = defined([fault.unit], [(fault.unit.number, fault.values)], fault.seed, flags, self.folder)
            if not batch.calls:
                return None
            written = self._written(fault, flags)
            found = next(checker.compared(batch, written, checker.ways[0], set()), None) if written else None
        except Exception:  # another fault is not this one
            return None
        if found is None or found.kind != fault.kind:
            return None
        return replace(found, program=fault.program)

    def _written(self, fault: Fault, flags: tuple[str, ...]) -> Written | None:
        """The file with the fault's schedules where they apply, and the order of the source elsewhere."""
        path = self.folder / "original.c"
        source = read(path, flags)
        surveyed = surroundings(source, flags, self.folder)
        given = dict(text.split(": ", 1) for text in fault.schedules)
        rewrites = []
        for nest in source.nests:
            if of_unit(nest) is None or not isinstance(surveyed.tests[nest.name], PremiseTests):
                continue
            for steps in dict.fromkeys((given.get(nest.name, ""), "")):
                rewrite = Rewrite(nest, parse_schedule(steps), 1.0)
                with contextlib.suppress(SchedulerError, QuotaExceeded):
                    write(source, [rewrite], surveyed)
                    rewrites.append(rewrite)
                    break
        return write(source, rewrites, surveyed) if rewrites else None


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
    path.write_text(reproducer(fault) if fault.unit is not None else f"/* {fault.detail} */\n")
    return path
