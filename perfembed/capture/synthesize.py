"""Inputs of a nest made up from its shapes, for a file without a main."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from perfembed.capture.captured import CapturedArray, CapturedNest, CaptureFailed
from perfembed.capture.extents import (
    ExtentUnknown,
    Touched,
    broken_assumption,
    element_bytes,
    outer_arrays,
    with_values,
)
from perfembed.capture.fills import dtype_of
from perfembed.capture.record import DEFAULT_CAP_BYTES, too_large
from perfembed.capture.roles import assignments, bounds, opaque_subscripts, roles
from perfembed.capture.rows import even_places, rows_name
from profilers.workload import ELEMENT_TYPES, FLOAT_TYPES, CapturedFill, Fill, RandomFill
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Cast, Expr, Loop, LoopNest, Node, Read, Statement, Storage
from scheduler.ir.types import known_type
from scheduler.ir.walk import loops, reads

_ROWS = (16, 8, 4, 2, 1, 0)  # mean trip count of a data-dependent loop: the first one that arrays have room for
_FLOATS = (0.5, 1.5)
_INTEGERS = (0, 100)
_DIVISORS = (1, 8)


class _Refused(Exception):
    """The reason, for the user."""


@dataclass
class _Plan:
    """What index arrays have to hold; grows while the nest is looked at."""

    nest: LoopNest  # its data-dependent loops replaced by affine ones
    values: Mapping[str, int]
    contents: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)  # values below that


def synthesize(
    nest: LoopNest,
    parameters: Mapping[str, int],
    seed: int,
    workdir: Path,
    *,
    cap_bytes: int = DEFAULT_CAP_BYTES,
) -> CapturedNest | CaptureFailed:
    """Random inputs of a nest for given parameter values, without a run.

    Floats lie in [0.5, 1.5). Bounds like `start[i] .. start[i+1]` get rows of 0 to 32 iterations, index arrays
    values within the array they index. Index arrays used in any other way are a failure that names them.
    """
    try:
        return _synthesize(nest, parameters, seed, workdir.absolute(), cap_bytes)
    except (_Refused, ExtentUnknown) as refused:
        return CaptureFailed(nest.name, str(refused))


def _synthesize(
    nest: LoopNest, parameters: Mapping[str, int], seed: int, workdir: Path, cap_bytes: int
) -> CapturedNest:
    values = _values(nest, parameters)
    generator = np.random.default_rng(abs(seed))
    plan = _Plan(with_values(nest, values), values)
    _close_loops(plan, generator)
    touched = Touched(plan.nest, values)
    _limit_indices(plan, touched)
    used = roles(nest)
    workdir.mkdir(parents=True, exist_ok=True)
    arrays, total = [], 0
    for position, array in enumerate(outer_arrays(nest)):
        if array.ctype not in ELEMENT_TYPES:
            raise _Refused(f"{array.name} has elements of type {array.ctype}, which is not supported")
        if array.name in used.index and array.name not in plan.contents and array.name not in plan.limits:
            raise _unfillable(array.name)
        if array.rows:
            found = _rows(plan, touched, array, workdir, seed * 4096 + position, array.name in used.control)
            arrays += found
            total += sum(a.count * element_bytes(a.ctype) for a in found)
            continue
        shape = _shape(plan, touched, array)
        fill = _fill(plan, array, workdir, seed * 4096 + position, array.name in used.control)
        arrays.append(CapturedArray(array.name, array.ctype, shape, fill, 16, 0))
        total += arrays[-1].count * element_bytes(array.ctype)
    if total > cap_bytes:
        raise _Refused(too_large(total, cap_bytes))
    return CapturedNest(nest.name, values, tuple(arrays), (), total)


def _rows(
    plan: _Plan, touched: Touched, array: Array, workdir: Path, stream: int, control: bool
) -> list[CapturedArray]:
    """An array with rows one behind the other, and where they lie."""
    rows = touched.extents(array).rows
    assert rows is not None
    count, width = math.prod(rows.table), element_bytes(array.ctype)
    length = rows.end - rows.first
    places = even_places(rows, array, width, workdir / f"{plan.nest.name}.{rows_name(array.name)}.bin")
    fill = _fill(plan, array, workdir, stream, control)
    return [CapturedArray(array.name, array.ctype, (count * length,), fill, 16, 0), places]


def _values(nest: LoopNest, parameters: Mapping[str, int]) -> dict[str, int]:
    values = {p.name: p.value for p in nest.parameters if p.value is not None}
    values |= {p.name: parameters[p.name] for p in nest.parameters if p.name in parameters}
    missing = [p.name for p in nest.parameters if p.name not in values]
    if missing:
        wanted = " ".join(f"--param {name}=..." for name in missing)
        raise _Refused(f"the file has no main and no value is given for {', '.join(missing)} (use {wanted})")
    if broken := broken_assumption(nest, values):
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise _Refused(f"it is understood only where {broken}, which does not hold for {shown}")
    return values


def _unfillable(array: str) -> _Refused:
    return _Refused(
        f"the values of {array} decide which elements are used, in a way that no values can be made up for;"
        " a main that calls it with real data is needed"
    )


# ---------------------------------------------------------------------------- data-dependent bounds


def _close_loops(plan: _Plan, generator: np.random.Generator) -> None:
    """Fills the arrays that bound loops, and gives those loops the affine range this makes."""
    for loop in loops(plan.nest):
        if not loop.is_opaque:
            continue
        filled = dict(plan.contents)
        for row in _ROWS:
            plan.contents = dict(filled)
            low, high = _bounded(plan, loop, generator, row)
            closed = replace(loop, start=(Affine.constant(low),), stop=(Affine.constant(high),), step=1)
            nest = replace(plan.nest, body=_with_loop(plan.nest.body, closed))
            if _fits(nest, plan.values, loop.name):
                break
        else:
            raise _Refused(f"loop {loop.name} runs past the end of an array whatever its bounds are filled with")
        plan.nest = nest


def _fits(nest: LoopNest, values: Mapping[str, int], loop: str) -> bool:
    """Whether what the loop accesses lies within the arrays whose sizes are declared."""
    touched = Touched(nest, values)
    for array in outer_arrays(nest):
        if array.storage in (Storage.POINTER, Storage.RESTRICT):
            continue
        for dimension, extent in enumerate(array.shape):
            along = [use.access.subscripts[dimension] for _, use in touched.uses(array.name)]
            if extent is None or not any(isinstance(s, Affine) and s.coefficient(loop) for s in along):
                continue
            high = touched.bounds(array, dimension)[1]
            if high is not None and high >= extent.evaluate(values):
                return False
    return True


def _with_loop(nodes: tuple[Node, ...], loop: Loop) -> tuple[Node, ...]:
    """The loop of that name with other bounds."""
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            changed.append(node)
        elif isinstance(node, Loop) and node.name == loop.name:
            changed.append(replace(node, start=loop.start, stop=loop.stop, step=loop.step))
        else:
            changed.append(replace(node, body=_with_loop(node.body, loop)))
    return tuple(changed)


def _bounded(plan: _Plan, loop: Loop, generator: np.random.Generator, row: int) -> tuple[int, int]:
    """The range of the loop's iterator over all rows, which are `row` long on average."""
    start = loop.start if isinstance(loop.start, tuple) else _access(loop.start)
    stop = loop.stop if isinstance(loop.stop, tuple) else _access(loop.stop)
    if isinstance(start, Access) and isinstance(stop, Access) and _is_next(start, stop) and loop.step > 0:
        count = _fillable(plan, stop.array)
        lengths = generator.integers(0, 2 * row + 1, count)
        lengths[0] = 0
        plan.contents[stop.array] = np.cumsum(lengths)
        return 0, max(1, int(plan.contents[stop.array][-1]))
    if isinstance(start, tuple) and len(start) == 1 and start[0].is_constant and isinstance(stop, Access):
        if loop.step > 0 and stop.array not in plan.contents:
            first, count = start[0].const, _fillable(plan, stop.array)
            plan.contents[stop.array] = first + generator.integers(0, 2 * row + 1, count)
            return first, first + 2 * row
        if loop.step > 0:
            return start[0].const, int(plan.contents[stop.array].max())
    culprits = [use.access.array for bound in bounds(loop) for use in reads(bound)]
    raise _unfillable(culprits[0]) if culprits else _Refused(f"the bounds of loop {loop.name} depend on data")


