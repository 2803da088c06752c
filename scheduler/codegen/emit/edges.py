"""Partial register blocks, at the edges of a domain.

Where everything the block reads lies in packed panels (which are filled up with zeros), the full
micro-kernel runs on a copy of the accumulators' block. Otherwise each row runs on short vectors, with
single elements at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.original import ALIGNED
from scheduler.codegen.emit.pack_text import Buffer
from scheduler.codegen.emit.register import Statements, around, typed
from scheduler.codegen.tree.node_algebra import names_of, substitute
from scheduler.codegen.tree.nodes import (
    Block,
    CNode,
    For,
    Instance,
    IntExpr,
    IntOp,
    Micro,
    Scope,
    Text,
    Tile,
    add,
    scale,
)
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.ir.walk import action_uses

Fresh = Callable[[str], str]


class _Nest:
    """A perfect chain: loops around the block, point loops, instances; the bounds of the two do not mix."""

    def __init__(self, block: Block) -> None:
        extents = {p.loop: p for p in block.points}
        self.middle: list[For | Scope] = []
        self.points: list[For] = []
        self.valid = False
        nodes = block.body
        while len(nodes) == 1 and isinstance(nodes[0], For | Scope):
            node = nodes[0]
            if node.loop not in extents:
                self.middle.append(node)
                if self.points:
                    return
            elif isinstance(node, For):
                self.points.append(node)
            else:
                return
            nodes = node.body
        self.instances = tuple(n for n in nodes if isinstance(n, Instance))
        if len(self.instances) != len(nodes) or not self.points:
            return
        variables = {n.var for n in (*self.middle, *self.points) if isinstance(n, For)}
        bounds = [b for n in (*self.middle, *self.points) if isinstance(n, For) for b in (n.start, n.stop)]
        point_variables = {n.var for n in self.points}
        point_bounds = [b for n in self.points for b in (n.start, n.stop)]
        middle_bounds = [b for b in bounds if b not in point_bounds]
        self.valid = (
            not any(names_of(b) & variables for b in point_bounds)
            and not any(names_of(b) & point_variables for b in middle_bounds)
            and all(n.step == 1 for n in self.points)
            and len(self.points) == len(block.points)
        )
        self.origins = [extents[n.loop].origin for n in self.points]
        self.extents = [extents[n.loop].extent for n in self.points]

    def around(self, inner: tuple[CNode, ...]) -> tuple[CNode, ...]:
        """The loops around the block with another body."""
        for node in reversed(self.middle):
            inner = (replace(node, body=inner),)
        return inner

    def over_points(self, inner: tuple[CNode, ...]) -> tuple[CNode, ...]:
        for node in reversed(self.points):
            inner = (replace(node, body=inner),)
        return inner


def expand_partial(
    block: Block, printer: Printer, statements: Statements, vector_bytes: int, fresh: Fresh
) -> tuple[CNode, ...] | None:
    """The code of a partial block; None where only its loops will do."""
    nest = _Nest(block)
    if not nest.valid:
        return None
    return _on_copy(block, nest, printer, statements, vector_bytes, fresh) or _by_rows(
        block, nest, printer, statements, vector_bytes, fresh
    )


# ------------------------------------------------------------------------------ on a copy of the block


def _on_copy(
    block: Block, nest: _Nest, printer: Printer, statements: Statements, vector_bytes: int, fresh: Fresh
) -> tuple[CNode, ...] | None:
    origins = [o for o in nest.origins if isinstance(o, Affine)]
    if len(origins) != len(nest.origins):
        return None
    loops = tuple((n.var, o, e) for n, o, e in zip(nest.points, origins, nest.extents, strict=True))
    micro = Micro(loops, nest.instances, "", 0, block.accumulated)
    tiles: dict[str, tuple[Tile, Access, Instance]] = {}
    for instance in nest.instances:
        for use in action_uses(statements[instance.statement].body):
            if (instance.statement, use.access) in block.accumulated:
                tile = _tile(use.access, instance, nest, printer, fresh)
                known = tiles.get(use.access.array)
                if tile is None or (known is not None and known[0].origin != tile.origin):
                    return None
                if known is None:
                    tiles[use.access.array] = (tile, use.access, instance)
            elif use.is_write or not _in_panels(use.access, instance, nest, printer):
                return None
    if any(use_array in tiles for use_array in _other_arrays(block, nest, statements)):
        return None
    tiled = replace(micro, tile=tuple((name, tile) for name, (tile, _, _) in tiles.items()))
    ready = typed(tiled, printer, statements, vector_bytes)
    if ready is None or not tiles:
        return None
    first: list[str] = []
    copies: list[tuple[str, str]] = []
    sizes = dict(zip((n.var for n in nest.points), nest.extents, strict=True))
    for tile, access, instance in tiles.values():
        extents = [sizes[_moving(access, instance, nest, printer)[d]] for d in tile.dims]
        braces = "{" * len(extents) + "0" + "}" * len(extents)
        first.append(f"{tile.ctype} {tile.name}" + "".join(f"[{e}]" for e in extents) + f"{ALIGNED} = {braces};")
        here = replace(printer, values=dict(instance.values))
        there = here.with_redirect(access.array, tile)
        copies.append((there.access(access), here.access(access)))
    kernel = around(ready, nest.around(()), (), printer, statements, fresh)
    return (
        Text(tuple(first)),
        *nest.over_points((Text(tuple(f"{to} = {of};" for to, of in copies)),)),
        *kernel,
        *nest.over_points((Text(tuple(f"{of} = {to};" for to, of in copies)),)),
    )


def _other_arrays(block: Block, nest: _Nest, statements: Statements) -> set[str]:
    """Arrays accessed otherwise than as accumulators."""
    return {
        use.access.array
        for instance in nest.instances
        for use in action_uses(statements[instance.statement].body)
        if (instance.statement, use.access) not in block.accumulated
    }


def _subscripts(
    access: Access, instance: Instance, nest: _Nest, printer: Printer, offsets: tuple[int, ...]
) -> tuple[IntExpr, ...]:
    """Where the access goes at a point of the block, given by its distance from the block's start."""
    point = {n.var: add(o, Affine.constant(k)) for n, o, k in zip(nest.points, nest.origins, offsets, strict=True)}
    values = {name: substitute(value, point) for name, value in instance.values}
    return replace(printer, values=values).index(access)


