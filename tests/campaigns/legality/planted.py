"""Breaks schedules on purpose: what is left is often illegal, and the interpreter tells when."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import Parallel, TreeLoop, TreeNode, replace_loop, tree_loops
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import (
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reverse,
    Shift,
    Sink,
    Skew,
    Tile,
    Transformation,
    Vectorize,
)
from tests.generator import random_step

Tree = tuple[TreeNode, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A tree to judge. `schedule` made it; what no schedule can say is in `change`."""

    how: str
    tree: Tree
    schedule: Schedule
    change: str = ""


_MOVES = (Interchange, Skew, Shift, Fuse, Distribute, Reverse, Tile, Sink)
_TRIES = 12


def variants(replayer: Replayer, schedule: Schedule, rng: random.Random, count: int) -> Iterator[Variant]:
    """At most `count` broken versions of a schedule, of kinds drawn at random."""
    makers = (_stale_mark, _stale_mark, _lost_step, _lost_step, _extra_step, _moved_mark, _turned_row, _swapped)
    found = 0
    for _ in range(count * _TRIES):
        if found == count:
            return
        try:
            variant = rng.choice(makers)(replayer, schedule, rng)
        except NotApplicable:
            continue
        if variant is not None:
            found += 1
            yield variant


def _variant(how: str, replayer: Replayer, schedule: Schedule) -> Variant:
    return Variant(how, replayer.tree(schedule), schedule)


def _drawn(replayer: Replayer, schedule: Schedule, rng: random.Random, kinds: tuple[type, ...]) -> Transformation:
    """A random applicable step of these kinds. Raises NotApplicable."""
    for _ in range(_TRIES * 4):
        step = random_step(replayer.nest, rng, replayer.tree(schedule))
        if step is not None and isinstance(step, kinds):
            replayer.tree((*schedule, step))
            return step
    raise NotApplicable("no such step")


def _stale_mark(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant:
    """Loops are moved after one was marked."""
    marked = (*schedule, _drawn(replayer, schedule, rng, (Parallelize, Vectorize)))
    for _ in range(rng.randint(1, 2)):
        marked = (*marked, _drawn(replayer, marked, rng, _MOVES))
    return _variant("stale mark", replayer, marked)


def _lost_step(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant | None:
    """A shift, skew or other step that made later ones legal is left out."""
    places = [k for k, step in enumerate(schedule) if isinstance(step, _MOVES)]
    if not places:
        return None
    place = rng.choice(places)
    how = f"lost {schedule[place].keyword}"
    return _variant(how, replayer, (*schedule[:place], *schedule[place + 1 :]))


def _extra_step(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant:
    """One more step nobody asked whether it is legal: fused without a shift, reversed, marked, …"""
    step = _drawn(replayer, schedule, rng, (*_MOVES, Parallelize, Vectorize))
    return _variant(f"extra {step.keyword}", replayer, (*schedule, step))


def _moved_mark(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant:
    """A parallel mark on a loop of the finished tree, as if a step had carried it there."""
    tree = _without_parallel(replayer.tree(schedule))
    loop = _any_loop(tree, rng, lambda x: True)
    marked = replace_loop(tree, loop.name, (replace(loop, parallel=Parallel()),))
    return Variant("moved mark", marked, schedule, f"{loop.name} marked parallel, and no other loop")


def _turned_row(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant:
    """One statement runs through a loop backwards, or a little too early or late."""
    tree = replayer.tree(schedule)
    loop = _any_loop(tree, rng, lambda x: not x.opaque and not x.register)
    statement, row = rng.choice(loop.rows)
    new = -row if rng.random() < 0.4 else row + rng.choice((-2, -1, 1, 2))
    rows = tuple((s, new if s == statement else r) for s, r in loop.rows)
    change = f"the row of {statement} in {loop.name} is {new}"
    return Variant("turned row", replace_loop(tree, loop.name, (replace(loop, rows=rows),)), schedule, change)


def _swapped(replayer: Replayer, schedule: Schedule, rng: random.Random) -> Variant:
    """Two neighbours change places."""
    tree = replayer.tree(schedule)
    families = [(None, tree), *((x, x.children) for x in tree_loops(tree))]
    families = [(parent, nodes) for parent, nodes in families if len(nodes) > 1]
    if not families:
        raise NotApplicable("no neighbours")
    parent, nodes = rng.choice(families)
    at = rng.randrange(len(nodes) - 1)
    swapped = (*nodes[:at], nodes[at + 1], nodes[at], *nodes[at + 2 :])
    where = parent.name if parent else "the nest"
    change = f"parts {at} and {at + 1} of {where} exchanged"
    if parent is None:
        return Variant("swapped parts", swapped, schedule, change)
    return Variant(
        "swapped parts", replace_loop(tree, parent.name, (replace(parent, children=swapped),)), schedule, change
    )


def _without_parallel(tree: Tree) -> Tree:
    for loop in list(tree_loops(tree)):
        if loop.parallel:
            current = next(x for x in tree_loops(tree) if x.name == loop.name)
            tree = replace_loop(tree, loop.name, (replace(current, parallel=None),))
    return tree


def _any_loop(tree: Tree, rng: random.Random, allowed: Callable[[TreeLoop], bool]) -> TreeLoop:
    found = [loop for loop in tree_loops(tree) if allowed(loop)]
    if not found:
        raise NotApplicable("no such loop")
    return rng.choice(found)
