"""The decision tree of a nest: structure, then for each chain its order, its shape and its inside, then the marks.

The stages are LOOPer's (Merouani et al. 2024, section 4); every path from the root ends in a schedule that may be
measured. Schedules on the way are legal; the last step, the marks, follows from the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal as OneOf

from scheduler.ir.tree import tree_loops
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.moves.time_tiling import computed_time_tiled, time_tiled
from scheduler.schedule import Schedule

_TIME_TILINGS = 8
_COMPUTED_TILINGS = 4
_ORDERS = 4
_MINIMUM_WORK = 0.01

Stage = OneOf["structure", "order", "shape", "inside", "marks", "done"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A node of the tree: what has been decided (`schedule`), what comes next (`stage`), and for which chain.

    `head` is the innermost loop of the chain at hand, `seen` the nest's loops whose chains were dealt with.
    """

    schedule: Schedule
    stage: Stage
    head: str = ""
    seen: frozenset[str] = frozenset()


ROOT = Decision((), "structure")


def choices(space: Space, node: Decision) -> tuple[Decision, ...]:
    """The nodes below; empty where the schedule is complete (`stage` "done")."""
    match node.stage:
        case "structure":
            below = [_next_chain(space, schedule, frozenset()) for schedule in space.structures()]
            made = [*islice(time_tiled(space), _TIME_TILINGS)]
            made += islice(computed_time_tiled(space, 1), _COMPUTED_TILINGS)
            tiled = (space.vectorized(s) for s in made)
            below += [Decision(schedule, "done") for schedule in tiled if space.legal(schedule)]
            return tuple(dict.fromkeys(below))
        case "order":
            chain = _chain(space, node)
            orders = space.orders(node.schedule, chain, _ORDERS)
            return tuple(Decision(schedule, "shape", node.head, node.seen) for schedule in orders)
        case "shape":
            chain = _chain(space, node)
            found = [node.schedule]
            found += space.tilings(node.schedule, chain)
            found += register_moves(space, node.schedule, chain)
            found += space.wavefronts(node.schedule, chain)
            return _legal(space, found, "inside", node)
        case "inside":
            found = [node.schedule, *space.inner_moves(node.schedule, _chain(space, node))]
            kept = _legal(space, found, "inside", node)
            return tuple(dict.fromkeys(_next_chain(space, one.schedule, node.seen) for one in kept))
        case "marks":
            return tuple(Decision(schedule, "done") for schedule in _marked(space, node.schedule))
        case _:
            return ()


def _next_chain(space: Space, schedule: Schedule, seen: frozenset[str]) -> Decision:
    """The heaviest chain not dealt with that matters at all; the marks when there is none."""
    found = space.leaf_chains(schedule)
    total = sum(space.work(chain) for chain in found)
    for chain in found:
        names = frozenset(loop.origin for loop in chain)
        if not names & seen and space.work(chain) >= _MINIMUM_WORK * total:
            return Decision(schedule, "order", chain[-1].name, seen | names)
    return Decision(schedule, "marks")


def _marked(space: Space, schedule: Schedule) -> tuple[Schedule, ...]:
    """With the usual marks first, then without the parallel or the vector ones."""
    wavefront = any(loop.parallel for loop in tree_loops(space.replayer.tree(schedule)))
    parallel = schedule if wavefront else space.parallelized(schedule)
    found = (space.vectorized(parallel), parallel, space.vectorized(schedule), schedule)
    return tuple(s for s in dict.fromkeys(found) if space.legal(s))


def _legal(space: Space, schedules: list[Schedule], stage: Stage, node: Decision) -> tuple[Decision, ...]:
    return tuple(Decision(s, stage, node.head, node.seen) for s in dict.fromkeys(schedules) if space.legal(s))


def _chain(space: Space, node: Decision) -> Chain:
    return chains_with(space.replayer.tree(node.schedule), node.head)
