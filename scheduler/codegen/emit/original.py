"""The nest as C text in source order: the baseline of measurements and the fallback of guarded code."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import RELATION, wrap
from scheduler.codegen.emit.text import VERBATIM, block, declarator, indented
from scheduler.errors import CodegenUnsupported
from scheduler.frontend.model import Remainder, Shared, Sharing
from scheduler.ir.nest import Array, Bound, Guard, Loop, LoopNest, Node, Predicate, Statement, Storage
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import loops, placed_statements, uses


def emit_original(nest: LoopNest, sharing: Sharing | None = None) -> str:
    """Plain C of the nest, structured as the user's code is; with the pragmas of `sharing` where that is given."""
    private = [a for a in nest.arrays if a.storage is Storage.PRIVATE]
    used = {u.access.array for placed in placed_statements(nest) for u in uses(placed)}
    printer = Printer.of(nest, wide=False, dropped={a.name: a.expanded for a in private})
    emitter = _Emitter(nest, replace(printer, unsigned=frozenset(x.name for x in loops(nest) if _wraps(x.ctype))))
    emitter.private = [a for a in private if a.name in used]
    if sharing is not None:
        emitter.protected = sharing.protected
        emitter.pragmas = {name: [f"#pragma {text}"] for name, text in sharing.hints}
        for shared in sharing.shared:
            emitter.pragmas.setdefault(shared.loop, []).append(pragma(shared))
    top = emitter.declarations(None)
    lines = emitter.nodes(nest.body)
    if top:
        lines = block("", [*top, *lines])
    return "\n".join(lines) + "\n"


def remainder_text(left: Remainder, body: str, context: str) -> tuple[str, ...]:
    """What a nest leaves of its loop: with `body`, the user's text, which keeps the numbers of its lines. `context`: as
    in `emit_c.emit`."""
    # Before one of a team exchanges buffers, all have seen which ones the nest starts with.
    barrier = ("#pragma omp barrier",) if context == "team" else ()
    first, written = f"({left.ctype})({left.first})", f"{VERBATIM}{body}{VERBATIM}"
    if left.whole:
        return (*barrier, f"{left.name} = {first};", written)
    test = f"{left.name} {'<' if left.step > 0 else '>'} pe_stop"
    lines = (
        *barrier,
        f"const {left.ctype} pe_first = {first};",
        f"const long pe_stop = {left.stop};",
        f"for ({left.ctype} {left.name} = pe_first; (long){test}; {increment(left.name, left.step)})",
        written,
    )
    return tuple(block("", lines))


def _wraps(ctype: str) -> bool:
    kind = scalar_type(ctype)
    return kind is not None and not kind.signed


# Without it gcc 12 stores aligned vectors to arrays on the stack that it does not align (seen with -march=znver3).
ALIGNED = " __attribute__((__aligned__(64)))"


def array_declaration(array: Array, printer: Printer, drop: int, attribute: str = "") -> str:
    """The declaration of a private array without its first `drop` dimensions; an array gets the attribute."""
    extents = []
    for extent in array.shape[drop:]:
        if extent is None:
            raise CodegenUnsupported(f"private array {array.name} has an unknown extent")
        extents.append(printer.affine(extent)[0])
    if array.flat and len(extents) > 1:
        extents = ["*".join(e if e.isidentifier() or e.isdigit() else f"({e})" for e in extents)]
    return declarator(array.ctype, array.base or array.name, extents) + (attribute if extents else "") + ";"


class _Emitter:
    def __init__(self, nest: LoopNest, printer: Printer) -> None:
        self.nest = nest
        self.printer = printer
        self.private: list[Array] = []
        self.pragmas: dict[str, list[str]] = {}
        self.protected: tuple[tuple[int, int, str], ...] = ()

    def declarations(self, scope: str | None) -> list[str]:
        return [array_declaration(a, self.printer, a.expanded) for a in self.private if a.scope == scope]

    def node(self, node: Node) -> list[str]:
        if isinstance(node, Statement):
            return self.printer.actions(node.body)
        if isinstance(node, Loop):
            return self.loop(node)
        head = self.printer.condition(node.condition) if isinstance(node, Guard) else self.printer.expr(node.condition)
        return block(f"if ({head[0]})", self.body(node))

    def body(self, node: Loop | Guard | Predicate) -> list[str]:
        return self.nodes(node.body)

    def nodes(self, nodes: tuple[Node, ...]) -> list[str]:
        lines: list[str] = []
        for protection, group in groupby(nodes, self.protection):
            around, self.protected = self.protected, self.protected if protection is None else ()
            own = [line for node in group for line in self.node(node)]
            self.protected = around
            if protection is not None:
                text = protection[2]
                own = [f"#pragma {text}", *(own if text.startswith("omp atomic") else block("", own))]
            lines += own
        return lines

    def protection(self, node: Node) -> tuple[int, int, str] | None:
        """What has one thread at a time run a node; all of a block have the same."""
        span = node.span if isinstance(node, Statement | Loop) else None
        if span is None:
            return None
        return next((p for p in self.protected if p[0] <= span.begin and span.end <= p[1]), None)

    def loop(self, loop: Loop) -> list[str]:
        name, ctype, first = loop.name, loop.ctype, []
        if loop.step < 0 and _wraps(ctype):
            name, ctype = f"{loop.name}_", "long"
            first = [f"const {loop.ctype} {loop.name} = ({loop.ctype}){name};"]
        up = loop.step > 0
        start = self.bound(loop.start, "max" if up else "min")
        stop = self.bound(loop.stop, "min" if up else "max")
        head = f"for ({ctype} {name} = {start}; {name} {'<' if up else '>'} {stop}; {increment(name, loop.step)})"
        body = [*first, *self.declarations(loop.name), *self.body(loop)]
        pragmas = self.pragmas.get(loop.name, [])
        plain = len(loop.body) == 1 and len(body) == len(self.body(loop))
        if plain and (isinstance(loop.body[0], Loop) or (isinstance(loop.body[0], Statement) and len(body) == 1)):
            return [*pragmas, head, *indented(body)]
        return [*pragmas, *block(head, body)]

    def bound(self, bound: Bound, op: str) -> str:
        if not isinstance(bound, tuple):
            return wrap(self.printer.expr(bound), RELATION + 1)
        text = self.printer.affine(bound[0])[0]
        for other in bound[1:]:
            text = f"pe_{op}({text}, {self.printer.affine(other)[0]})"
        return text


def pragma(shared: Shared) -> str:
    """The pragma of a loop that stands on its own: a team of its own where the user's shares it in a region."""
    kind = "parallel for" if shared.threads else ""
    simd = "simd" if "simd" in shared.name.split() else ""
    reductions = (f"reduction({operator}: {section})" for operator, section in shared.reductions)
    return " ".join(filter(None, ("#pragma omp", kind, simd, *shared.clauses, *reductions)))


def increment(name: str, step: int) -> str:
    if abs(step) == 1:
        return f"{name}{'++' if step > 0 else '--'}"
    return f"{name} {'+' if step > 0 else '-'}= {abs(step)}"
