"""The C text of an AST: loops with their pragmas, blocks, copies and statements.

Long, because every kind of node has its lines here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.codegen.emit.edges import expand_partial
from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.heap import allocation, region, thread_array
from scheduler.codegen.emit.integer_text import OR, RELATION, wrap
from scheduler.codegen.emit.nontemporal_stores import WRITES, Streamed, chunked, streamed, streaming
from scheduler.codegen.emit.original import ALIGNED, array_declaration, increment
from scheduler.codegen.emit.pack_text import pack_code, printer_inside
from scheduler.codegen.emit.reduction import Reduced, reduced
from scheduler.codegen.emit.register import expand, micro_lines
from scheduler.codegen.emit.register_promotion import carry_values
from scheduler.codegen.emit.text import block, indented
from scheduler.codegen.tree.node_algebra import names_of, rename
from scheduler.codegen.tree.nodes import (
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
    Windowed,
    walk,
)
from scheduler.codegen.tree.opaque import bound_text, written_arrays
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.codegen.tree.privates import block_of
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import Action, Array, Statement
from scheduler.ir.tree import TreeLoop
from scheduler.ir.walk import reads

_MAX_UNROLLED = 64


_SAMPLED = 1024  # iterations a simulation can choose from


@dataclass(frozen=True)
class Emitter:
    """Prints the C AST."""

    poly: PolyTree
    printer: Printer
    vector_bytes: int
    reductions: tuple[tuple[str, str, str], ...] = ()
    bodies: Mapping[str, tuple[Action, ...]] = field(default_factory=dict)  # of statements written in another way
    threaded: bool = False  # inside a parallel loop
    context: str = ""  # who runs it: `scheduler.frontend.model.Sharing`
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
        name = free_name(base, self.taken)
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
        if (
            self.context == "team"
            and not self.threaded
            and isinstance(node, Instance | Block | Micro | Packed | Private | Windowed)
        ):
            raise CodegenUnsupported(
                "every thread of the parallel region would run what stands outside of shared loops"
            )
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
            tested = {use.access.array for use in reads(node.condition)}
            if self.context == "team" and not self.threaded and tested & written_arrays(self.poly):
                # all threads have to come to the same answer, whichever is late
                raise CodegenUnsupported("a condition around a shared loop reads what the nest writes")
            condition = printer.at(node.values).expr(node.condition)
            parts = [wrap(printer.integer(g), RELATION) for g in node.guards]
            text = " && ".join([*parts, wrap(condition, OR + 1)]) if parts else condition[0]
            return block(f"if ({printer.branch(text)})", self.body(node.body))
        if isinstance(node, Instance):
            body = self.bodies.get(node.statement, self.poly.model.placed[node.statement].statement.body)
            return printer.at(node.values).actions(body)
        if isinstance(node, Let):
            here = printer.at(node.values)
            text = bound_text(node.value, here.expr(node.value)[0])
            if node.condition is not None:
                text = f"{wrap(here.expr(node.condition), OR)} ? {text} : {node.otherwise}l"
            return [f"const long {node.name} = {text};"]
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
        if isinstance(node, Windowed):
            return self._windowed(node)
        if isinstance(node, Packed):
            return self._packed(node)
        assert isinstance(node, Text)
        return list(node.lines)

    def _private(self, array: Array, drop: int) -> str:
        if not self.threaded:
            return array_declaration(array, self.printer, drop, ALIGNED)
        if array.name not in self.parts:
            self.parts[array.name] = thread_array(array, drop, self.printer, self.fresh)
            part = self.parts[array.name]
            self.allocations.extend([part[1:]] if part is not None else [])
        part = self.parts[array.name]
        return array_declaration(array, self.printer, drop, ALIGNED) if part is None else part[0]

    def _windowed(self, node: Windowed) -> list[str]:
        array = self.printer.arrays[node.window.array]
        block, place = block_of(node, array)
        lines: list[str] = []
        if self.threaded or thread_array(block, 0, self.printer, lambda base: base) is None:
            lines.append(self._private(block, 0))
            if len(block.shape) > 1 and "=" not in lines[0]:  # gcc warns of what it cannot see is written
                lines.append(f'__asm__("" : "=m"({place.name}));')
        else:
            place = replace(place, name=self.fresh(f"pe_{place.name}"))
            self.allocations.append(allocation(replace(block, base=place.name), self.printer))
        return [*lines, *replace(self, printer=self.printer.with_redirect(array.name, place)).body(node.body)]

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
        found = Reduced(self.printer)
        if any(pragma.startswith("#pragma omp") for pragma in pragmas):
            updated = [(statement, array) for name, statement, array in self.reductions if name == loop.name]
            team = self.context == "team" and loop.parallel is not None
            found = reduced(node, loop, updated, self.poly.model, self.printer, self.fresh, team)
            if found.in_order:
                pragmas = [pragma.replace("schedule(dynamic", "schedule(monotonic: dynamic") for pragma in pragmas]
        elif self.threaded:
            plain = replace(node, body=self._copied(node.body))
            kept = carry_values(plain, self.printer, self.statements, self.fresh)
            found.before, found.printer, found.after = kept
        ends: list[str] = []
        if any(" for simd" in pragma for pragma in pragmas) and any(c in start + stop for c in "/%"):
            # gcc 12's -fsanitize=undefined, which tests divisors, ends in an internal error there
            first, last = self.fresh("pe_first"), self.fresh("pe_last")
            ends = [f"const long {first} = {start}, {last} = {stop};"]
            start, stop = first, last
        rounds = self.rounds * self.trips.get(loop.origin, _SAMPLED)
        threaded = self.threaded or loop.parallel is not None
        bodies = {**self.bodies, **found.bodies}
        inner = replace(self, printer=found.printer, bodies=bodies, threaded=threaded, rounds=rounds)
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
        lines = [*(p + found.clauses for p in pragmas), *lines]
        if loop.parallel is not None and self.context != "team":
            lines = region(lines, self.fresh)
        return [*found.before, *ends, *lines, *found.after]

    def reduced(self, loop: TreeLoop) -> bool:
        return any(name == loop.name for name, _, _ in self.reductions)

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
            if self.context == "thread":
                raise CodegenUnsupported("the loop is run by one thread of several")
            alone = " nowait" if self.context != "team" else ""  # the region ends behind it
            return [f"#pragma omp for{simd} schedule({mark.schedule}{chunk}){collapse}{alone}"]
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

    def _copied(self, nodes: tuple[CNode, ...]) -> tuple[CNode, ...]:
        """The nodes with copies for loops that are written out."""
        found: list[CNode] = []
        for node in nodes:
            copies = self._unrolled(node, self.poly.by_name[node.loop].loop) if isinstance(node, For) else None
            found += [node] if copies is None else self._copied(copies)
        return tuple(found)

    def _vectorizable(self, node: For) -> bool:
        """No loops inside, but for short ones that are to be unrolled."""
        inside = [n for n in walk(node.body) if isinstance(n, For | Packed | Block)]
        loops = [self.poly.by_name[n.loop].loop for n in inside if isinstance(n, For)]
        return len(loops) == len(inside) and all(loop.unroll == 0 and loop.parallel is None for loop in loops)

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
