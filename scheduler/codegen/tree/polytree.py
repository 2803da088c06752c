"""A loop tree as an isl schedule: domains, time maps and AST generation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import islpy as isl

from scheduler.codegen.tree.places import is_aligned, places, tiled_row, time_name, wavefront_grain
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Expr, Loop, Name, Read
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, statements_below
from scheduler.ir.walk import AccessUse, children
from scheduler.polyhedral.model import Model, affine_text, isl_name

Loops = tuple[TreeLoop, ...]
UNIT = "__unit_"


@dataclass(frozen=True, slots=True)
class _Unit:
    """What an AST statement stands for: a statement of the nest, or the body of the last of some loops.

    `blocks`: further dimensions that are numbers of blocks.
    """

    text: str
    statement: str
    loops: tuple[str, ...] = ()
    blocks: Mapping[FloorDiv, str] = field(default_factory=dict)


def _in_times(bound: Affine, blocks: Mapping[FloorDiv, str]) -> Affine:
    """The bound with the times of blocks in place of their numbers."""
    terms = [
        (blocks[atom], factor // atom.denominator)
        if isinstance(atom, FloorDiv) and atom in blocks and factor % atom.denominator == 0
        else (atom, factor)
        for atom, factor in bound.terms
    ]
    return Affine.build(terms, bound.const)


def expression_names(expr: Expr) -> Iterator[str]:
    """Iterators and parameters an expression mentions, also in subscripts."""
    if isinstance(expr, Name):
        yield expr.name
    if isinstance(expr, Read):
        for subscript in expr.access.subscripts:
            if isinstance(subscript, Affine):
                yield from subscript.names()
            else:
                yield from expression_names(subscript)
    for child in children(expr):
        yield from expression_names(child)


class PolyTree:
    """The isl view of one scheduled tree."""

    def __init__(self, model: Model, tree: tuple[TreeNode, ...]) -> None:
        self.model = model
        self.tree = tree
        self.by_name = {place.loop.name: place for place in places(tree)}
        self.grains: dict[str, int] = {}  # loops whose iterations isl's AST counts in multiples of these
        self.opaque: dict[str, Loop] = {}
        for placed in model.placed.values():
            for loop in placed.loops:
                if loop.is_opaque:
                    if abs(loop.step) != 1:
                        raise CodegenUnsupported(f"loop {loop.name} has data-dependent bounds and a step other than 1")
                    self.opaque[loop.name] = loop
        self.names = {isl_name(p): p for p in model.parameter_names()}
        self._times = [time_name(name) for name in self.by_name]
        self._domains: dict[str, isl.Set] = {}

    # --------------------------------------------------------------------------------- sets

    def prefix(self) -> str:
        """Parameters of the nest, opaque bounds, and a time parameter for every tree loop."""
        names = [isl_name(n) for n in self.model.parameter_names()]
        names += [f"__{side}_{p}" for p in self.opaque for side in ("lo", "hi")]
        return f"[{', '.join([*names, *self._times])}] -> "

    def read_set(self, text: str) -> isl.Set:
        return isl.Set.read_from_str(self.model.context, self.prefix() + text)

    def read_map(self, text: str) -> isl.Map:
        return isl.Map.read_from_str(self.model.context, self.prefix() + text)

    def context(self) -> isl.Set:
        """What holds around the nest; data-dependent loops count as non-empty (see `empty_loops`)."""
        parts = [self.model.context_text()]
        for name, loop in self.opaque.items():
            parts.append(f"__lo_{name} {'<' if loop.step > 0 else '>'} __hi_{name}")
        return self.read_set(f"{{ : {' and '.join(parts)} }}").params()

    def domain(self, statement: str) -> isl.Set:
        if statement not in self._domains:
            domain = self.model.domain(statement, "parameters")
            self._domains[statement] = domain.align_params(self.context().get_space())
        return self._domains[statement]

    def row_text(self, statement: str, loop: TreeLoop) -> str:
        return affine_text(loop.row(statement))

    def at(self, statement: str, outer: Iterable[TreeLoop]) -> isl.Set:
        """The statement's iterations in the current iteration of the loops `outer` (their time parameters).

        That a tile loop only stands at multiples of its size is left out (see `strides`) where all its statements keep
        to that: the condition is the same then, and isl's answers are simpler.
        """
        conditions = []
        blocks: dict[FloorDiv, str] = {}  # times of blocks, which bounds may speak of
        for loop in outer:
            inner = tiled_row(loop, statement)
            if inner is not None and is_aligned(loop):
                time = time_name(loop.name)
                conditions.append(f"{time} <= {affine_text(inner)} < {time} + {loop.tile}")
                blocks[FloorDiv(inner, loop.tile)] = time
            else:
                conditions.append(f"{self.row_text(statement, loop)} = {time_name(loop.name)}")
        if not conditions:
            return self.domain(statement)
        text = self.model.tuple_text(statement)
        inside = self.read_set(f"{{ {text} : {' and '.join(conditions)} }}")
        if not any(block in self._blocks_of(statement) for block in blocks):
            return self.domain(statement).intersect(inside)
        spelled = self.model.domain_text(statement, "", "parameters", lambda bound: _in_times(bound, blocks))
        return self.read_set(f"{{ {text} : {spelled} }}").intersect(inside)

    def touched(self, statement: str, use: AccessUse, outer: Iterable[TreeLoop]) -> isl.Set:
        """The elements of an access in the current iteration of the loops `outer`."""
        subscripts = self.model.subscripts(statement, use, "parameters")
        return self.at(statement, outer).apply(subscripts.align_params(self.context().get_space()))

    def _blocks_of(self, statement: str) -> frozenset[FloorDiv]:
        """The blocks that bounds around a statement speak of."""
        bounds = [b for loop in self.model.placed[statement].loops for b in (loop.start, loop.stop)]
        parts = [part for bound in bounds if isinstance(bound, tuple) for part in bound]
        return frozenset(atom for part in parts for atom, _ in part.terms if isinstance(atom, FloorDiv))

    def strides(self, outer: Iterable[TreeLoop]) -> isl.Set:
        """That the times of tile loops are multiples of their sizes."""
        parts = [f"{time_name(loop.name)} mod {loop.tile} = 0" for loop in outer if is_aligned(loop)]
        return self.read_set(f"{{ : {' and '.join(parts) or '0 = 0'} }}").params()

    def time_map(self, statement: str, loops: Iterable[TreeLoop]) -> isl.Map:
        """S[i, j] -> [rows of the loops]."""
        rows = ", ".join(self.row_text(statement, loop) for loop in loops)
        return self.read_map(f"{{ {self.model.tuple_text(statement)} -> [{rows}] }}")

    def only_time(self, path: Loops) -> isl.PwAff | None:
        """The time of the last loop where the outer ones allow just one."""
        times: isl.Set | None = None
        for statement in statements_below(path[-1]):
            part = self.at(statement, path[:-1]).apply(self.time_map(statement, path[-1:]))
            times = part if times is None else times.union(part)
        assert times is not None
        low: isl.PwAff = times.dim_min(0)
        return low if low.is_equal(times.dim_max(0)) else None

    def reached(self, outer: tuple[TreeLoop, ...]) -> isl.Set:
        """[t0, t1, …]: the iterations of the loops `outer` in which any statement below the last runs."""
        total: isl.Set | None = None
        for statement in statements_below(outer[-1]):
            part = self.domain(statement).apply(self._blocked_times(statement, outer))
            total = part if total is None else total.union(part)
        assert total is not None
        return total.coalesce()

    def _blocked_times(self, statement: str, loops: Loops) -> isl.Map:
        """S[i, j] -> [rows of the loops], with conditions in place of floors: isl projects those faster."""
        dims = [f"__d{k}" for k in range(len(loops))]
        conditions = []
        for dim, loop in zip(dims, loops, strict=True):
            inner = tiled_row(loop, statement)
            if inner is None:
                conditions.append(f"{dim} = {self.row_text(statement, loop)}")
            else:
                conditions.append(f"{dim} mod {loop.tile} = 0 and {dim} <= {affine_text(inner)} < {dim} + {loop.tile}")
        condition = " and ".join(conditions) or "0 = 0"
        return self.read_map(f"{{ {self.model.tuple_text(statement)} -> [{', '.join(dims)}] : {condition} }}")

    # ---------------------------------------------------------------------------- generation

    def generate(
        self,
        nodes: tuple[TreeNode, ...],
        outer: tuple[TreeLoop, ...] = (),
        known: isl.Set | None = None,
        units: Collection[str] = (),
    ) -> isl.AstNode:
        """The isl AST of the nodes inside the loops `outer`, whose iterations are time parameters.

        The bodies of the loops `units` become single statements `__unit_<loop>(iterations of its loops)`. The AST
        counts the loops in `grains` in multiples of their grains: bounds of a sum of blocks of the tile's own size
        take isl seconds, those of a sum of their numbers hundredths of one.
        """
        for place in places(nodes):
            grain = wavefront_grain(place.loop)
            if grain > 1 and not any(below.loop.name in units for below in places((place.loop,))):
                self.grains[place.loop.name] = grain
        schedule = self._sequence(nodes, outer, outer, units)[0]
        context = self.context() if known is None else self.context().intersect(known)
        build = isl.AstBuild.from_context(context.coalesce())
        return build.node_from_schedule(schedule)

    def _sequence(
        self, nodes: tuple[TreeNode, ...], outer: Loops, path: Loops, units: Collection[str]
    ) -> tuple[isl.Schedule, tuple[_Unit, ...]]:
        result, below = self._schedule(nodes[0], outer, path, units)
        for node in nodes[1:]:
            schedule, more = self._schedule(node, outer, path, units)
            result, below = result.sequence(schedule), (*below, *more)
        return result, below

    def _schedule(
        self, node: TreeNode, outer: Loops, path: Loops, units: Collection[str]
    ) -> tuple[isl.Schedule, tuple[_Unit, ...]]:
        if isinstance(node, Leaf):
            domain, unit = self._leaf(node.statement, outer, path)
            return isl.Schedule.from_domain(isl.UnionSet.from_set(domain)), (unit,)
        path = (*path, node)
        if node.name in units:
            name = f"{UNIT}{node.name}"
            reached = self.reached(path).set_tuple_name(name)
            dims = ", ".join(f"__d{k}" for k in range(len(path)))
            inner = isl.Schedule.from_domain(isl.UnionSet.from_set(reached))
            below: tuple[_Unit, ...] = (_Unit(f"{name}[{dims}]", "", tuple(loop.name for loop in path)),)
        else:
            inner, below = self._sequence(node.children, outer, path, units)
        rows = "; ".join(f"{u.text} -> [({self._unit_row(u, node)})]" for u in below)
        band = isl.MultiUnionPwAff.read_from_str(self.model.context, f"{self.prefix()}[{{ {rows} }}]")
        schedule = inner.insert_partial_schedule(band)
        top = schedule.get_root().child(0)
        kind = self._loop_type(node)
        if kind is not None:
            top = top.band_member_set_ast_loop_type(0, kind)
        mark = isl.Id(node.name, context=self.model.context)
        return top.insert_mark(mark).get_schedule(), below

    def _leaf(self, statement: str, outer: Loops, path: Loops) -> tuple[isl.Set, _Unit]:
        """A statement's iterations; the numbers of the blocks that wavefronts add up are further dimensions."""
        domain, text = self.at(statement, outer), self.model.tuple_text(statement)
        rows = [loop.row(statement) for loop in path[len(outer) :] if loop.name in self.grains]
        atoms = dict.fromkeys(atom for row in rows for atom, _ in row.terms if isinstance(atom, FloorDiv))
        if not atoms:
            return domain, _Unit(text, statement)
        blocks = {atom: f"__b{k}" for k, atom in enumerate(atoms)}
        wide = f"{text.removesuffix(']')}{''.join(f', {name}' for name in blocks.values())}]"
        conditions = " and ".join(
            f"0 <= {affine_text(atom.numerator)} - {atom.denominator}*{name} < {atom.denominator}"
            for atom, name in blocks.items()
        )
        return domain.apply(self.read_map(f"{{ {text} -> {wide} : {conditions} }}")), _Unit(wide, statement, (), blocks)

    def _unit_row(self, unit: _Unit, loop: TreeLoop) -> str:
        if not unit.statement:
            return f"__d{unit.loops.index(loop.name)}"
        grain = self.grains.get(loop.name)
        if grain is None:
            return self.row_text(unit.statement, loop)
        row = loop.row(unit.statement)
        numbers = [f"{factor // grain}*{unit.blocks[atom]}" for atom, factor in row.terms if isinstance(atom, FloorDiv)]
        return " + ".join([*numbers, str(row.const // grain)])

    @staticmethod
    def _loop_type(loop: TreeLoop) -> isl.ast_loop_type | None:
        """Innermost loops of several statements are split where their bounds differ, tile loops never."""
        if loop.tile or loop.packs:
            return isl.ast_loop_type.atomic
        leaves = all(isinstance(child, Leaf) for child in loop.children)
        if leaves and len(loop.children) > 1:
            return isl.ast_loop_type.separate
        return None
