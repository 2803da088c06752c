"""What the loop nests of a C file are and allow: the analysis behind `perfembed inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from perfembed.errors import UsageError
from perfembed.inspection.shares import RunShares
from perfembed.inspection.views import DependenceView, view
from profilers.contained.in_time import Undone, in_time
from scheduler.errors import TextError
from scheduler.frontend import Sharing, SourceFile, render_diagnostic
from scheduler.ir.nest import Loop, LoopNest, Span
from scheduler.ir.text import format_nest, nest_id
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, tree_loops
from scheduler.ir.walk import loops
from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.polyhedral.verdict import Illegal
from scheduler.races import races
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Interchange, Vectorize

_NEST_S, _ALL_S = 3.0, 20.0  # of processor time, for the analysis of one nest, and of all of a file
Vectorizable = OneOf["yes", "as innermost", "no"]


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """What one loop of a nest, as it stands, allows.

    `parallel` None: not decided. `carried` names the dependences its iterations have among each other;
    `reductions` the arrays and scalars whose reassociable update alone keeps it from being parallel;
    `reassociates` says that another order of these updates may round differently.
    `permutable` are the loops it may change places with, `fixed` those it may not, and why.
    """

    name: str
    depth: int
    line: int | None
    column: int | None
    opaque: bool
    parallel: bool | None
    carried: tuple[str, ...]
    reductions: tuple[str, ...]
    reassociates: bool
    permutable: tuple[str, ...]
    fixed: tuple[tuple[str, str], ...]
    vectorizable: Vectorizable
    reason: str


@dataclass(frozen=True, slots=True)
class RaceFacts:
    """A pragma that shares a loop whose iterations meet; where data decide whether they do, `certain` is False."""

    message: str
    line: int
    column: int
    certain: bool


@dataclass(frozen=True, slots=True)
class NestFacts:
    """`problem` says why dependences and loops are missing, where they are. `races`: of the loops that OpenMP pragmas
    share. `inspector`: the loops that are run in front of the nest, as text.
    """

    name: str
    identity: str
    function: str | None
    span: Span | None
    text: str
    dependences: tuple[DependenceView, ...]
    loops: tuple[LoopFacts, ...]
    problem: str = ""
    races: tuple[RaceFacts, ...] = ()
    inspector: str = ""


@dataclass(frozen=True, slots=True)
class RefusedNest:
    """A loop nest that is left alone; `rendered` is the diagnostic with its caret."""

    function: str | None
    span: Span
    reason: str
    advice: str
    rendered: str


@dataclass(frozen=True, slots=True)
class LeftAround:
    """A loop that stays as it is around nests, or calls of functions with nests: nothing is missed by that."""

    function: str | None
    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """`run`: what each loop costs in a run of the program; None where it was not run (`--run`)."""

    path: str
    nests: tuple[NestFacts, ...]
    refused: tuple[RefusedNest, ...]
    warnings: tuple[str, ...]
    run: RunShares | None = None
    around: tuple[LeftAround, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether there was time for all nests."""
        return not any(nest.problem == Undone.NO_TIME.value for nest in self.nests)


def inspect_source(
    source: SourceFile, functions: tuple[str, ...] = (), limit_s: float = _ALL_S, analysed: bool = True
) -> Inspection:
    """Analyses the nests of the named functions (empty: of all), or finds only their places. Raises UsageError.

    What takes too long itself, or is left after `limit_s` of processor time, says so.
    """
    check_functions(source, functions)
    nests = [nest for nest in source.nests if not functions or nest.function in functions]
    inspectors = [known.inspector if (known := source.assumptions.get(n.name)) else None for n in nests]
    found: Sequence[NestFacts | Undone] = [_place_of(nest) for nest in nests]
    if analysed:
        asked = [(nest, source.sharing.get(nest.name)) for nest in nests]
        found = in_time(_inspected, asked, item_s=_NEST_S, total_s=limit_s)
    late = sum(facts is Undone.NO_TIME for facts in found)
    warnings = (f"time did not suffice to analyse {late} of {len(nests)} nests",) if late else ()
    return Inspection(
        source.path,
        tuple(
            replace(
                _not_analysed(nest, facts) if isinstance(facts, Undone) else facts,
                inspector="" if inspector is None else format_nest(inspector),
            )
            for nest, facts, inspector in zip(nests, found, inspectors, strict=True)
        ),
        tuple(
            RefusedNest(
                r.function, r.span, r.reason, r.advice, render_diagnostic(source.content, r.span, r.reason, r.advice)
            )
            for r in source.rejections
            if not functions or r.function in functions
        ),
        (*source.warnings, *warnings),
        around=tuple(
            LeftAround(r.function, r.span, r.reason) for r in source.around if not functions or r.function in functions
        ),
    )


def check_functions(source: SourceFile, functions: tuple[str, ...]) -> None:
    """Raises UsageError for a name that no function of the file has."""
    known = [f.name for f in source.functions]
    for name in functions:
        if name not in known:
            raise UsageError(f"{source.path}: there is no function {name}", f"functions: {', '.join(known) or 'none'}")


