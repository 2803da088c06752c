"""Reduction clauses: what each thread or lane of a loop sums up on its own, and adding it up behind the loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.tree.node_algebra import names_of
from scheduler.codegen.tree.nodes import Block, CNode, For, Instance, IntExpr, Micro, walk
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Action, Array, Storage
from scheduler.ir.tree import TreeLoop
from scheduler.ir.types import known_type
from scheduler.polyhedral.model import Model
from scheduler.polyhedral.reductions import Reduction, choice_over, reduction_over
from scheduler.polyhedral.updates import Choice

_OF_BITS = {8: "char", 16: "short", 32: "int", 64: "long"}
_NEUTRAL = {"+": "0", "*": "1", "&": "-1", "|": "0", "^": "0"}


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """A scalar in place of every access of an array."""

    name: str
    ctype: str
    accesses: None = None

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        return ()


@dataclass(slots=True)
class Reduced:
    """A loop with reductions: lines before and behind it, clauses of its pragma, and the printer of its body.

    `bodies` are the statements that are written in another way inside.
    """

    printer: Printer
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    clauses: str = ""
    bodies: dict[str, tuple[Action, ...]] = field(default_factory=dict)
    in_order: bool = False  # every thread has to go through its iterations in order


def reduced(
    node: For,
    loop: TreeLoop,
    updated: Sequence[tuple[str, str]],
    model: Model,
    printer: Printer,
    fresh: Callable[[str], str],
    team: bool = False,
) -> Reduced:
    """`updated`: (statement, array) of the reductions the loop carries; `fresh` makes a C name that is not used yet.

    `team`: all threads of a region come here, so that nothing but what they share can be summed up. Raises
    CodegenUnsupported where what is updated cannot be written outside the loop.
    """
    result = Reduced(printer)
    done: set[str] = set()
    present = _statements(node)  # where a loop comes out in pieces, each has some of its statements
    for statement, array in updated:
        if array in done or statement not in present:
            continue
        choice = choice_over(model, loop, array)
        if choice is not None and team:
            raise CodegenUnsupported(f"the threads of a region cannot find {array} together in order")
        if choice is not None:
            _chosen(node, statement, choice, model, result, fresh)
            done |= {choice.target.array, *(f.array for f in choice.followers)}
            continue
        done.add(array)
        reduction = reduction_over(model, loop, array)
        if reduction is None:
            raise CodegenUnsupported(f"no reduction clause for {array}")
        if team:
            result.clauses += f" reduction({reduction.operator}: {_shared(printer, reduction)})"
            continue
        if reduction.access is None:
            _copied(reduction, result, fresh)
        else:
            _summed(_element(node, reduction, model, result.printer), reduction, result, fresh)
    return result


def _shared(printer: Printer, reduction: Reduction) -> str:
    """The scalar that is summed up, under its own name. Raises CodegenUnsupported."""
    array = printer.arrays[reduction.array]
    name = array.base or array.name
    plain = array.is_scalar and name.isidentifier() and not reduction.operator.startswith("=")
    if not plain or array.storage is Storage.PRIVATE:
        raise CodegenUnsupported(f"the threads of a region cannot sum up {reduction.array} together")
    return name


def _copied(reduction: Reduction, result: Reduced, fresh: Callable[[str], str]) -> None:
    """Every thread has a copy of the whole array."""
    array = _whole(result.printer, reduction.array)
    name = fresh(f"pe_{array.name}")
    value = array.base or array.name
    wraps = _wrapping(array.ctype, reduction.operator)
    if known_type(array.ctype).bits < 32 and reduction.operator == "*":
        raise CodegenUnsupported(f"products in {array.name}, whose type is narrower than that of products")
    if wraps is not None:  # an object may be accessed as the unsigned type of its own
        array = replace(array, ctype=_unsigned(array.ctype))
        value = f"(void *){value}"
    result.before.append(f"{_pointer(array, name)} = {value};")
    result.clauses += f" reduction({reduction.operator}: {name}{_section(array)})"
    arrays = {**result.printer.arrays, array.name: replace(array, base=name)}
    result.printer = replace(result.printer, arrays=arrays)


def _summed(element: str, reduction: Reduction, result: Reduced, fresh: Callable[[str], str]) -> None:
    """Every thread or lane has an accumulator."""
    array, operator = reduction.array, reduction.operator
    ctype = result.printer.arrays[array].ctype
    name = fresh(f"pe_{array}")
    if (wraps := _wrapping(ctype, operator)) is not None:
        update = f"{element} = ({ctype})(({wraps}){element} {operator} {name});"
        ctype = wraps
    elif operator.startswith("="):
        operator = "&" if operator == "=0" else "|"  # the accumulator has all bits, or none, until it is set
        update = f"{element} = {name};"
    elif reduction.update.function is not None:
        update = f"{element} = {reduction.update.function}({element}, {name});"
    elif operator in ("min", "max"):
        sets = " ".join((f"{element} = {name};", *([noted] if (noted := result.printer.noted.get(element)) else [])))
        update = f"if ({name} {'<' if operator == 'min' else '>'} {element}) {{ {sets} }}"
    else:
        update = f"{element} {operator}= {name};"
    neutral = _worst(ctype, operator) if operator in ("min", "max") else _NEUTRAL[operator]
    result.before.append(f"{ctype} {name} = {neutral};")
    # Where nothing was updated the element may not even exist.
    result.after += [f"if ({name} != ({ctype}){neutral})", f"    {update}"]
    result.clauses += f" reduction({operator}: {name})"
    result.printer = result.printer.with_redirect(array, _Accumulator(name, ctype))


def _wrapping(ctype: str, operator: str) -> str | None:
    """The unsigned type in which parts are summed up, whose sums may be greater than any of the loop's own order.

    None where those of the type itself cannot overflow. Values are equal: of both the low bits are kept.
    """
    kind = known_type(ctype)
    if operator not in ("+", "*") or kind.kind != "integer" or (not kind.signed and kind.bits >= 32):
        return None
    return "unsigned" if kind.bits < 32 else _unsigned(ctype)


def _unsigned(ctype: str) -> str:
    """The unsigned type of an integer type."""
    bits = known_type(ctype).bits
    return "unsigned long long" if "long long" in ctype else f"unsigned {_OF_BITS[bits]}"


def _worst(ctype: str, operator: str) -> str:
    """What no value is worse than."""
    kind = known_type(ctype)
    if kind.kind == "floating":
        return "(-__builtin_inf())" if operator == "max" else "__builtin_inf()"
    suffix = ("" if kind.signed else "U") + ("L" if kind.bits == 64 else "")
    if not kind.signed:
        return f"0{suffix}" if operator == "max" else f"{(1 << kind.bits) - 1}{suffix}"
    most = f"{(1 << (kind.bits - 1)) - 1}{suffix}"
    return f"(-{most} - 1)" if operator == "max" else most


def _chosen(
    node: For, statement: str, choice: Choice, model: Model, result: Reduced, fresh: Callable[[str], str]
) -> None:
    """Every thread looks in its iterations for what beats the old value, and remembers where it found that.

    Of equal values of two threads the place decides, as the order of the loop does. Where nothing beats the old
    value, nothing is set. No other order of the iterations of one thread may be taken.
    """
    if any(isinstance(n, Block | Micro) and statement in _statements(n) for n in walk(node.body)):
        raise CodegenUnsupported("the minimum or maximum is found in a register block")
    places = (choice.target, *choice.followers)
    printer = result.printer
    if any(printer.redirect.get(p.array) or printer.held.get(printer.access(p)) for p in places):
        raise CodegenUnsupported(f"a minimum or maximum in {choice.target.array}, which is stored elsewhere")
    name = fresh(f"pe_{choice.target.array}")
    kind, operator = fresh(f"{name}_place"), fresh(f"{name}_best")
    fields = [f"pe_value{k}" for k in range(len(places))]
    types = [printer.arrays[p.array].ctype for p in places]
    originals = [printer.access(p) for p in places]
    members = " ".join(f"{t} {f};" for t, f in zip(types, fields, strict=True))
    up = (node.step > 0) != choice.last
    better = ">" if model.update(statement, choice.target.array).operator == "max" else "<"  # type: ignore[union-attr]
    sooner = "<" if up else ">"
    wins = (
        f"omp_in.pe_set && (!omp_out.pe_set || omp_in.pe_value0 {better} omp_out.pe_value0 || "
        f"(omp_in.pe_value0 == omp_out.pe_value0 && omp_in.pe_at {sooner} omp_out.pe_at))"
    )
    result.before += [
        f"struct {kind} {{ {members} long pe_at; int pe_set; }};",
        f"#pragma omp declare reduction({operator}: struct {kind}: omp_out = ({wins}) ? omp_in : omp_out) "
        "initializer(omp_priv = omp_orig)",
        f"struct {kind} {name} = {{{', '.join(originals)}, 0, 0}};",
    ]
    sets = " ".join(f"{o} = {name}.{f};" for o, f in zip(originals, fields, strict=True))
    result.after += [f"if ({name}.pe_set) {{ {sets} }}"]
    result.clauses += f" reduction({operator}: {name})"
    for place, part, ctype in zip(places, fields, types, strict=True):
        printer = printer.with_redirect(place.array, _Accumulator(f"{name}.{part}", ctype))
    noted = {**printer.noted, f"{name}.pe_value0": f"{name}.pe_at = {node.var}, {name}.pe_set = 1;"}
    result.printer = replace(printer, noted=noted)
    result.bodies[statement] = choice.body
    result.in_order = True


def _statements(node: CNode) -> set[str]:
    return {n.statement for n in walk((node,)) if isinstance(n, Instance)}


def _element(node: For, reduction: Reduction, model: Model, printer: Printer) -> str:
    """The element that is summed up, as it is written outside the loop."""
    assert reduction.access is not None
    inside = {n.var for n in walk((node,)) if isinstance(n, For)}
    texts = set()
    for instance in walk(node.body):
        if not isinstance(instance, Instance):
            continue
        update = model.update(instance.statement, reduction.array)
        if update is None or reduction.access not in update.accesses:
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
