"""C AST -> C99 + OpenMP text that a person can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.codegen.ast import Walker, variable_names
from scheduler.codegen.blocks import BlockMaker, find_groups
from scheduler.codegen.carried import carry_values
from scheduler.codegen.coverage import uncovered
from scheduler.codegen.edges import expand_partial
from scheduler.codegen.expr import OR, RELATION, Printer, wrap
from scheduler.codegen.heap import allocation, thread_array
from scheduler.codegen.nodes import (
    Bind,
    Block,
    Branch,
    CNode,
    For,
    Instance,
    Let,
    Micro,
    Packed,
    Private,
    Scope,
    Text,
    When,
    names_of,
    rename,
    walk,
)
from scheduler.codegen.opaque import BoundResolver, drop_scopes, hoist_predicates
from scheduler.codegen.original import array_declaration, emit_original, increment
from scheduler.codegen.pack import insert_packs
from scheduler.codegen.pack_text import pack_code, printer_inside
from scheduler.codegen.polytree import PolyTree, is_aligned
from scheduler.codegen.privates import declare_privates, plan_privates
from scheduler.codegen.reduction import reduced
from scheduler.codegen.register import expand, micro_lines
from scheduler.codegen.streamed import WRITES, Streamed, chunked, streamed, streaming
from scheduler.codegen.text import VERBATIM, block, indented
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, LoopNest, Statement
from scheduler.ir.tree import TreeLoop
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.replay import ScheduledNest
from scheduler.schedule import format_schedule

_MAX_UNROLLED = 64
_SAMPLED = 1024  # iterations a simulation can choose from


def emit(
    scheduled: ScheduledNest,
    model: Model,
    *,
    original: str | None = None,
    vector_bytes: int = 32,
    traced: bool = False,
    trips: Mapping[str, int] | None = None,
    checked: bool = False,
) -> str:
    """The scheduled nest as C text, to stand where the nest stood.

    Where memory for a buffer cannot be had, the nest in source order runs, or `original`: the user's text
    of the nest, decoded as Latin-1, which `scheduler.codegen.splice` puts in verbatim.
    `vector_bytes` is the width of the vectors of register blocks that do not name one. `traced` marks every access,
    floating-point operation and branch with a `PE_…` macro that a simulation defines (no vector marks then); `trips`,
    how often the nest's loops go round, tells it where there are enough iterations to leave some out. Helper functions
    and types the text needs (`pe_…`) come from `scheduler.codegen.text.preamble`. Raises CodegenUnsupported: with
    `checked` also where the loops turn out not to run every instance once (`scheduler.codegen.coverage`).
    """
    try:
        if checked and (problem := wrong_loops(scheduled, model)):
            raise CodegenUnsupported(f"the loops that isl makes are wrong: {problem}")
        with model.quota():
            return _emit(scheduled, model, original, vector_bytes, traced, trips or {})
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
    vector_bytes: int,
    traced: bool,
    trips: Mapping[str, int],
) -> str:
    poly = PolyTree(model, scheduled.tree)
    variables = variable_names(poly)
    groups = find_groups(poly)
    maker = BlockMaker(poly, variables, groups)
    walker = Walker(poly, variables, maker.unit)
    nodes = insert_packs(walker.nodes(poly.generate(scheduled.tree, units=groups), {}), poly, walker)
    plan = plan_privates(scheduled, poly, nodes)
    nodes = declare_privates(nodes, plan, poly)
    nodes = BoundResolver(poly, variables).resolve(nodes)
    nodes = hoist_predicates(nodes, poly)
    nodes = drop_scopes(nodes)
    printer = replace(Printer.of(scheduled.nest, wide=True, dropped=dict(plan.dropped)), traced=traced)
    # The user's text, which runs where there is no memory, must not meet these under its own names.
    heap = {a.name: replace(a, base=f"pe_{a.name}") for a in plan.heap}
    printer = replace(printer, arrays={**printer.arrays, **heap})
    emitter = Emitter(poly, printer, vector_bytes, scheduled.reductions, trips=trips)
    emitter.taken.update(variables.values(), printer.arrays, printer.parameters, (a.base or "" for a in heap.values()))
    emitter.multiples.update({variables[n]: p.loop.tile for n, p in poly.by_name.items() if is_aligned(p.loop)})
    lines = emitter.body(nodes)
    if emitter.unfenced:
        lines.append("pe_streamed();")
    lines = [*(array_declaration(a, emitter.printer, emitter.printer.dropped.get(a.name, 0)) for a in plan.top), *lines]
    allocations = [*(allocation(a, emitter.printer) for a in heap.values()), *emitter.allocations]
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


@dataclass(frozen=True)
class Emitter:
    """Prints the C AST."""

    poly: PolyTree
    printer: Printer
    vector_bytes: int
    reductions: tuple[tuple[str, str], ...] = ()
    threaded: bool = False  # inside a parallel loop
    sampled: bool = False  # inside a loop of which a simulation leaves out iterations
    trips: Mapping[str, int] = field(default_factory=dict)  # of the nest's loops, where they are known
    rounds: int = 1  # how often the loops around go round in all, as far as that is known
    taken: set[str] = field(default_factory=set)
    multiples: dict[str, int] = field(default_factory=dict)  # variables of tile loops -> tile size
    allocations: list[tuple[str, str]] = field(default_factory=list)
    parts: dict[str, tuple[str, str, str] | None] = field(default_factory=dict)  # private arrays of threads
    unfenced: list[str] = field(default_factory=list)  # arrays written past the caches outside of parallel loops

    def fresh(self, base: str) -> str:
        """A C name that is not used yet."""
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    @property
    def vectorized(self) -> set[str]:
        """The last loops of register blocks."""
        marks = [place.loop.register for place in self.poly.by_name.values()]
        return {mark.loops[-1] for mark in marks if mark is not None}

    @property
    def statements(self) -> dict[str, Statement]:
        return {name: placed.statement for name, placed in self.poly.model.placed.items()}

    def body(self, nodes: tuple[CNode, ...]) -> list[str]:
        """Their lines, but for values that nothing behind them uses."""
        lines: list[str] = []
        for node, own in reversed([(node, self.node(node)) for node in nodes]):
            if isinstance(node, Let | Bind) and not re.search(rf"\b{node.name}\b", "\n".join(lines)):
                continue
            lines = [*own, *lines]
        return lines

    def node(self, node: CNode) -> list[str]:
        printer = self.printer
        if isinstance(node, For):
            return self._for(node)
        if isinstance(node, Scope):
            return block("", self.body(node.body))
        if isinstance(node, Branch):
            lines = block(f"if ({printer.branch(printer.integer(node.condition)[0])})", self.body(node.then))
            if node.orelse:
                lines[-1] = "} else {"
                lines += [*indented(self.body(node.orelse)), "}"]
            return lines
        if isinstance(node, When):
            condition = printer.at(node.values).expr(node.condition)
            parts = [wrap(printer.integer(g), RELATION) for g in node.guards]
            text = " && ".join([*parts, wrap(condition, OR + 1)]) if parts else condition[0]
            return block(f"if ({printer.branch(text)})", self.body(node.body))
        if isinstance(node, Instance):
            statement = self.poly.model.placed[node.statement].statement
            return printer.at(node.values).actions(statement.body)
        if isinstance(node, Let):
            return [f"const long {node.name} = {printer.at(node.values).expr(node.value)[0]};"]
        if isinstance(node, Bind):
            return [f"const long {node.name} = {printer.integer(node.value)[0]};"]
        if isinstance(node, Private):
            return [self._private(printer.arrays[node.array], printer.dropped.get(node.array, 0))]
        if isinstance(node, Block):
            make = expand if node.full else expand_partial
            expanded = make(node, printer, self.statements, node.vector_bytes or self.vector_bytes, self.fresh)
            return self.body(node.body if expanded is None else expanded)
        if isinstance(node, Micro):
            return micro_lines(node, printer, self.statements, self.fresh)
        if isinstance(node, Packed):
            return self._packed(node)
        assert isinstance(node, Text)
        return list(node.lines)

    def _private(self, array: Array, drop: int) -> str:
        if not self.threaded:
            return array_declaration(array, self.printer, drop)
        if array.name not in self.parts:
            self.parts[array.name] = thread_array(array, drop, self.printer, self.fresh)
            part = self.parts[array.name]
            self.allocations.extend([part[1:]] if part is not None else [])
        part = self.parts[array.name]
        return array_declaration(array, self.printer, drop) if part is None else part[0]

    def _packed(self, node: Packed) -> list[str]:
        code = pack_code(node, self.printer, self.multiples, self.fresh)
        lines = replace(self, printer=printer_inside(self.printer, node, code.buffer)).body(node.body)
        if not re.search(rf"\b{code.buffer.name}\b", "\n".join(lines)):
            return lines  # packed again inside
        if code.allocation is not None:
            self.allocations.append(code.allocation)
        return [*code.lines, *lines]

    def _for(self, node: For) -> list[str]:
        loop = self.poly.by_name[node.loop].loop
        copies = self._unrolled(node, loop)
        if copies is not None:
            return self.body(copies)
        arrays = () if self.reduced(loop) else streamed(node, loop, self.printer, self.statements)
        if arrays:
            return self._streamed(node, loop, arrays)
        start = self.printer.integer(node.start)[0]
        stop = wrap(self.printer.integer(node.stop), RELATION + 1)
        compare = "<" if node.step > 0 else ">"
        step = increment(node.var, node.step)
        pragmas = self._pragmas(node, loop)
        before: list[str] = []
        after: list[str] = []
        clauses, printer = "", self.printer
        if pragmas:
            sums = [statement for name, statement in self.reductions if name == loop.name]
            before, after, clauses, printer = reduced(node, loop, sums, self.poly.model, printer, self.fresh)
        elif self.threaded:
            before, printer = carry_values(node, printer, self.statements, self.fresh)
        rounds = self.rounds * self.trips.get(loop.origin, _SAMPLED)
        inner = replace(self, printer=printer, threaded=self.threaded or loop.parallel is not None, rounds=rounds)
        condition = f"{node.var} {compare} {stop}"
        skip: list[str] = []
        if self.printer.traced and self._is_sampled(node, rounds):
            skip = ["if (PE_SKIP()) continue;"]
            inner = replace(inner, sampled=True)
        elif self.printer.traced and loop.parallel is not None:
            skip = ["PE_ENTER();"]  # OpenMP wants the condition as it is
        else:
            condition = self.printer.branch(condition)
        head = f"for (long {node.var} = {start}; {condition}; {step})"
        own = inner.body(node.body)
        if loop.parallel is not None and any(WRITES in line for line in own):
            own.append("pe_streamed();")
        lines = block(head, [*skip, *own])
        return [*before, *(p + clauses for p in pragmas), *lines, *after]

    def reduced(self, loop: TreeLoop) -> bool:
        return any(name == loop.name for name, _ in self.reductions)

    def _streamed(self, node: For, loop: TreeLoop, arrays: tuple[Streamed, ...]) -> list[str]:
        """The loop in chunks that are copied past the caches."""
        chunk = chunked(node, arrays, self.printer, self.fresh)
        if not self.threaded:
            self.unfenced.extend(array.access.array for array in arrays)
        inner = chunk.inner
        start, stop = (self.printer.integer(bound)[0] for bound in (inner.start, inner.stop))
        head = f"for (long {node.var} = {start}; {node.var} < {stop}; {increment(node.var, 1)})"
        lines = block(head, replace(self, printer=chunk.printer).body(inner.body))
        pragmas = self._pragmas(inner, loop)
        return block("", [*chunk.before, *block(chunk.head, [*chunk.begin, *pragmas, *lines, *chunk.end])])

    def _is_sampled(self, node: For, rounds: int) -> bool:
        """A simulation leaves out iterations of the outermost loops that have many, in threads those inside."""
        inside = [n for n in walk(node.body) if isinstance(n, For)]
        parallel = any(self.poly.by_name[n.loop].loop.parallel is not None for n in inside)
        return not (self.sampled or parallel) and (rounds >= _SAMPLED or not inside)

    def _pragmas(self, node: For, loop: TreeLoop) -> list[str]:
        blocked = node.loop in self.vectorized and all(isinstance(child, Instance) for child in node.body)
        simd = " simd" if blocked or (loop.vector and self._vectorizable(node)) else ""
        if loop.parallel is not None:
            mark = loop.parallel
            chunk = f", {mark.chunk}" if mark.chunk else ""
            depth = self._collapsible(node, mark.collapse)
            collapse = f" collapse({depth})" if depth > 1 else ""
            return [f"#pragma omp parallel for{simd} schedule({mark.schedule}{chunk}){collapse}"]
        if simd:
            return ["#pragma omp simd"]
        if loop.unroll > 1:
            return [f"#pragma GCC unroll {loop.unroll}"]
        return []

    @staticmethod
    def _unrolled(node: For, loop: TreeLoop) -> tuple[CNode, ...] | None:
        """The iterations one by one, for a completely unrolled loop with a small constant number of them."""
        if loop.unroll != 0 or not isinstance(node.start, Affine) or not isinstance(node.stop, Affine):
            return None
        extent = node.stop - node.start
        if not extent.is_constant or not 0 < extent.const * (1 if node.step > 0 else -1) <= _MAX_UNROLLED:
            return None
        copies: list[CNode] = []
        for offset in range(0, extent.const, node.step):
            copies += [rename(child, {node.var: node.start + offset}) for child in node.body]
        if any(isinstance(child, Private | Let | Bind) for child in node.body):
            width = len(node.body)
            copies = [Scope(node.loop, None, tuple(copies[k : k + width])) for k in range(0, len(copies), width)]
        return tuple(copies)

    def _vectorizable(self, node: For) -> bool:
        """No loops inside, but for short ones that are to be unrolled."""
        inside = [n for n in walk(node.body) if isinstance(n, For | Packed | Block)]
        return all(isinstance(n, For) and self.poly.by_name[n.loop].loop.unroll == 0 for n in inside)

    def _collapsible(self, node: For, wanted: int) -> int:
        """`wanted` if so many loops from here on are rectangular and perfectly nested, else 1.

        The next loop of the code need not be the one that was proved parallel: that may have but one iteration.
        """
        outer = {node.var}
        loop = self.poly.by_name[node.loop].loop
        if streaming(walk(node.body), lambda name: self.poly.by_name[name].loop):
            return 1  # there is something to be done after its iterations
        for _ in range(wanted - 1):
            inner = node.body[0] if len(node.body) == 1 else None
            if not isinstance(inner, For) or (names_of(inner.start) | names_of(inner.stop)) & outer:
                return 1
            if inner.loop not in (child.name for child in loop.children if isinstance(child, TreeLoop)):
                return 1
            loop = self.poly.by_name[inner.loop].loop
            if self._pragmas(inner, loop) or self._unrolled(inner, loop) is not None:
                return 1
            outer.add(inner.var)
            node = inner
        return wanted
