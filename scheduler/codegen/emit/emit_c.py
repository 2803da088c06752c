"""C AST -> C99 + OpenMP text that a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.codegen.emit.emitter import Emitter
from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.heap import allocation
from scheduler.codegen.emit.original import ALIGNED, array_declaration, emit_original
from scheduler.codegen.emit.pack import insert_packs
from scheduler.codegen.emit.text import VERBATIM, block, indented
from scheduler.codegen.tree.ast import Walker, variable_names
from scheduler.codegen.tree.blocks import BlockMaker, find_groups
from scheduler.codegen.tree.coverage import uncovered
from scheduler.codegen.tree.empty_loops import only_where_loops_run
from scheduler.codegen.tree.gaps import check_known_gaps
from scheduler.codegen.tree.opaque import BoundResolver, drop_scopes, hoist_predicates
from scheduler.codegen.tree.places import is_aligned
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.codegen.tree.privates import declare_privates, plan_privates
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.replay import ScheduledNest
from scheduler.schedule import format_schedule


def emit(
    scheduled: ScheduledNest,
    model: Model,
    *,
    original: str | None = None,
    behind: tuple[str, ...] = (),
    vector_bytes: int = 32,
    traced: bool = False,
    trips: Mapping[str, int] | None = None,
    checked: bool = False,
    context: str = "",
    reserved: frozenset[str] = frozenset(),
) -> str:
    """The scheduled nest as C text, to stand where the nest stood.

    Where memory for a buffer cannot be had, the nest in source order runs, or `original`: the user's text of the nest,
    decoded as Latin-1, which `scheduler.codegen.emit.splice` puts in verbatim. `behind`: lines that follow on the
    scheduled loops, but not on those (`remainder_text`). `context`: who runs the nest
    (`scheduler.frontend.model.Sharing`). `reserved`: names that mean something there, which no variable of ours gets.
    `vector_bytes` is the width of the vectors of register blocks that do not name one. `traced` marks every access,
    floating-point operation and branch with a `PE_…` macro that a simulation defines (no vector marks then); `trips`,
    how often the nest's loops go round, tells it where there are enough iterations to leave some out. Helper functions
    and types the text needs (`pe_…`) come from `scheduler.codegen.emit.text.preamble`. Raises CodegenUnsupported: with
    `checked` also where the loops turn out not to run every instance once (`scheduler.codegen.tree.coverage`).
    """
    try:
        if checked and (problem := wrong_loops(scheduled, model)):
            raise CodegenUnsupported(f"the loops that isl makes are wrong: {problem}")
        with model.quota():
            return _emit(scheduled, model, original, behind, vector_bytes, traced, trips or {}, context, reserved)
    except QuotaExceeded as error:
        raise CodegenUnsupported(f"no code within the limits of the polyhedral library: {error}") from error


def wrong_loops(scheduled: ScheduledNest, model: Model) -> str:
    """What is wrong with the loops that isl makes; empty also where that cannot be decided."""
    try:
        with model.quota():
            poly = PolyTree(model, scheduled.tree)
            variables = variable_names(poly)
            groups = find_groups(poly)
            walker = Walker(poly, variables, BlockMaker(poly, variables, groups).unit)
            nodes = walker.nodes(poly.generate(scheduled.tree, units=groups), {})
    except QuotaExceeded:
        return ""
    return uncovered(nodes, poly) or ""


def _emit(
    scheduled: ScheduledNest,
    model: Model,
    original: str | None,
    behind: tuple[str, ...],
    vector_bytes: int,
    traced: bool,
    trips: Mapping[str, int],
    context: str,
    reserved: frozenset[str],
) -> str:
    poly = PolyTree(model, scheduled.tree)
    check_known_gaps(poly)
    variables = variable_names(poly, reserved)
    groups = find_groups(poly)
    maker = BlockMaker(poly, variables, groups)
    walker = Walker(poly, variables, maker.unit)
    nodes = insert_packs(walker.nodes(poly.generate(scheduled.tree, units=groups), {}), poly, walker)
    nodes = only_where_loops_run(nodes, poly)
    plan = plan_privates(scheduled, poly, nodes)
    nodes = declare_privates(nodes, plan, poly)
    nodes = BoundResolver(poly, variables, reserved).resolve(nodes)
    nodes = hoist_predicates(drop_scopes(nodes), poly)
    printer = replace(
        Printer.of(scheduled.nest, wide=True, dropped=dict(plan.dropped)), traced=traced, roots=not traced
    )
    # The user's text, which runs where there is no memory, must not meet these under its own names.
    heap = {a.name: replace(a, base=f"pe_{a.name}") for a in plan.heap}
    printer = replace(printer, arrays={**printer.arrays, **heap})
    emitter = Emitter(poly, printer, vector_bytes, scheduled.reductions, context=context, trips=trips)
    emitter.taken.update(
        reserved, variables.values(), printer.arrays, printer.parameters, (a.base or "" for a in heap.values())
    )
    emitter.multiples.update({variables[n]: p.loop.tile for n, p in poly.by_name.items() if is_aligned(p.loop)})
    lines = emitter.body(nodes)
    if emitter.unfenced:
        lines.append("pe_streamed();")
    lines += behind
    lines = [
        *(array_declaration(a, emitter.printer, emitter.printer.dropped.get(a.name, 0), ALIGNED) for a in plan.top),
        *lines,
    ]
    allocations = [*(allocation(a, emitter.printer) for a in heap.values()), *emitter.allocations]
    if context == "team" and (allocations or plan.top):
        raise CodegenUnsupported("the threads of a parallel region have no memory in common that is made here")
    if allocations:
        lines = _on_heap(allocations, lines, scheduled.nest, original)
    elif plan.top or scheduled.reductions:  # declarations of their own
        lines = block("", lines)
    return "\n".join(lines) + "\n"


def schedule_comment(scheduled: ScheduledNest) -> str:
    return f"perfembed: {format_schedule(scheduled.schedule) or 'identity'}"


def _on_heap(allocations: list[tuple[str, str]], lines: list[str], nest: LoopNest, original: str | None) -> list[str]:
    names = [name for _, name in allocations]
    fallback = [f"{VERBATIM}{original}{VERBATIM}"]
    if original is None:
        fallback = indented(emit_original(nest).rstrip("\n").split("\n"))
    return block(
        "",
        [
            *(line for line, _ in allocations),
            *block(f"if ({' && '.join(names)})", lines)[:-1],
            "} else {",
            *fallback,
            "}",
            *(f"pe_free({name});" for name in reversed(names)),
        ],
    )
