"""Values that an iteration leaves for the next one in a scalar instead of memory: `p[j] = f(p[j - 1])`, `c += f(j)`.

Compilers do this where they know that nothing else writes the element. Inside a parallel loop they do not:
its body becomes a function of its own, and what `restrict` promised is lost.
Source: Callahan, Carr and Kennedy 1990 (Improving register allocation for subscripted variables).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import RELATION, wrap
from scheduler.codegen.tree.node_algebra import names_of, substitute
from scheduler.codegen.tree.nodes import For, Instance, IntExpr, Private, add, scale
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign, Binary, Conditional, Expr, Read, Statement
from scheduler.ir.walk import children


@dataclass(frozen=True, slots=True)
class _Use:
    """`order` counts the actions of the body; `index` is where the element is stored."""

    access: Access
    index: tuple[IntExpr, ...]
    text: str
    order: int
    write: bool


def carry_values(
    node: For, printer: Printer, statements: Mapping[str, Statement], fresh: Callable[[str], str]
) -> tuple[list[str], Printer, list[str]]:
    """(lines before the loop, the printer of its body, lines behind it) for an innermost loop that runs in order.

    `fresh` makes a C name that is not used yet.
    """
    instances = [n for n in node.body if isinstance(n, Instance)]
    if abs(node.step) != 1 or any(not isinstance(n, Instance | Private) for n in node.body):
        return [], printer, []
    uses = _uses(instances, printer, statements)
    if uses is None:
        return [], printer, []
    before: list[str] = []
    after: list[str] = []
    once = _once(node, printer)
    local = {n.array for n in node.body if isinstance(n, Private)}
    for array in dict.fromkeys(u.access.array for u in uses if u.write):
        mine = [u for u in uses if u.access.array == array]
        writes = [u for u in mine if u.write]
        if array in local or not writes[0].index or any(not u.access.is_affine for u in mine):
            continue
        ctype = printer.arrays[array].ctype
        if _stay(node, mine):
            read = {u.text for u in mine if not u.write}
            for text in (u.text for u in writes if u.text in read):
                name = fresh(f"pe_{array}")
                before.append(f"{ctype} {name} = {f'{once} ? {text} : 0' if once else text};")
                after.append(f"if ({once}) {text} = {name};" if once else f"{text} = {name};")
                printer = replace(printer, held={**printer.held, text: name})
            continue
        last, *others = writes
        back: dict[str, IntExpr] = {node.var: Affine.of(node.var) - node.step}
        earlier = tuple(substitute(i, back) for i in last.index)
        found = next((u for u in mine if not u.write and u.index == earlier and earlier != last.index), None)
        if others or found is None or any(u.text == found.text and u.order > last.order for u in mine):
            continue
        name = fresh(f"pe_{array}")
        first = _first(node, found, instances, printer)
        before.append(f"{ctype} {name} = {f'{once} ? {first} : 0' if once else first};")
        printer = replace(printer, held={**printer.held, found.text: name}, copied={**printer.copied, last.text: name})
    return before, printer, after


def _stay(node: For, uses: list[_Use]) -> bool:
    """Whether every iteration uses the same elements, and two texts are two elements."""
    if any(node.var in names_of(i) for u in uses for i in u.index):
        return False
    each = list({u.text: u.index for u in uses}.values())
    return all(_apart(one, other) for one, other in combinations(each, 2))


def _apart(one: tuple[IntExpr, ...], other: tuple[IntExpr, ...]) -> bool:
    gaps = (add(a, scale(b, -1)) for a, b in zip(one, other, strict=True))
    return any(isinstance(gap, Affine) and gap.is_constant and gap.const for gap in gaps)


def _once(node: For, printer: Printer) -> str:
    """The condition under which there is an iteration; empty where there always is one."""
    extent = add(node.stop, scale(node.start, -1))
    if isinstance(extent, Affine) and extent.is_constant and extent.const * node.step > 0:
        return ""
    compare = "<" if node.step > 0 else ">"
    first, stop = printer.integer(node.start), printer.integer(node.stop)
    return f"{wrap(first, RELATION + 1)} {compare} {wrap(stop, RELATION + 1)}"


def _uses(instances: list[Instance], around: Printer, statements: Mapping[str, Statement]) -> list[_Use] | None:
    """Every access of the body, reads of an action before its write; None where some run only at times."""
    found: list[_Use] = []
    order = 0
    for instance in instances:
        printer = around.at(instance.values)
        for action in statements[instance.statement].body:
            if not isinstance(action, Assign):
                return None
            order += 1
            pairs = [(read.access, False) for read in _reads(action.value)]
            pairs += [(a, False) for s in action.target.subscripts if not isinstance(s, Affine) for a in _accesses(s)]
            pairs += [(action.target, False)] if action.op != "=" else []
            pairs.append((action.target, True))
            if any(
                isinstance(e, Conditional) or (isinstance(e, Binary) and e.op in ("&&", "||")) for e in _all(action)
            ):
                return None
            for access, write in pairs:
                if printer.redirection(access) is not None:
                    return None
                index = printer.index(access) if access.is_affine else ()
                found.append(_Use(access, index, printer.access(access), order, write))
    counts = Counter((u.access.array, u.text) for u in found if u.write)
    return found if all(c == 1 for c in counts.values()) else None


def _first(node: For, read: _Use, instances: list[Instance], printer: Printer) -> str:
    """What the first iteration reads."""
    start: dict[str, IntExpr] = {node.var: node.start}
    instance = next(i for i in instances if printer.at(i.values).access(read.access) == read.text)
    values = tuple((name, substitute(value, start)) for name, value in instance.values)
    return printer.at(values).access(read.access)


def _all(action: Assign) -> Iterator[Expr]:
    yield from _expressions(action.value)
    for subscript in action.target.subscripts:
        if not isinstance(subscript, Affine):
            yield from _expressions(subscript)


def _expressions(e: Expr) -> Iterator[Expr]:
    yield e
    if isinstance(e, Read):
        for subscript in e.access.subscripts:
            if not isinstance(subscript, Affine):
                yield from _expressions(subscript)
    for child in children(e):
        yield from _expressions(child)


def _reads(e: Expr) -> Iterator[Read]:
    for inner in _expressions(e):
        if isinstance(inner, Read):
            yield inner


def _accesses(e: Expr) -> Iterator[Access]:
    for read in _reads(e):
        yield read.access
