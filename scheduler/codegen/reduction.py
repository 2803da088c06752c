"""Reduction clauses: what each thread or lane of a loop sums up on its own, and adding it up behind the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scheduler.codegen.nodes import For, Instance, IntExpr, names_of, walk
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign
from scheduler.ir.tree import TreeLoop
from scheduler.polyhedral.reductions import Reduction, reduction_over

if TYPE_CHECKING:
    from scheduler.codegen.emit_c import Emitter

_NEUTRAL = {"+": "0", "*": "1", "&": "-1", "|": "0", "^": "0"}


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """A scalar in place of every access of an array."""

    name: str
    ctype: str
    accesses: None = None

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        return ()


def reduced(emitter: Emitter, node: For, loop: TreeLoop) -> tuple[list[str], list[str], str, Emitter]:
    """(lines before the loop, lines behind it, clauses of its pragma, the printer of its body).

    Raises CodegenUnsupported where the element that is summed up cannot be written outside the loop.
    """
    statements = [s for name, s in emitter.reductions if name == loop.name]
    before: list[str] = []
    after: list[str] = []
    clauses = ""
    for array in dict.fromkeys(emitter.poly.model.placed[s].statement.body[0].target.array for s in statements):  # type: ignore[union-attr]
        reduction = reduction_over(emitter.poly.model, loop, array)
        if reduction is None:
            raise CodegenUnsupported(f"no reduction clause for {array}")
        if reduction.access is None:
            clauses += f" reduction({reduction.operator}: {_section(emitter, array)})"
            continue
        target = _target(emitter, node, reduction)
        ctype = emitter.printer.arrays[array].ctype
        name = emitter.fresh(f"pe_{array}")
        neutral = _NEUTRAL[reduction.operator]
        before.append(f"{ctype} {name} = {neutral};")
        # Where nothing was summed up the element may not even exist.
        after.append(f"if ({name} != ({ctype}){neutral})")
        after.append(f"    {target} {reduction.operator}= {name};")
        clauses += f" reduction({reduction.operator}: {name})"
        emitter = replace(emitter, printer=emitter.printer.with_redirect(array, _Accumulator(name, ctype)))
    return before, after, clauses, emitter


def _target(emitter: Emitter, node: For, reduction: Reduction) -> str:
    """The element that is summed up, as it is written outside the loop."""
    assert reduction.access is not None
    inside = {n.var for n in walk((node,)) if isinstance(n, For)}
    texts = set()
    for instance in walk(node.body):
        if isinstance(instance, Instance) and _updates(emitter, instance, reduction.access):
            at = emitter._at(instance.values).printer
            if any(names_of(i) & inside for i in at.index(reduction.access)):
                raise CodegenUnsupported(f"the sum in {reduction.array} moves inside the loop")
            texts.add(at.access(reduction.access))
    if len(texts) != 1:
        raise CodegenUnsupported(f"no one element of {reduction.array} is summed up")
    return texts.pop()


def _updates(emitter: Emitter, instance: Instance, access: Access) -> bool:
    action = emitter.statements[instance.statement].body[0]
    return isinstance(action, Assign) and action.target == access


def _section(emitter: Emitter, array: str) -> str:
    """An OpenMP array section that holds the whole array."""
    printer = emitter.printer
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
