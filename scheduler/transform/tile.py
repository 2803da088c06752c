"""Tile: `for i { for j {…} }` becomes `for i_t { for j_t { for i in block { for j in block {…} } } }`.

A tile loop's row is size * floor(row / size), so that its variable counts in the units of the loop it
blocks. Loops of the chain that are not named stay outside the blocks where they stood (Halide `tile`,
TVM `split` + `reorder`, Pluto tiling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.transform.common import Tree, chain_of, clear_marks, fresh_name, listed, nest_chain, with_rows
from scheduler.transform.parallelize import Parallelize
from scheduler.transform.skew import Skew
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching, Unmatched


@dataclass(frozen=True, slots=True)
class Tile:
    """Blocks a perfectly nested chain of loops; tile loops are named `i_t` and stand outside in the same order."""

    keyword: ClassVar[str] = "tile"
    loops: tuple[str, ...]
    sizes: tuple[int, ...]

    def apply(self, tree: Tree) -> Tree:
        if len(self.loops) != len(self.sizes):
            raise NotApplicable(f"{len(self.loops)} loops but {len(self.sizes)} sizes")
        if any(size < 2 for size in self.sizes):
            raise NotApplicable("a tile size must be at least 2")
        loops = chain_of(tree, self.loops)
        if any(loop.register for loop in loops):
            raise NotApplicable("tile before register blocking")
        body = loops[-1].children
        sizes = dict(zip(self.loops, self.sizes, strict=True))
        outside: list[TreeLoop] = []
        points: list[TreeLoop] = []
        taken: frozenset[str] = frozenset()
        for loop in loops:
            if loop.name in sizes:
                tile = tile_loop(tree, loop, sizes[loop.name], "t", taken)
                taken |= {tile.name}
                outside.append(tile)
                points.append(replace(loop, parallel=None))
            else:
                outside.append(loop)
        return replace_loop(tree, self.loops[0], (nest_chain((*outside, *points), body),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """The loops that have partners, their tile as large a share of the same cache.

        Raises Unmatched, NoCounterpart.
        """
        given = dict(zip(self.loops, self.sizes, strict=False))
        pairs = tuple(p for name in given if (p := matching.loops.get(name)))
        if not pairs:
            raise Unmatched(f"no loop of the target stands for {', '.join(self.loops)}")
        wanted = {pair.target: given[pair.donor] for pair in pairs}
        if any(matching.loop(name).tile for name in wanted):
            raise NoCounterpart("its loops are tiles already")
        waves = any(isinstance(later, Skew) and later.outer not in given for later in matching.rest)
        parallel = {later.loop for later in matching.rest if isinstance(later, Parallelize)}
        split = {pair.target for pair in pairs if f"{pair.donor}_t" in parallel}
        sizes = matching.tile_sizes(given, wanted, waves, split)
        if not sizes:
            raise NoCounterpart(f"{', '.join(wanted)} are too short to be tiled")
        names = matching.order(tuple(sizes))
        missing = [n for n in given if n not in matching.loops] + [n for n in wanted if n not in sizes]
        adapted = (Tile(names, tuple(sizes[n] for n in names)),)
        literal = (Tile(names, tuple(wanted[n] for n in names)),)
        return Counterpart(adapted, literal, pairs, names, note=f"without {', '.join(missing)}" if missing else "")

    def words(self) -> str:
        if len(self.loops) == 1:
            return (
                f"Cut loop {self.loops[0]} into blocks of {self.sizes[0]} iterations; loop {self.loops[0]}_t goes from "
                "block to block."
            )
        sizes = " x ".join(map(str, self.sizes))
        blocks = listed([f"{loop}_t" for loop in self.loops])
        return (
            f"Cut loops {listed(self.loops)} into blocks of {sizes} iterations, so that what a block uses stays in a "
            f"cache; loops {blocks} go from block to block."
        )


def tile_loop(tree: Tree, loop: TreeLoop, size: int, suffix: str, taken: frozenset[str]) -> TreeLoop:
    """The loop over the blocks of `loop`; it takes over the parallel mark."""
    blocked = with_rows(clear_marks(loop), lambda _, row: block_start(row, size))
    return replace(blocked, name=fresh_name(tree, f"{loop.name}_{suffix}", taken), tile=size, parallel=loop.parallel)


def block_start(row: Affine, size: int) -> Affine:
    return row.floordiv(size) * size
