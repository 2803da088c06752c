"""The text of packed blocks: where their elements are in the buffer, and the loops that copy them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.heap import STACK_BYTES, region
from scheduler.codegen.emit.integer_text import CHOICE, RELATION, wrap
from scheduler.codegen.emit.text import block
from scheduler.codegen.tree.nodes import IntExpr, IntOp, Packed, add, scale
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Binary, Expr, Read
from scheduler.ir.tree import PackMark
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import children

MOST_BYTES = 1 << 26
_SHARED_COPY = 16_384  # elements from which on a copy is made by all threads


@dataclass(frozen=True)
class Buffer:
    """Where the elements of a packed array are: `index` gives the buffer's subscripts for the array's."""

    name: str
    ctype: str
    mark: PackMark
    accesses: frozenset[Access] | None
    low: tuple[IntExpr, ...]
    multiples: Mapping[str, int]  # variable -> a number its value is a multiple of

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        mark = self.mark
        offsets = [add(s, scale(low, -1)) for s, low in zip(subscripts, self.low, strict=True)]
        if not mark.panel:
            return tuple(offsets[d] for d in mark.order)
        number, inside = self._split(offsets[mark.panel_dim])
        return (*(number if d == mark.panel_dim else offsets[d] for d in mark.order), inside)

    def _split(self, offset: IntExpr) -> tuple[IntExpr, IntExpr]:
        """(panel, place in the panel) of an offset >= 0."""
        panel = self.mark.panel
        size = Affine.constant(panel)
        if not isinstance(offset, Affine):
            return IntOp("/", (offset, size)), IntOp("%", (offset, size))
        whole = Affine.build(offset.terms, 0)
        if multiple_of(whole, panel, self.multiples):
            first, inside = divmod(offset.const, panel)
            exact = all(c % panel == 0 for _, c in whole.terms)
            number: IntExpr = whole.floordiv(panel) if exact else IntOp("/", (whole, size))
            return add(number, Affine.constant(first)), Affine.constant(inside)
        return IntOp("/", (offset, size)), IntOp("%", (offset, size))


def multiple_of(expr: Affine, number: int, multiples: Mapping[str, int]) -> bool:
    if expr.const % number:
        return False
    return all(c * (multiples.get(a, 1) if isinstance(a, str) else 1) % number == 0 for a, c in expr.terms)


@dataclass(frozen=True, slots=True)
class PackCode:
    """What a Packed node prints before its body, and what it needs at the top of the nest."""

    lines: tuple[str, ...]
    buffer: Buffer
    allocation: tuple[str, str] | None  # declaration with allocation, name to test and free


def pack_code(node: Packed, printer: Printer, multiples: dict[str, int], fresh: Callable[[str], str]) -> PackCode:
    """Declaration and copy loops. `multiples` learns the variables declared here."""
    mark = node.mark
    array = printer.arrays[mark.array]
    name = fresh(f"{mark.array}_pack")
    lines: list[str] = []
    low: list[IntExpr] = []
    for d, bound in enumerate(node.low):
        panel = mark.panel if d == mark.panel_dim else 1
        if isinstance(bound, Affine) and (panel == 1 or multiple_of(bound, panel, multiples)):
            low.append(bound)
            continue
        aligned = bound if panel == 1 else scale(IntOp("floord", (bound, Affine.constant(panel))), panel)
        variable = fresh(f"{name}_{d}")
        lines.append(f"const long {variable} = {printer.integer(aligned)[0]};")
        multiples[variable] = panel
        low.append(Affine.of(variable))
    ctype = node.value.ctype
    buffer = Buffer(name, ctype, mark, node.accesses, tuple(low), multiples)
    shape = [node.extents[d] // (mark.panel if mark.panel and d == mark.panel_dim else 1) for d in mark.order]
    shape += [mark.panel] if mark.panel else []
    count = 1
    for extent in shape:
        count *= extent
    kind = scalar_type(ctype)
    size = count * (kind.bits // 8 if kind is not None else 8)
    if size > MOST_BYTES:
        raise CodegenUnsupported(f"the packed block of {array.name} has {size >> 20} MiB")
    allocation = None
    tail = "".join(f"[{extent}]" for extent in shape[1:])
    if size <= STACK_BYTES:
        lines.append(f"{ctype} {name}[{shape[0]}]{tail} __attribute__((__aligned__(64)));")
    elif node.parallel == "around":
        whole = fresh(f"{name}s")
        stride = -(-size // 64) * 64
        allocation = (f"char *{whole} = pe_alloc((unsigned long){stride} * pe_threads());", whole)
        lines.append(f"{ctype} (*restrict {name}){tail} = (void *)({whole} + (unsigned long){stride} * pe_thread());")
    else:
        allocation = (f"{ctype} (*restrict {name}){tail} = pe_alloc({size});", name)
    together = node.parallel == "inside" and count >= _SHARED_COPY
    lines += _copy(node, buffer, printer, fresh, together)
    return PackCode(tuple(lines), buffer, allocation)


def _copy(node: Packed, buffer: Buffer, printer: Printer, fresh: Callable[[str], str], together: bool) -> list[str]:
    mark = node.mark
    variables = [fresh(f"{buffer.name}_i{d}") for d in range(len(node.low))]
    stops = [wrap(printer.integer(add(high, Affine.constant(1))), RELATION + 1) for high in node.high]
    access = Access(mark.array, tuple(Affine.of(v) for v in variables))
    target = printer.with_redirect(mark.array, replace(buffer, accesses=None))

    def head(d: int, step: int = 1) -> str:
        v = variables[d]
        move = f"{v}++" if step == 1 else f"{v} += {step}"
        return f"for (long {v} = {printer.integer(buffer.low[d])[0]}; {v} < {stops[d]}; {move})"

    if not mark.panel:
        body = [f"{target.access(access)} = {_stored(node, printer, access)};"]
        for d in reversed(mark.order):
            body = block(head(d), body)
    else:
        body = _panel_loops(node, buffer, printer, variables, stops[mark.panel_dim], head, fresh)
    if together:
        body = region(["#pragma omp for schedule(static) nowait", *body], fresh)
    return body if node.needed is None else block(f"if ({printer.integer(node.needed)[0]})", body)


def _panel_loops(
    node: Packed,
    buffer: Buffer,
    printer: Printer,
    variables: list[str],
    stop: str,
    head: Callable[..., str],
    fresh: Callable[[str], str],
) -> list[str]:
    """Panel by panel; what is missing in the last one is filled with zeros."""
    mark = node.mark
    panel, place = mark.panel, fresh("q")
    v = variables[mark.panel_dim]
    known = replace(buffer, accesses=None, multiples={**buffer.multiples, v: panel})
    target = printer.with_redirect(mark.array, known)
    subscripts = tuple(Affine.of(name) for name in variables)
    moved = tuple(s + Affine.of(place) if d == mark.panel_dim else s for d, s in enumerate(subscripts))
    written = target.access(Access(mark.array, subscripts)).rsplit("[", 1)[0] + f"[{place}]"
    read = _stored(node, printer, Access(mark.array, moved))
    count = fresh("rest")

    def over(first: str, last: str) -> str:
        return f"for (long {place} = {first}; {place} < {last}; {place}++)"

    def around(body: list[str]) -> list[str]:
        inner = mark.order[mark.order.index(mark.panel_dim) + 1 :]
        for d in reversed(inner):
            body = block(head(d), body)
        return body

    full = around(block(over("0", str(panel)), [f"{written} = {read};"]))
    some = block(over("0", count), [f"{written} = {read};"])
    zeros = block(over(count, str(panel)), [f"{written} = 0;"])
    rest = [f"const long {count} = {stop} - {v};", *around([*some, *zeros])]
    lines = [*block(f"if ({v} + {panel} <= {stop})", full)[:-1], *block("} else", rest)]
    extent = printer.arrays[mark.array].shape[mark.panel_dim]
    if node.whole:
        lines = full
    elif extent is not None and extent.is_constant and extent.const < panel:
        lines = rest  # no panel is ever full, and gcc warns of what would be read
    for d in reversed(mark.order[: mark.order.index(mark.panel_dim) + 1]):
        lines = block(head(d, panel if d == mark.panel_dim else 1), lines)
    return lines


def _stored(node: Packed, printer: Printer, access: Access) -> str:
    """C text of what the buffer holds for an element."""
    rendered = replace(printer, held={}).expr(_of_element(node.value, access))
    return wrap(rendered, CHOICE + 1)


def _of_element(value: Expr, access: Access) -> Expr:
    if isinstance(value, Read):
        return Read(access, value.ctype) if value.access.array == access.array else value
    if isinstance(value, Binary):
        return replace(value, left=_of_element(value.left, access), right=_of_element(value.right, access))
    return value


def printer_inside(printer: Printer, node: Packed, buffer: Buffer) -> Printer:
    """The printer inside a Packed node."""
    packed = dict(printer.packed)
    if not isinstance(node.value, Read):
        read = next(e for e in expressions(node.value) if isinstance(e, Read) and e.access in node.accesses)
        packed[node.value] = Read(read.access, node.value.ctype)
    return replace(printer.with_redirect(node.mark.array, buffer), packed=packed)


def expressions(e: Expr) -> Iterator[Expr]:
    yield e
    for child in children(e):
        yield from expressions(child)