def _not_analysed(nest: LoopNest, why: Undone) -> NestFacts:
    return NestFacts(nest.name, nest_id(nest), nest.function, nest.span, format_nest(nest), (), (), why.value)


def _place_of(nest: LoopNest) -> NestFacts:
    return NestFacts(nest.name, "", nest.function, nest.span, "", (), (), "nothing else was asked of it")


def _inspected(asked: tuple[LoopNest, Sharing | None]) -> NestFacts:
    return inspect_nest(*asked)


def inspect_nest(nest: LoopNest, sharing: Sharing | None = None) -> NestFacts:
    """Never raises for a nest that is too hard: it says so."""
    try:
        text = format_nest(nest)
        identity = nest_id(nest)
    except TextError as error:
        return NestFacts(nest.name, "", nest.function, nest.span, "", (), (), str(error))
    try:
        replayer = Replayer(nest)
    except QuotaExceeded as error:
        return NestFacts(nest.name, identity, nest.function, nest.span, text, (), (), str(error))
    seen = {loop.name: loop for loop in loops(nest)}
    return NestFacts(
        nest.name,
        identity,
        nest.function,
        nest.span,
        text,
        tuple(view(replayer.model, d) for d in replayer.dependences),
        tuple(_facts(replayer, loop, depth, seen.get(loop.name)) for loop, depth in _by_depth(replayer.tree(()))),
        races=_races(replayer, sharing),
    )


def _races(replayer: Replayer, sharing: Sharing | None) -> tuple[RaceFacts, ...]:
    if sharing is None:
        return ()
    try:
        found = races(replayer, sharing)
    except QuotaExceeded:
        return ()
    return tuple(RaceFacts(r.reason, r.shared.span.line, r.shared.span.column, r.certain) for r in found)


def _by_depth(nodes: tuple[TreeNode, ...], depth: int = 0) -> list[tuple[TreeLoop, int]]:
    found: list[tuple[TreeLoop, int]] = []
    for node in nodes:
        if isinstance(node, TreeLoop):
            found += [(node, depth), *_by_depth(node.children, depth + 1)]
    return found


def _facts(replayer: Replayer, loop: TreeLoop, depth: int, original: Loop | None) -> LoopFacts:
    span = original.span if original is not None else None
    carried: tuple[Dependence, ...] | None
    try:
        with replayer.model.quota():
            carried = replayer.checker.carried(replayer.tree(()), loop.name)
    except QuotaExceeded:
        carried = None
    permutable: list[str] = []
    fixed: list[tuple[str, str]] = []
    for other in tree_loops(replayer.tree(())):
        outer, inner = (other, loop) if _contains(other, loop.name) else (loop, other)
        if outer.name == inner.name or not _contains(outer, inner.name):
            continue
        problem = _problem(replayer, (Interchange(outer.name, inner.name),))
        if problem is None:
            permutable.append(other.name)
        else:
            fixed.append((other.name, problem))
    reductions = _reductions(carried or ())
    vectorizable, reason = _vectorizable(replayer, loop)
    return LoopFacts(
        loop.name,
        depth,
        span.line if span else None,
        span.column if span else None,
        loop.opaque,
        None if carried is None else not carried,
        tuple(dict.fromkeys(map(str, carried or ()))),
        reductions,
        not all(d.update is None or d.update.exact or d.update.choice is not None for d in carried or ()),
        tuple(permutable),
        tuple(fixed),
        vectorizable,
        reason,
    )


def _contains(outer: TreeLoop, name: str) -> bool:
    return any(loop.name == name for loop in tree_loops(outer.children))


def _reductions(carried: tuple[Dependence, ...]) -> tuple[str, ...]:
    """The updated arrays, if nothing but reassociable updates keeps the loop from being parallel."""
    if not all(d.reduction for d in carried):
        return ()
    return tuple(dict.fromkeys(d.array for d in carried))


def _problem(replayer: Replayer, schedule: Schedule) -> str | None:
    """Why a schedule is no legal one, or None."""
    verdict = replayer.replay(schedule)
    if isinstance(verdict, ScheduledNest):
        return None
    if isinstance(verdict, Illegal):
        return str(verdict)
    if isinstance(verdict, Refused):
        return verdict.reason.partition(": ")[2] or verdict.reason
    return verdict.reason


def _vectorizable(replayer: Replayer, loop: TreeLoop) -> tuple[Vectorizable, str]:
    """Whether its iterations may run in the lanes of a vector: where it stands, or moved innermost."""
    innermost = loop
    while len(innermost.children) == 1 and isinstance(innermost.children[0], TreeLoop):
        innermost = innermost.children[0]
    if not all(isinstance(child, Leaf) for child in innermost.children):
        return "no", "it is not innermost and cannot be moved there"
    moved: Schedule = () if innermost is loop else (Interchange(loop.name, innermost.name),)
    problem = _problem(replayer, (*moved, Vectorize(loop.name)))
    if problem is None:
        return ("as innermost", "") if moved else ("yes", "")
    return "no", problem
