"""Arrays written past the caches: an innermost loop fills a small buffer, which non-temporal stores copy to memory.

A cache that a line is written in reads the line first, and drops another; where nothing will read the array soon, both
cost memory bandwidth for nothing. The buffer leaves the loop as it was, to be vectorized as ever, and whatever type and
alignment the array has, whole aligned vectors are stored (Intel's optimization manual, "non-temporal stores").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import RELATION, wrap
from scheduler.codegen.tree.node_algebra import names_of, substitute
from scheduler.codegen.tree.nodes import For, Instance, IntExpr, Private, add, scale
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign, Statement, Storage
from scheduler.ir.tree import TreeLoop
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import action_uses

Statements = Mapping[str, Statement]
_CHUNK_BYTES = 512  # short ones let loads and stores overlap; measured with 512 to 4096
_LINE_BYTES = 64
WRITES = "pe_stream("  # in the text: something was written past the caches


@dataclass(frozen=True, slots=True)
class Streamed:
    """An array that is streamed in a loop: the only access, and the statement that makes it."""

    instance: Instance
    access: Access
    ctype: str
    bytes: int  # of an element


@dataclass(frozen=True, slots=True)
class Staged:
    """The buffer of a chunk in place of the array: `low` is the last subscript at the first iteration of the chunk."""

    name: str
    ctype: str
    low: IntExpr
    accesses: None = None  # all of them

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        return (add(subscripts[-1], scale(self.low, -1)),)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is printed for a loop that streams: lines around the loop over the chunks and in it, and the inner loop."""

    before: tuple[str, ...]
    head: str
    begin: tuple[str, ...]
    inner: For
    printer: Printer
    end: tuple[str, ...]


def streamed(node: For, loop: TreeLoop, printer: Printer, statements: Statements) -> tuple[Streamed, ...]:
    """Of the arrays that are marked those that nothing else in the loop touches, and that it runs along."""
    if not loop.streams or node.step != 1 or loop.parallel is not None or printer.traced:
        return ()
    if not all(isinstance(child, Instance | Private) for child in node.body):
        return ()
    private = {child.array for child in node.body if isinstance(child, Private)}
    instances = [child for child in node.body if isinstance(child, Instance)]
    found = (_streamed(name, node.var, instances, printer, statements) for name in loop.streams if name not in private)
    return tuple(one for one in found if one is not None)


def _streamed(
    name: str, var: str, instances: list[Instance], printer: Printer, statements: Statements
) -> Streamed | None:
    array = printer.arrays.get(name)
    if array is None or array.is_scalar or array.storage is Storage.PRIVATE or name in printer.redirect:
        return None
    uses = [
        (i, use) for i in instances for use in action_uses(statements[i.statement].body) if use.access.array == name
    ]
    if len(uses) != 1 or not uses[0][1].is_write or not uses[0][1].must or not uses[0][1].access.is_affine:
        return None
    instance, access = uses[0][0], uses[0][1].access
    if not any(isinstance(a, Assign) and a.target == access for a in statements[instance.statement].body):
        return None
    kind = scalar_type(array.ctype)
    if kind is None or kind.bits not in (8, 16, 32, 64):
        return None
    *outer, last = printer.at(instance.values).index(access)
    along = isinstance(last, Affine) and (last - Affine.of(var)).names().isdisjoint({var})
    if not along or any(var in names_of(index) for index in outer):
        return None
    return Streamed(instance, access, array.ctype, kind.bits // 8)


def chunked(node: For, arrays: tuple[Streamed, ...], printer: Printer, fresh: Callable[[str], str]) -> Chunk:
    """The loop in chunks; the first one ends where the first array's line does, so that the others are whole lines."""
    first, end = fresh(f"{node.var}_b"), fresh(f"{node.var}_e")
    count = _CHUNK_BYTES // max(array.bytes for array in arrays)
    start = {node.var: Affine.of(first)}
    stop = printer.integer(node.stop)[0]
    inside, before, after, places = printer, list[str](), list[str](), list[str]()
    for array in arrays:
        name = fresh(f"{array.access.array}_s")
        values = tuple((iterator, substitute(value, start)) for iterator, value in array.instance.values)
        at = printer.at(values)
        places.append(f"&{at.access(array.access)}")
        inside = inside.with_redirect(array.access.array, Staged(name, array.ctype, at.index(array.access)[-1]))
        before.append(f"{array.ctype} {name}[{count}] __attribute__((__aligned__({_LINE_BYTES})));")
        after.append(f"pe_stream({places[-1]}, {name}, (unsigned long)({end} - {first}) * {array.bytes});")
    past = f"(long)((unsigned long){places[0]} % {_LINE_BYTES} / {arrays[0].bytes})"
    limit = wrap(printer.integer(node.stop), RELATION + 1)
    return Chunk(
        tuple(before),
        f"for (long {first} = {printer.integer(node.start)[0]}, {end}; {first} < {limit}; {first} = {end})",
        (f"{end} = pe_min({stop}, {first} + {count} - {past});",),
        replace(node, start=Affine.of(first), stop=Affine.of(end)),
        inside,
        tuple(after),
    )


def streaming(nodes: Iterator[object], loops: Callable[[str], TreeLoop]) -> bool:
    """Whether some loop among the nodes may stream."""
    return any(isinstance(node, For) and loops(node.loop).streams for node in nodes)