def _moving(access: Access, instance: Instance, nest: _Nest, printer: Printer) -> dict[int, str]:
    """Subscript -> the point loop's variable it moves with one by one; empty where it is not that simple."""
    count = len(nest.points)
    zero = _subscripts(access, instance, nest, printer, (0,) * count)
    found: dict[int, str] = {}
    for k, node in enumerate(nest.points):
        step = _subscripts(access, instance, nest, printer, tuple(int(k == p) for p in range(count)))
        moved = [d for d, (a, b) in enumerate(zip(zero, step, strict=True)) if a != b]
        if len(moved) != 1 or moved[0] in found or step[moved[0]] != add(zero[moved[0]], Affine.constant(1)):
            return {}
        found[moved[0]] = node.var
    return found


def _tile(access: Access, instance: Instance, nest: _Nest, printer: Printer, fresh: Fresh) -> Tile | None:
    moving = _moving(access, instance, nest, printer)
    array = printer.arrays[access.array]
    if not moving or printer.dropped.get(access.array, 0):
        return None
    origin = _subscripts(access, instance, nest, printer, (0,) * len(nest.points))
    return Tile(fresh(f"{access.array}_edge"), array.ctype, tuple(sorted(moving)), origin)


def _in_panels(access: Access, instance: Instance, nest: _Nest, printer: Printer) -> bool:
    """Whether every point of a full block reads an element that exists: the same one, or one of a packed panel.

    Subscripts are affine, and the number of a panel grows with them: the corners speak for all points.
    """
    if not access.is_affine:
        return False
    buffer = printer.redirection(access)
    places = [
        _subscripts(access, instance, nest, printer, corner) for corner in product(*((0, e - 1) for e in nest.extents))
    ]
    if all(place == places[0] for place in places):
        return True
    if not isinstance(buffer, Buffer) or not buffer.mark.panel:
        return False
    return all(
        place[:-1] == places[0][:-1] and isinstance(place[-1], Affine) and place[-1].is_constant for place in places
    )


# --------------------------------------------------------------------------------------- row by row


def _by_rows(
    block: Block, nest: _Nest, printer: Printer, statements: Statements, vector_bytes: int, fresh: Fresh
) -> tuple[CNode, ...] | None:
    """Each row of the block with vectors that need not fill it, then its last elements one by one."""
    if not block.independent:
        return None
    inner = nest.points[-1]
    variable = Affine.of(inner.var)
    micro = Micro(((inner.var, variable, nest.extents[-1]),), nest.instances, "", 0, block.accumulated)
    ready = typed(micro, printer, statements, vector_bytes)
    if ready is None:
        return None
    ready = replace(ready, loops=((inner.var, variable, ready.lanes),))
    width = Affine.constant(ready.lanes)
    rest = IntOp("%", (add(inner.stop, scale(inner.start, -1)), width))
    vectors = replace(
        inner,
        stop=add(inner.stop, Affine.constant(1 - ready.lanes)),
        step=ready.lanes,
        body=around(ready, nest.around(()), (), printer, statements, fresh),
    )
    single = replace(inner, start=add(inner.stop, scale(rest, -1)), body=nest.around(nest.instances))
    rows: tuple[CNode, ...] = (vectors, single)
    for node in reversed(nest.points[:-1]):
        rows = (replace(node, body=rows),)
    return rows
