"""Reduction clauses: what each thread or lane of a loop sums up on its own, and adding it up behind the loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scheduler.codegen.expr import Printer
from scheduler.codegen.node_algebra import names_of
from scheduler.codegen.nodes import For, Instance, IntExpr, walk
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Assign, Storage
from scheduler.ir.tree import TreeLoop
from scheduler.polyhedral.model import Model
from scheduler.polyhedral.reductions import Reduction, reduction_over

_NEUTRAL = {"+": "0", "*": "1", "&": "-1", "|": "0", "^": "0"}


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """A scalar in place of every access of an array."""

    name: str
    ctype: str
    accesses: None = None

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        return ()


def reduced(
    node: For,
    loop: TreeLoop,
    statements: Sequence[str],
    model: Model,
    printer: Printer,
    fresh: Callable[[str], str],
    team: bool = False,
) -> tuple[list[str], list[str], str, Printer]:
    """(lines before the loop, lines behind it, clauses of its pragma, the printer of its body).

    `statements` are the reductions the loop carries; `fresh` makes a C name that is not used yet; `team`: all threads
    of a region come here, so that nothing but what they share can be summed up. Raises CodegenUnsupported where the
    element that is summed up cannot be written outside the loop.
    """
    before: list[str] = []
    after: list[str] = []
    clauses = ""
    for array in dict.fromkeys(_target(model, s).array for s in statements):
        reduction = reduction_over(model, loop, array)
        if reduction is None:
            raise CodegenUnsupported(f"no reduction clause for {array}")
        if team:
            clauses += f" reduction({reduction.operator}: {_shared(printer, reduction)})"
            continue
        if reduction.access is None:
            found = _whole(printer, array)
            name = fresh(f"pe_{array}")
            before.append(f"{_pointer(found, name)} = {found.base or found.name};")
            clauses += f" reduction({reduction.operator}: {name}{_section(found)})"
            printer = replace(printer, arrays={**printer.arrays, array: replace(found, base=name)})
            continue
        element = _element(node, reduction, model, printer)
        ctype = printer.arrays[array].ctype
        name = fresh(f"pe_{array}")
        neutral = _NEUTRAL[reduction.operator]
        before.append(f"{ctype} {name} = {neutral};")
        # Where nothing was summed up the element may not even exist.
        after.append(f"if ({name} != ({ctype}){neutral})")
        after.append(f"    {element} {reduction.operator}= {name};")
        clauses += f" reduction({reduction.operator}: {name})"
        printer = printer.with_redirect(array, _Accumulator(name, ctype))
    return before, after, clauses, printer


def _shared(printer: Printer, reduction: Reduction) -> str:
    """The scalar that is summed up, under its own name. Raises CodegenUnsupported."""
    array = printer.arrays[reduction.array]
    name = array.base or array.name
    if not array.is_scalar or array.storage is Storage.PRIVATE or not name.isidentifier():
        raise CodegenUnsupported(f"the threads of a region cannot sum up {reduction.array} together")
    return name


def _target(model: Model, statement: str) -> Access:
    """What a reduction updates."""
    action = model.placed[statement].statement.body[0]
    assert isinstance(action, Assign)
    return action.target


def _element(node: For, reduction: Reduction, model: Model, printer: Printer) -> str:
    """The element that is summed up, as it is written outside the loop."""
    assert reduction.access is not None
    inside = {n.var for n in walk((node,)) if isinstance(n, For)}
    texts = set()
    for instance in walk(node.body):
        if not isinstance(instance, Instance):
            continue
        body = model.placed[instance.statement].statement.body
        if not (isinstance(body[0], Assign) and body[0].target == reduction.access):
            continue
        at = printer.at(instance.values)
        if any(names_of(i) & inside for i in at.index(reduction.access)):
            raise CodegenUnsupported(f"the sum in {reduction.array} moves inside the loop")
        texts.add(at.access(reduction.access))
    if len(texts) != 1:
        raise CodegenUnsupported(f"no one element of {reduction.array} is summed up")
    return texts.pop()


def _whole(printer: Printer, array: str) -> Array:
    """Raises CodegenUnsupported where it is not the array itself that is accessed."""
    if printer.redirect.get(array) or printer.dropped.get(array):
        raise CodegenUnsupported(f"a reduction over {array}, which is stored elsewhere")
    if printer.arrays[array].members:
        raise CodegenUnsupported(f"a reduction over {array}, an array of structures")
    return printer.arrays[array]


def _pointer(array: Array, name: str) -> str:
    """The declaration of a local pointer to an array's first row: clang gives threads no copy of a global array."""
    rows = "".join(f"[{extent}]" for extent in _extents(array)[1:])
    return f"{array.ctype} (*{name}){rows}" if rows else f"{array.ctype} *{name}"


def _section(array: Array) -> str:
    """Behind its name: an OpenMP array section that holds all of it."""
    return "".join(f"[0:{extent}]" for extent in _extents(array))


def _extents(array: Array) -> list[int]:
    extents = [e.const for e in array.shape if isinstance(e, Affine)]
    return [math.prod(extents)] if array.flat else extents
