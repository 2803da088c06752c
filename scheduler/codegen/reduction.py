"""Reduction clauses: what each thread or lane of a loop sums up on its own, and adding it up behind the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler.codegen.expr import Printer
from scheduler.codegen.nodes import For, Instance, IntExpr, names_of, walk
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign
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
) -> tuple[list[str], list[str], str, Printer]:
    """(lines before the loop, lines behind it, clauses of its pragma, the printer of its body).

    `statements` are the reductions the loop carries; `fresh` makes a C name that is not used yet. Raises
    CodegenUnsupported where the element that is summed up cannot be written outside the loop.
    """
    before: list[str] = []
    after: list[str] = []
    clauses = ""
    for array in dict.fromkeys(_target(model, s).array for s in statements):
        reduction = reduction_over(model, loop, array)
        if reduction is None:
            raise CodegenUnsupported(f"no reduction clause for {array}")
        if reduction.access is None:
            clauses += f" reduction({reduction.operator}: {_section(printer, array)})"
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


def _section(printer: Printer, array: str) -> str:
    """An OpenMP array section that holds the whole array."""
    found = printer.arrays[array]
    if printer.redirect.get(array) or printer.dropped.get(array):
        raise CodegenUnsupported(f"a reduction over {array}, which is stored elsewhere")
    extents = [e.const for e in found.shape if isinstance(e, Affine)]
    if found.flat:
        total = 1
        for extent in extents:
            total *= extent
        extents = [total]
    return (found.base or found.name) + "".join(f"[0:{e}]" for e in extents)
