"""Blocks of loops that run with constant extents: register blocks and unroll-and-jam.

Around such a block the code tests once per block whether it is full, that is whether every point of the
box belongs to the domain in every iteration of the loops in between. Full blocks are generated with
that knowledge, the others by the loops as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from scheduler.codegen.tree.ast import Walker
from scheduler.codegen.tree.nodes import Block, BlockPoint, Branch, CNode, IntExpr
from scheduler.codegen.tree.places import tiled_row, time_name
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.ir.nest import Access
from scheduler.ir.tree import Leaf, RegisterMark, TreeLoop, statements_below
from scheduler.polyhedral.model import isl_name


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """`outer` ends with the root, the innermost loop outside; `middle` are the loops between it and the points."""

    outer: tuple[TreeLoop, ...]
    middle: tuple[TreeLoop, ...]
    points: tuple[tuple[TreeLoop, TreeLoop, int], ...]  # point loop, its block loop, extent
    register: RegisterMark | None

    @property
    def root(self) -> TreeLoop:
        return self.outer[-1]


def find_groups(poly: PolyTree) -> dict[str, BlockGroup]:
    """Root loop -> the block in it, for every innermost perfect chain that has one."""
    groups: dict[str, BlockGroup] = {}
    for place in poly.by_name.values():
        if not all(isinstance(child, Leaf) for child in place.loop.children):
            continue
        path = place.path
        marks = [loop.register for loop in path if loop.register is not None]
        names = {name for mark in marks for name in mark.loops}
        points = []
        for position, loop in enumerate(path):
            if loop.name in names or loop.unroll == 0:
                found = _block_loop(loop, path[:position])
                if found is not None:
                    points.append((loop, *found))
        if not points:
            continue
        root = max(path.index(block) for _, block, _ in points)
        first = min(path.index(point) for point, _, _ in points)
        perfect = all(len(loop.children) == 1 for loop in path[root:-1])
        if first <= root or not perfect:
            continue
        inside = {point.name for point, _, _ in points}
        middle = tuple(loop for loop in path[root + 1 :] if loop.name not in inside)
        groups[path[root].name] = BlockGroup(path[: root + 1], middle, tuple(points), marks[0] if marks else None)
    return groups


def _block_loop(loop: TreeLoop, above: tuple[TreeLoop, ...]) -> tuple[TreeLoop, int] | None:
    """The loop over the blocks of a point loop, and the block's size."""
    for outer in reversed(above):
        if outer.tile and all(tiled_row(outer, s) == row for s, row in loop.rows):
            return outer, outer.tile
        if not outer.tile and outer.rows == loop.rows:
            return outer, 1
    return None


def _shared(loops: tuple[TreeLoop, ...]) -> bool:
    """Whether iterations run beside each other, which would all have the same accumulators."""
    return any(loop.parallel is not None for loop in loops)


