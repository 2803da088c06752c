"""What `populate` and `generate` print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perfembed.populating.programs import Plan, PopulateOptions, PopulateResult
from perfembed.report.documents import document
from perfembed.report.style import count, seconds
from scheduler.generator import GeneratedProgram

_SHOWN = 20
_LABEL_S = 0.5  # what a candidate takes, roughly: most of it is compiling
_PROGRAM_S = 3.0


def render_plan(plan: Plan, options: PopulateOptions) -> str:
    """How many programs wait, which, and about how long they take with one nest each."""
    guess = len(plan.waiting) * (_PROGRAM_S + _LABEL_S * options.schedules)
    lines = [
        f"{count(plan.total, 'program')}, {plan.total - len(plan.waiting)} of them done already",
        f"up to {options.schedules} schedules a nest by {options.search} search: about {seconds(guess)},"
        f" of which the budget allows {seconds(min(guess, options.budget_s))}",
        *(f"  {program.path}" for program in plan.waiting[:_SHOWN]),
    ]
    more = len(plan.waiting) - _SHOWN
    return "\n".join([*lines, *([f"  … and {more} more"] if more > 0 else [])])


@dataclass(frozen=True, slots=True)
class PlanContent:
    """`total` programs there are, `waiting` the paths or names of those that are to be searched."""

    total: int
    waiting: tuple[str, ...]


def plan_document(plan: Plan) -> str:
    return document("populate plan", PlanContent(plan.total, tuple(p.path for p in plan.waiting)))


def render_population(result: PopulateResult, database: Path) -> str:
    if result.interrupted:
        done = "interrupted"
    elif result.unread:
        done = f"{count(result.unread, 'program')} could not be read and wait for another run"
    else:
        done = "all done" if result.complete else "the budget is spent"
    lines = [
        f"{count(result.programs, 'program')}, {count(result.nests, 'nest')}, {count(result.labels, 'candidate')}"
        f"{f' ({result.drawn} drawn)' if result.drawn else ''} measured in {seconds(result.seconds)}: {done}",
        f"in {database}",
    ]
    if result.skipped:
        lines.insert(1, f"{count(result.skipped, 'program')} skipped")
    if result.lost:
        lines.insert(1, f"{count(result.lost, 'record')} lost in damaged spool files")
    if not result.complete:
        lines.append("the same command goes on where this one ended")
    return "\n".join(lines)


def population_document(result: PopulateResult) -> str:
    return document("populate", result)


@dataclass(frozen=True, slots=True)
class ProgramContent:
    """One generated program.

    The same `seed` and `number` always give the same one. `type` of its numbers; `depth` of its deepest nest; `work`:
    statements that it runs, about; `bytes` of its data.
    """

    name: str
    seed: int
    number: int
    patterns: tuple[str, ...]
    function: str
    type: str
    depth: int
    loops: int
    work: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ProgramsContent:
    programs: tuple[ProgramContent, ...]


def programs_document(programs: Iterable[GeneratedProgram]) -> str:
    return document("programs", ProgramsContent(tuple(map(_content, programs))))


def _content(p: GeneratedProgram) -> ProgramContent:
    return ProgramContent(
        p.name, p.seed, p.number, tuple(p.patterns), p.function, p.ctype, p.depth, p.loops, round(p.work), p.bytes
    )