def _access(expression: Expr) -> Access | None:
    """The access whose plain value the expression is."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression.access if isinstance(expression, Read) and expression.access.is_affine else None


def _is_next(start: Access, stop: Access) -> bool:
    """`X[e]` and `X[e + 1]`."""
    if start.array != stop.array or len(start.subscripts) != 1:
        return False
    first, last = start.subscripts[0], stop.subscripts[0]
    return isinstance(first, Affine) and isinstance(last, Affine) and last - first == Affine.constant(1)


def _fillable(plan: _Plan, name: str) -> int:
    """How many elements an array of bounds has."""
    array = plan.nest.array(name)
    written = {a.target.array for a in assignments(plan.nest)}
    if array.storage is Storage.PRIVATE or name in written or name in plan.contents or array.ctype in FLOAT_TYPES:
        raise _unfillable(name)
    count = Touched(plan.nest, plan.values).extents(array).count
    if count is None:
        raise _unfillable(name)
    return count


# ---------------------------------------------------------------------------- data-dependent subscripts


def _limit_indices(plan: _Plan, touched: Touched) -> None:
    """Finds what the values of index arrays must stay below."""
    plain = list(assignments(plan.nest))
    wanted = [(access, dimension, expression) for access, dimension, expression in opaque_subscripts(plan.nest)]
    pending: list[tuple[Expr, int, str]] = []
    for access, dimension, expression in wanted:
        extent = _shape(plan, touched, plan.nest.array(access.array))[dimension]
        names = [use.access.array for use in reads(expression)]
        pending.append((expression, extent, names[0] if names else access.array))
    seen: set[tuple[str, int]] = set()
    while pending:
        expression, extent, culprit = pending.pop()
        while isinstance(expression, Cast):
            expression = expression.operand
        if not isinstance(expression, Read):
            raise _unfillable(next((use.access.array for use in reads(expression)), culprit))
        name = expression.access.array
        if (name, extent) in seen:
            continue
        seen.add((name, extent))
        sources = [a for a in plain if a.target.array == name]
        if name in plan.contents or (sources and plan.nest.array(name).storage is not Storage.PRIVATE):
            raise _unfillable(name)
        if any(a.op != "=" for a in sources):
            raise _unfillable(culprit)
        pending += [(a.value, extent, culprit) for a in sources]
        if not sources:
            plan.limits[name] = min(extent, plan.limits.get(name, extent))


def _shape(plan: _Plan, touched: Touched, array: Array) -> tuple[int, ...]:
    """Concrete extents; an outermost one that only data decides is the largest parameter."""
    if array.name in plan.contents:
        return plan.contents[array.name].shape
    extents = touched.extents(array)
    outer = extents.shape[0] if extents.shape else None
    if extents.shape and outer is None:
        outer = max((touched.bounds(array, 0)[1] or 0) + 1, *plan.values.values(), 1)
    return (outer or 1, *(extent or 1 for extent in extents.shape[1:])) if extents.shape else ()


# ---------------------------------------------------------------------------- contents


def _fill(plan: _Plan, array: Array, workdir: Path, stream: int, control: bool) -> Fill:
    if array.name in plan.contents:
        path, contents = workdir / f"{plan.nest.name}.{array.name}.bin", plan.contents[array.name]
        kind = dtype_of(array.ctype)
        if contents.max() > np.iinfo(kind).max:
            raise _Refused(f"{array.name} is of type {array.ctype}, too small for {contents.max()} iterations")
        path.write_bytes(contents.astype(kind).tobytes())
        return CapturedFill(str(path), 0)
    if array.name in plan.limits:
        return RandomFill(stream, 0, _within(array, plan.limits[array.name]))
    if array.ctype in FLOAT_TYPES:
        return RandomFill(stream, *_FLOATS)
    low, high = _DIVISORS if control else _INTEGERS
    return RandomFill(stream, low, _within(array, high))


def _within(array: Array, limit: int) -> int:
    """An exclusive limit that the element type can hold."""
    kind = known_type(array.ctype)
    return limit if kind.kind == "floating" else min(limit, 2 ** (kind.bits - kind.signed))
