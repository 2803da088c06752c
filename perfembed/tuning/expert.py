"""An expert's schedules: given as text for nests by name, and proved before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from perfembed.errors import UsageError
from scheduler.codegen.emit.workload import plain
from scheduler.errors import SchedulerError, TextError
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import Allowed, Refused, ScheduledNest
from scheduler.schedule import Schedule, parse_schedule

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:(.*)", re.DOTALL | re.ASCII)


def expert_schedules(
    texts: Sequence[str], nests: Sequence[LoopNest], allowed: Callable[[LoopNest], Allowed]
) -> Mapping[str, Schedule]:
    """Schedules by the names of their nests, of texts `NEST: step; step`, or `step; step` where there is one nest.

    Raises UsageError for a text that does not parse, a nest that there is not, and a schedule that is not legal.
    """
    named = {nest.name: nest for nest in nests}
    shown = ", ".join(f"{n.name} (line {n.span.line})" if n.span else n.name for n in nests) or "none that can be tuned"
    found: dict[str, Schedule] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        if match is None and len(nests) != 1:
            raise UsageError("--schedule: which nest is it for?", f"--schedule 'NEST: …' with one of {shown}")
        name, steps = (match[1], match[2]) if match is not None else (nests[0].name, text)
        if name not in named:
            raise UsageError(f"--schedule: there is no nest {name}", f"nests: {shown}")
        if name in found:
            raise UsageError(f"--schedule: there are two for nest {name}", "give one")
        try:
            found[name] = parse_schedule(steps.strip())
        except TextError as problem:
            raise UsageError(f"--schedule: {problem}", "docs/reference/transformations.md has the steps") from None
        _prove(named[name], found[name], allowed(named[name]))
    return found


def _prove(nest: LoopNest, schedule: Schedule, allowed: Allowed) -> None:
    """Raises UsageError with the first step that cannot be taken, or two instances that would change places."""
    nest = plain(nest)
    where = f"--schedule: nest {nest.name}" + (f" (line {nest.span.line})" if nest.span else "")
    try:
        verdict = allowed.replayer(nest).replay(schedule)
    except SchedulerError as problem:
        raise UsageError(f"{where}: {problem}") from None
    if isinstance(verdict, ScheduledNest):
        return
    if isinstance(verdict, Refused):
        raise UsageError(f"{where}: step {verdict.step + 1}: {verdict.reason}")
    if isinstance(verdict, Illegal):
        raise UsageError(f"{where}: it would change what the program computes: {verdict}")
    raise UsageError(f"{where}: whether it is legal is not known: {verdict.reason}")
