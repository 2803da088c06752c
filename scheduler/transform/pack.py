"""Pack: the block of an array read inside a loop is copied to a small contiguous buffer first (as in BLIS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.ir.tree import PackMark, TreeLoop, find_loop, paths_of, replace_loop, tree_loops
from scheduler.ir.walk import AccessUse
from scheduler.transform.common import Tree, the_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, Pair, StepMatching

_MIN_AGREEMENT = 0.5
_MAX_PANEL = 64


@dataclass(frozen=True, slots=True)
class Pack:
    """Copies the block of an array read below `loop` to a local buffer, dimensions in `order`.

    With `panel` > 0 dimension `panel_dim` is split in panels that become innermost (BLIS packing).
    """

    keyword: ClassVar[str] = "pack"
    loop: str
    array: str
    order: tuple[int, ...]
    panel_dim: int = -1
    panel: int = 0

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if sorted(self.order) != list(range(len(self.order))) or not self.order:
            raise NotApplicable("the order of a packed buffer is a permutation of the array's dimensions")
        if self.panel and not (0 <= self.panel_dim < len(self.order) and 2 <= self.panel <= 64):
            raise NotApplicable("a panel has 2 to 64 elements of one of the array's dimensions")
        if any(mark.array == self.array for mark in loop.packs):
            raise NotApplicable(f"array {self.array} is packed at loop {self.loop} already")
        mark = PackMark(self.array, self.order, self.panel_dim if self.panel else -1, self.panel)
        return replace_loop(tree, self.loop, (replace(loop, packs=(*loop.packs, mark)),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """The array of the target that plays the part of the donor's, copied in the same order of its dimensions.

        An array is known by which of the matched loops each of its dimensions moves with: the donor's B[k][j], packed
        in panels of j, is the target's W[j'][k'] with its dimensions the other way round. Raises Unmatched,
        NoCounterpart.
        """
        pair = matching.pair(self.loop)
        first, second = find_loop(matching.donor_tree, self.loop), matching.loop(pair.target)
        if first is None:
            raise NoCounterpart(f"there is no loop {self.loop}")
        read = _accesses([u for s, _ in first.rows for u in matching.donor_uses(s)], self.array)
        if not read:
            raise NoCounterpart(f"the donor does not read {self.array} there with affine subscripts")
        inside = {x.origin for x in tree_loops(second.children)}
        partners = _origins(matching, self.loop)
        packed = {mark.array for x in tree_loops((second,)) for mark in x.packs}
        best: tuple[float, Access, tuple[int, ...]] | None = None
        for access in _accesses([u for s, _ in second.rows for u in matching.target_uses(s)]):
            if access.array in packed or inside <= {
                n for s in access.subscripts if isinstance(s, Affine) for n in s.names()
            }:
                continue  # every element is read once: a copy cannot pay
            near = 1 - matching.array_distance(self.array, access.array)
            for model in read:
                agreement, dims = _same_dimensions(model, access, partners)
                if agreement >= _MIN_AGREEMENT and (best is None or agreement + 0.2 * near > best[0]):
                    best = agreement + 0.2 * near, access, dims
        if best is None:
            raise NoCounterpart(f"no array is read, more than once, along the loops that {self.array} is read along")
        _, access, dims = best
        made = _order(self, dims, len(access.subscripts))
        if made is None:
            raise NoCounterpart(f"{access.array} has no dimension for the panels of {self.array}")
        order, panel_dim = made
        literal = Pack(pair.target, access.array, order, panel_dim, self.panel if panel_dim >= 0 else 0)
        panel = _panel(second, access, panel_dim) or literal.panel
        adapted = replace(literal, panel=panel if panel_dim >= 0 else 0)
        arrays = Pair("array", self.array, access.array, matching.array_distance(self.array, access.array))
        return Counterpart((adapted,), (literal,), (pair, arrays))

    def words(self) -> str:
        panels = f", in panels of {self.panel} that stand one behind the other" if self.panel > 0 else ""
        return (
            f"Below loop {self.loop} copy the part of array {self.array} that is used to a buffer in the order in "
            f"which it is read{panels}."
        )


def _accesses(uses: Sequence[AccessUse], array: str | None = None) -> tuple[Access, ...]:
    """The different accesses to arrays (to one, if named) that are only read, and affinely."""
    barred = {u.access.array for u in uses if u.is_write or not u.access.is_affine}
    found = [u.access for u in uses if u.access.subscripts and u.access.array not in barred]
    return tuple(dict.fromkeys(a for a in found if array is None or a.array == array))


def _origins(matching: StepMatching, loop: str) -> dict[str, str]:
    """Which iterator of the target stands for which of the donor's: as their loops over elements are matched.

    Of the donor's loops around and below `loop` only: where a loop was split, its other parts have the same origin.
    """
    paths = ([n for _, n in path if isinstance(n, TreeLoop)] for path in paths_of(matching.donor_tree).values())
    near = {x.name: x.origin for path in paths if any(y.name == loop for y in path) for x in path}
    origin = {x.name: x.origin for x in tree_loops(matching.target_tree)}
    return {near[a]: origin[pair.target] for a, pair in matching.loops.items() if a in near}


def _same_dimensions(model: Access, access: Access, partners: dict[str, str]) -> tuple[float, tuple[int, ...]]:
    """(share of the donor's dimensions found again, for each of them the target's dimension or -1)."""
    wanted = [_partners_of(s, partners) for s in model.subscripts]
    given = [s.names() if isinstance(s, Affine) else frozenset[str]() for s in access.subscripts]
    dims: list[int] = []
    hits = 0.0
    for names in wanted:
        free = [(len(names & given[k]), k) for k in range(len(given)) if k not in dims]
        count, k = max(free, key=lambda pair: (pair[0], -pair[1]), default=(0, -1))
        dims.append(k if count else -1)
        hits += count / max(len(names), 1) if names else 0.0
    extra = sum(1 for k in range(len(given)) if k not in dims)
    return hits / max(len(wanted) + extra, 1), tuple(dims)


def _partners_of(subscript: object, partners: dict[str, str]) -> frozenset[str]:
    if not isinstance(subscript, Affine):
        return frozenset()
    return frozenset(partners[n] for n in subscript.names() if n in partners)


def _order(step: Pack, dims: tuple[int, ...], rank: int) -> tuple[tuple[int, ...], int] | None:
    """(order, panel dimension) of the target's array: the donor's through `dims`, further dimensions outermost."""
    kept = [dims[k] for k in step.order if k < len(dims) and dims[k] >= 0]
    order = (*(k for k in range(rank) if k not in kept), *kept)
    if not step.panel:
        return order, -1
    if not 0 <= step.panel_dim < len(dims) or dims[step.panel_dim] < 0:
        return None
    panel = dims[step.panel_dim]
    return (panel, *(k for k in order if k != panel)) if step.order[0] == step.panel_dim else order, panel


def _panel(loop: TreeLoop, access: Access, dimension: int) -> int:
    """The register block's size of the loop that the panel's dimension moves with; 0 where there is none."""
    subscript = access.subscripts[dimension] if dimension >= 0 else None
    if not isinstance(subscript, Affine):
        return 0
    inside = {x.name: x for x in tree_loops((loop,))}
    for mark in [x.register for x in inside.values() if x.register]:
        for name, size in zip(mark.loops, mark.sizes, strict=True):
            if name in inside and inside[name].origin in subscript.names() and 2 <= size <= _MAX_PANEL:
                return size
    return 0
