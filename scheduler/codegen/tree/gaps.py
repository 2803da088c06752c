"""Loops that step through iterations in which nothing runs: where statements that share one are far apart.

A tile loop over two statements has one range, from the first iteration of either to the last. Where both are what loops
of the source run to, no more is stepped through than that; what a schedule shifts, sinks or fuses may be further away
than there is time for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import islpy as isl

from scheduler.codegen.tree.places import Place, places, tiled_row
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.tree import Leaf, TreeLoop
from scheduler.polyhedral.model import affine_text, isl_name

_TIMES = 4  # as many steps as a loop of the source has
_MOST = 1 << 15  # steps: where a region of threads is begun in each, some 40 ms (`python -m tests.evaluation regions`)


def check_known_gaps(poly: PolyTree) -> None:
    """Raises CodegenUnsupported where no test in front of the loops can tell whether they step through a wide gap."""
    if poly.opaque:
        for place, gaps in _wide(poly):
            if any(name.startswith(("__lo_", "__hi_")) for name in _involved(gaps)):
                raise CodegenUnsupported(f"what {place.loop.name} runs may be further apart than there is time for")


def gap_free(poly: PolyTree) -> isl.Set:
    """The values of the nest's parameters with which no loop steps through a wide gap."""
    free = poly.context()
    for _, gaps in _wide(poly):
        free = free.subtract(gaps)
    own = {isl_name(name) for name in poly.model.parameter_names()}
    for place in reversed(range(free.dim(isl.dim_type.param))):
        if free.get_dim_name(isl.dim_type.param, place) not in own:  # nothing is said of the others
            free = free.project_out(isl.dim_type.param, place, 1)
    return free


def _wide(poly: PolyTree) -> Iterator[tuple[Place, isl.Set]]:
    """The loops that may step through more than so many iterations at a time, and the parameters where they do."""
    for place in places(poly.tree):
        loop = place.loop
        rows = {name: tiled_row(loop, name) or row for name, row in loop.rows}
        if (loop.tile or not all(isinstance(child, Leaf) for child in loop.children)) and not _together(rows, poly):
            gaps = _gaps(poly, place.path[:-1], rows, _MOST * max(loop.tile, 1))
            if not gaps.is_empty():
                yield place, gaps


def _together(rows: dict[str, Affine], poly: PolyTree) -> bool:
    """Whether the iterations are plainly those of one loop of the source, or of several with the same bounds."""
    return all(_same(one, two, poly) for one, two in combinations(rows.items(), 2))


def _same(one: tuple[str, Affine], two: tuple[str, Affine], poly: PolyTree) -> bool:
    (first, row), (second, other) = one, two
    if row.terms == _renamed(other, first, second, poly).terms:
        return abs(row.const - other.const) < _MOST
    bounds = []
    for statement, time in ((first, row), (second, other)):
        loops = [loop for loop in poly.model.placed[statement].loops if Affine.of(loop.name) == time]
        bounds += [(loop.start, loop.stop, loop.step) for loop in loops if not loop.is_opaque]
    return len(bounds) == 2 and bounds[0] == bounds[1]


def _renamed(row: Affine, first: str, second: str, poly: PolyTree) -> Affine:
    """Of the second statement, with the iterators of the loops around the first one that have the same bounds."""
    names: dict[str, Affine] = {}
    for mine, other in zip(poly.model.placed[first].loops, poly.model.placed[second].loops, strict=False):
        if mine.is_opaque or other.is_opaque or mine.step != other.step:
            break
        bounds = [
            tuple(b.substitute(names) for b in part) for part in (other.start, other.stop) if isinstance(part, tuple)
        ]
        if bounds != [mine.start, mine.stop]:
            break
        names[other.name] = Affine.of(mine.name)
    return row.substitute(names)


def _gaps(poly: PolyTree, outer: tuple[TreeLoop, ...], rows: dict[str, Affine], most: int) -> isl.Set:
    """The parameters with which some iteration of the loops `outer` has a wide gap."""
    times: isl.Set | None = None
    for statement, row in rows.items():
        text = f"{{ {poly.model.tuple_text(statement)} -> [{affine_text(row)}] }}"
        part = poly.at(statement, outer).apply(poly.read_map(text))
        times = part if times is None else times.union(part)
    assert times is not None
    times = times.intersect_params(poly.context()).coalesce()
    both = isl.Map.from_domain_and_range(times, times)
    later = both.intersect(poly.read_map("{ [t] -> [u] : t < u }"))
    between = later.apply_range(later)
    wide = both.intersect(poly.read_map(f"{{ [t] -> [u] : t + {most} < u }}")).subtract(between)
    for trips in _trips(poly, outer, rows):
        wide = wide.subtract(poly.read_map(f"{{ [t] -> [u] : {trips} }}"))
    found = wide.params()
    for name in [f"__t_{loop.name}" for loop in outer]:
        place = found.find_dim_by_name(isl.dim_type.param, name)
        if place >= 0:
            found = found.project_out(isl.dim_type.param, place, 1)
    return found.coalesce()


def _trips(poly: PolyTree, outer: tuple[TreeLoop, ...], rows: dict[str, Affine]) -> Iterator[str]:
    """That from t to u it is not much more than some loop of the source runs to in the same place."""
    depth = sum(not loop.tile for loop in outer)
    found: set[tuple[tuple[Affine, ...], int]] = set()
    for statement in rows:
        iterators = set(poly.model.iterators(statement))
        for loop in poly.model.placed[statement].loops[depth:]:
            if isinstance(loop.start, tuple) and isinstance(loop.stop, tuple):
                ends = ((a, b) if loop.step > 0 else (b, a) for a in loop.start for b in loop.stop)
                trips = tuple(last - first for first, last in ends)
                if not any(part.names() & iterators for part in trips):
                    found.add((trips, abs(loop.step)))
    for trips, step in found:
        yield " and ".join(f"(u - t)*{step} <= {_TIMES}*({affine_text(part)})" for part in trips)


def _involved(gaps: isl.Set) -> list[str]:
    count = gaps.dim(isl.dim_type.param)
    names = [str(gaps.get_dim_name(isl.dim_type.param, k)) for k in range(count)]
    return [name for k, name in enumerate(names) if gaps.involves_dims(isl.dim_type.param, k, 1)]