class BlockMaker:
    """Makes the code of a root loop's body: `if (full) { block } else { loops }`."""

    def __init__(self, poly: PolyTree, variables: dict[str, str], groups: dict[str, BlockGroup]) -> None:
        self.poly = poly
        self.walker = Walker(poly, variables)
        self.groups = groups

    def unit(self, root: str, times: tuple[IntExpr, ...]) -> tuple[CNode, ...]:
        group = self.groups[root]
        env: dict[str, IntExpr] = {time_name(loop.name): value for loop, value in zip(group.outer, times, strict=True)}
        reached, anywhere = self._full(group)
        context = reached.intersect(self.poly.strides(group.outer)).intersect(self.poly.context())
        generic = self._code(group, context, env)
        if context.intersect(anywhere).is_empty() or (group.register is not None and _shared(group.middle)):
            return generic
        block = self._code(group, context.intersect(anywhere), env)
        if group.register is not None:
            points = tuple(
                BlockPoint(point.name, size, env[time_name(block.name)]) for point, block, size in group.points
            )
            accumulated, independent = self._accumulated(group, context)
            block = (Block(points, accumulated, True, independent, block, group.register.vector_bytes),)
            generic = (Block(points, accumulated, False, independent, generic, group.register.vector_bytes),)
        if context.is_subset(anywhere):
            return block
        build = isl.AstBuild.from_context(context)
        condition = self.walker.expr(build.expr_from_set(anywhere.gist(context)), env)
        return (Branch(condition, block, generic),)

    def _code(self, group: BlockGroup, known: isl.Set, env: dict[str, IntExpr]) -> tuple[CNode, ...]:
        return self.walker.nodes(self.poly.generate(group.root.children, group.outer, known), env)

    def _times(self, statement: str, group: BlockGroup) -> isl.Map:
        """S[…] -> [middle loops, point loops], in the current iteration of the outer loops."""
        loops = (*group.middle, *(point for point, _, _ in group.points))
        return self.poly.time_map(statement, loops).intersect_domain(self.poly.at(statement, group.outer))

    def _full(self, group: BlockGroup) -> tuple[isl.Set, isl.Set]:
        """Conditions on the outer loops' times: (any point of the block runs, every one does)."""
        first, count = len(group.middle), len(group.points)
        dims = [f"__x{k}" for k in range(first + count)]
        box = self.poly.read_set(
            f"{{ [{', '.join(dims)}] : "
            + " and ".join(
                f"{time_name(block.name)} <= {dims[first + k]} < {time_name(block.name)} + {size}"
                for k, (_, block, size) in enumerate(group.points)
            )
            + " }"
        )
        domains = [self._times(s, group).range() for s in statements_below(group.root)]
        union = domains[0]
        for domain in domains[1:]:
            union = union.union(domain)
        middle = union.project_out(isl.dim_type.set, first, count).insert_dims(isl.dim_type.set, first, count)
        wanted = middle.intersect(box)
        reached = union.params().coalesce()
        full = reached
        for domain in domains:
            full = full.subtract(wanted.subtract(domain).params())
        return reached, full.coalesce()

    def _accumulated(self, group: BlockGroup, known: isl.Set) -> tuple[tuple[tuple[str, Access], ...], bool]:
        """Accesses of written arrays that depend on the point loops only, apart from all other accesses.

        Also whether these are all the writes, each point with elements of its own: then the points are
        independent of each other.
        """
        uses = [(s, use) for s in statements_below(group.root) for use in self.poly.model.uses(s)]
        maps: dict[tuple[str, Access], isl.Map] = {}
        for statement, use in uses:
            if use.access.is_affine and (statement, use.access) not in maps:
                maps[statement, use.access] = self._elements(statement, use.access, group).intersect_params(known)
        found: list[tuple[str, Access]] = []
        independent = True
        for array in sorted({use.access.array for _, use in uses if use.is_write}):
            mine = list(dict.fromkeys((s, use.access) for s, use in uses if use.access.array == array))
            held = {(s, u.access) for s, u in uses if u.is_write and u.access.array == array}
            keep = None
            if all(access.is_affine and access.subscripts for _, access in mine):
                per_point = [self._per_point(maps[key], group) for key in held]
                if all(elements.is_single_valued() for elements in per_point):
                    keep = self._separate(mine, held, maps)
                    independent &= len(held) == 1 and all(elements.is_injective() for elements in per_point)
            independent &= keep is not None
            found += keep or []
        return tuple(found), independent

    @staticmethod
    def _separate(
        mine: list[tuple[str, Access]], held: set[tuple[str, Access]], maps: dict[tuple[str, Access], isl.Map]
    ) -> list[tuple[str, Access]] | None:
        """The accesses that are one of `held`, if all the others touch other elements."""
        keep: list[tuple[str, Access]] = []
        for key in mine:
            if key in held or any(maps[key].is_equal(maps[other]) for other in held):
                keep.append(key)
        touched = [maps[key].range() for key in keep]
        for key in mine:
            if key not in keep and any(not maps[key].range().intersect(t).is_empty() for t in touched):
                return None
        for k, one in enumerate(keep):
            for other in keep[k + 1 :]:
                same = maps[one].is_equal(maps[other])
                if not same and not maps[one].range().intersect(maps[other].range()).is_empty():
                    return None
        return keep

    def _elements(self, statement: str, access: Access, group: BlockGroup) -> isl.Map:
        """[middle loops, point loops] -> element."""
        model = self.poly.model
        use = next(u for u in model.uses(statement) if u.access == access)
        relation = model.subscripts(statement, use, "parameters").align_params(self.poly.context().get_space())
        relation = relation.set_tuple_name(isl.dim_type.out, isl_name(access.array))
        return self._times(statement, group).reverse().apply_range(relation)

    @staticmethod
    def _per_point(elements: isl.Map, group: BlockGroup) -> isl.Map:
        """[point loops] -> element."""
        return elements.project_out(isl.dim_type.in_, 0, len(group.middle))
