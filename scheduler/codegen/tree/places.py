"""Where a loop of the tree stands: its path, the rows of its tiles, whether blocks are aligned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.tree import TreeLoop, TreeNode


def time_name(loop: str) -> str:
    """The isl parameter that stands for the current iteration of an outer tree loop."""
    return f"__t_{loop}"


@dataclass(frozen=True, slots=True)
class Place:
    """A tree loop with the loops around it, outermost first (itself last)."""

    path: tuple[TreeLoop, ...]

    @property
    def loop(self) -> TreeLoop:
        return self.path[-1]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(loop.name for loop in self.path)


def places(nodes: tuple[TreeNode, ...], above: tuple[TreeLoop, ...] = ()) -> Iterator[Place]:
    for node in nodes:
        if isinstance(node, TreeLoop):
            yield Place((*above, node))
            yield from places(node.children, (*above, node))


def tiled_row(loop: TreeLoop, statement: str) -> Affine | None:
    """r, where the loop steps over blocks of r: its row is tile * floor(r / tile)."""
    row = loop.row(statement)
    if loop.tile and len(row.terms) == 1 and not row.const:
        floor, factor = row.terms[0]
        if isinstance(floor, FloorDiv) and floor.denominator == loop.tile == factor:
            return floor.numerator
    return None


def is_aligned(loop: TreeLoop) -> bool:
    """Whether the loop only stands at multiples of its tile size."""
    return bool(loop.tile) and all(tiled_row(loop, statement) is not None for statement, _ in loop.rows)


def wavefront_grain(loop: TreeLoop) -> int:
    """What all times of a loop over sums of blocks (a tile loop skewed by another) are multiples of; else 1."""
    rows = [row for _, row in loop.rows]
    sums = any(len(row.terms) > 1 for row in rows)
    if not loop.tile or not sums or not all(isinstance(atom, FloorDiv) for row in rows for atom, _ in row.terms):
        return 1
    return gcd(*(row.const for row in rows), *(factor for row in rows for _, factor in row.terms))
