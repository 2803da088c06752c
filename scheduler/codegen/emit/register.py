"""Register blocks: a full block as a fully unrolled micro-kernel on GNU vector types.

The last loop of the block is the vector dimension. Accesses that do not change in the loops around the
block are held in vector variables across them. The operations on each element, and their order, are
those of the scalar code: results are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.text import vector_type
from scheduler.codegen.emit.vectors import Lanes, Places, canonical
from scheduler.codegen.tree.node_algebra import substitute
from scheduler.codegen.tree.nodes import (
    Block,
    CNode,
    For,
    Instance,
    IntExpr,
    Micro,
    Packed,
    Scope,
    Text,
    add,
    with_bodies,
)
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Assign, Expr, Statement
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import action_uses, children

Statements = Mapping[str, Statement]


def expand(
    block: Block, printer: Printer, statements: Statements, vector_bytes: int, fresh: Callable[[str], str]
) -> tuple[CNode, ...] | None:
    """A full block: loads of the accumulators, the loops around the block with a Micro inside, stores.

    None where the block has no such form; its loops are then printed as they are.
    """
    micro = _plan(block, printer, statements, vector_bytes)
    if micro is None:
        return None
    return around(micro, block.body, {p.loop for p in block.points}, printer, statements, fresh)


def around(
    micro: Micro,
    nodes: tuple[CNode, ...],
    points: Collection[str],
    printer: Printer,
    statements: Statements,
    fresh: Callable[[str], str],
) -> tuple[CNode, ...]:
    """The nodes with the micro-kernel in place of the point loops, its accumulators held across them."""
    held: dict[str, tuple[str, int]] = {}
    loads: list[str] = []
    stores: list[str] = []
    wanted: set[str] = set()  # elements that count as accumulated
    for row, column, lanes, statement in _vectors(micro, printer, statements):
        for use in action_uses(statement.body):
            if (statement.name, use.access) not in micro.accumulated:
                continue
            texts = lanes.texts(use.access)
            wanted.update(texts)
            if not use.is_write or texts[0] in held:
                continue
            name = fresh(f"{use.access.array}_{row}{'' if row < 10 > column else '_'}{column}")
            held |= {text: (name, lane) for lane, text in enumerate(texts)}
            loads.append(f"{lanes.vector} {name} = {lanes.load(use.access)[0]};")
            stores += lanes.store(use.access, name)
    micro = replace(micro, held=tuple(held.items()))
    if not wanted <= held.keys():
        micro, loads, stores = replace(micro, held=()), [], []
    return (Text(tuple(loads)), *_with_points(nodes, points, micro), Text(tuple(stores)))


def micro_lines(micro: Micro, printer: Printer, statements: Statements, fresh: Callable[[str], str]) -> list[str]:
    """The statements of one iteration: shared loads first, then the operations."""
    shared: dict[str, str] = {}
    lines: list[str] = []
    uses = [use for i in micro.instances for use in action_uses(statements[i.statement].body)]
    written = frozenset(use.access.array for use in uses if use.is_write)
    for _, _, lanes, statement in _vectors(micro, printer, statements):
        lanes = replace(lanes, loads=shared, written=written, fresh=fresh)
        for action in statement.body:
            assert isinstance(action, Assign)
            lines += lanes.assign(action)
    vector = vector_type(micro.element, micro.lanes)
    return [*(f"const {vector} {name} = {text};" for text, name in shared.items()), *lines]


def _plan(block: Block, printer: Printer, statements: Statements, vector_bytes: int) -> Micro | None:
    sizes = {p.loop: p.extent for p in block.points}
    node = _point_nest(block.body, sizes)
    loops: list[tuple[str, Affine, int]] = []
    while node is not None:
        if isinstance(node, For):
            start, stop = node.start, node.stop
            if not isinstance(start, Affine) or not isinstance(stop, Affine) or node.step != 1:
                return None
            if stop - start != Affine.constant(sizes.get(node.loop, 0)):
                return None
            loops.append((node.var, start, sizes[node.loop]))
        if len(node.body) == 1 and isinstance(node.body[0], For | Scope):
            node = node.body[0]
            continue
        instances = tuple(child for child in node.body if isinstance(child, Instance))
        if len(instances) != len(node.body) or not isinstance(node, For):
            return None
        return typed(Micro(tuple(loops), instances, "", 0, block.accumulated), printer, statements, vector_bytes)
    return None


def _point_nest(nodes: tuple[CNode, ...], sizes: Mapping[str, int]) -> For | Scope | None:
    """The outermost point loop, if only single loops stand around it."""
    while len(nodes) == 1 and isinstance(nodes[0], For | Scope | Packed):
        node = nodes[0]
        if not isinstance(node, Packed) and node.loop in sizes:
            return node
        nodes = node.body
    return None


def typed(micro: Micro, printer: Printer, statements: Statements, vector_bytes: int) -> Micro | None:
    """The micro-kernel with its element type and number of lanes, if every write moves with the vectors."""
    targets = []
    values: list[Expr] = []
    for instance in micro.instances:
        for action in statements[instance.statement].body:
            if not isinstance(action, Assign) or not action.target.is_affine:
                return None
            targets.append(canonical(printer.arrays[action.target.array].ctype))
            values.append(action.value)
    element = targets[0] if targets else ""
    if set(targets) != {element} or vector_type(element, 2) is None:
        return None
    if any(_other_floating(value, element) for value in values):
        return None
    lanes = vector_bytes // (8 if element in ("double", "long") else 4)
    while lanes >= 2 and micro.loops[-1][2] % lanes:
        lanes //= 2
    if lanes < 2:
        return None
    micro = replace(micro, element=element, lanes=lanes)
    for _, _, group, statement in islice(_vectors(micro, printer, statements), len(micro.instances)):
        for use in action_uses(statement.body):
            if use.is_write and group.shape(use.access) == "invariant":
                return None
    return micro


def _other_floating(e: Expr, element: str) -> bool:
    """Whether a floating type other than the element's is computed with.

    Such code stays scalar: gcc 12 drops the rounding of vectors converted to float and back (-O3, AVX-512).
    """
    kind = scalar_type(e.ctype)
    other = kind is not None and kind.kind == "floating" and kind.name != element
    return other or any(_other_floating(child, element) for child in children(e))


def _vectors(micro: Micro, printer: Printer, statements: Statements) -> Iterator[tuple[int, int, Lanes, Statement]]:
    """(row, column, vector of instances, statement) in the order they run."""
    for array, tile in micro.tile:
        printer = printer.with_redirect(array, tile)
    outer = micro.loops[:-1]
    variable, first, extent = micro.loops[-1]
    held = dict(micro.held)
    places: Places = {}
    for row, offsets in enumerate(product(*(range(size) for _, _, size in outer))):
        base: dict[str, IntExpr] = {name: start + o for (name, start, _), o in zip(outer, offsets, strict=True)}
        for column, offset in enumerate(range(0, extent, micro.lanes)):
            for instance in micro.instances:
                printers = []
                for lane in range(micro.lanes):
                    point = base | {variable: add(first, Affine.constant(offset + lane))}
                    values = {name: substitute(value, point) for name, value in instance.values}
                    printers.append(replace(printer, values=values))
                lanes = Lanes(tuple(printers), micro.element, held, places=places)
                yield row, column, lanes, statements[instance.statement]


def _with_points(nodes: tuple[CNode, ...], points: Collection[str], micro: Micro) -> tuple[CNode, ...]:
    node = nodes[0] if nodes else None
    if node is None or (isinstance(node, For | Scope) and node.loop in points):
        return (micro,)
    return (with_bodies(node, lambda inner: _with_points(inner, points, micro)),)
