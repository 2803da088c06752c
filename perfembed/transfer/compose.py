"""Nests of several loop trees: each tree gets what donors of its own lead to, put together under a cost model.

What a region of adjacent trees has in common with other regions may be little, where each of its trees is well known.
(Trümper et al. 2023 embed and tune single loop nests.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perfembed.transfer.align import align
from perfembed.transfer.candidates import Candidate, Donor, begun, completed, prove, variants
from perfembed.transfer.recommend import by_donor
from perfembed.transfer.successors import Logged
from perfembed.transfer.view import Part, Side, normalized, outer_sequential
from scheduler.ir.nest import LoopNest, Node, Statement
from scheduler.ir.tree import TreeLoop, statements_below, tree_loops
from scheduler.ir.walk import placed_statements, uses
from scheduler.moves.time_tiling import time_tiled
from scheduler.schedule import Schedule, named_loops
from scheduler.search.explorer import in_variety
from scheduler.transform import Reschedule, Transformation

Score = Callable[[Sequence[Candidate]], Sequence[float]]

_MOST = 4  # trees that are looked at
_LEAST_SHARE = 0.05
_CORE_SHARE = 0.5  # of a nest's work
_OPTIONS = 5  # schedules of a tree, tried with those of the others
_CUTS = 12  # schedules of a tree, taken from those of the whole
_WIDTH = 3  # compositions kept
_TIME_TILINGS, _SIZES = 6, 2  # in all, and of each depth
_DERIVED_COST = 0.4  # of an alignment: no step of the donor's


@dataclass(frozen=True, slots=True)
class LoopTree:
    """One of a region's loop trees: as a nest of its own, and the part it is of the region; `share` of the work.

    `base`: the schedule after which it is one.
    """

    nest: LoopNest
    statements: frozenset[str]
    share: float
    base: Schedule = ()


def trees_of(side: Side) -> tuple[tuple[LoopTree, ...], ...]:
    """The trees that matter, that with most work first: those of the normal form, however the nest is written, and
    those that are written. Each is left out where there is but one tree."""
    both = (_trees(side, base) for base in dict.fromkeys((normalized(side), ())))
    return tuple(trees for trees in both if trees)


def _trees(side: Side, base: Schedule) -> tuple[LoopTree, ...]:
    nest = side.replayer.nest
    found = []
    for node in side.replayer.tree(base):
        if isinstance(node, TreeLoop):
            names = frozenset(statements_below(node))
            share = _share(side, names, base)
            if share >= _LEAST_SHARE:
                found.append(LoopTree(_with_body(nest, _only(nest.body, names)), names, share, base))
    return tuple(sorted(found, key=lambda t: -t.share)[:_MOST]) if len(found) > 1 else ()


def core_of(side: Side) -> LoopNest | None:
    """The nest without what can be split from the part that does most of the work; None where nothing can, or
    several trees matter. What initializes or scales is written in many places, in nests that else do the same."""
    nest = side.replayer.nest
    if trees_of(side):
        return None
    every = frozenset(placed.statement.name for placed in placed_statements(nest))
    for node in side.replayer.tree(normalized(side)):
        names = frozenset(statements_below(node))
        if names < every and _share(side, names, ()) >= _CORE_SHARE:
            return _with_body(nest, _only(nest.body, names))
    return None


def _share(side: Side, statements: frozenset[str], base: Schedule) -> float:
    return sum(side.share(path) for path in side.view(base).paths if statements & set(path.statements))


def _with_body(nest: LoopNest, body: tuple[Node, ...]) -> LoopNest:
    """The nest with these nodes of its own, and the arrays they use."""
    alone = replace(nest, body=body)
    named = {use.access.array for placed in placed_statements(alone) for use in uses(placed)}
    return replace(alone, arrays=tuple(array for array in nest.arrays if array.name in named))


def _only(nodes: tuple[Node, ...], statements: frozenset[str]) -> tuple[Node, ...]:
    """The nodes without other statements, and without what then is empty."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            if node.name in statements:
                kept.append(node)
        elif body := _only(node.body, statements):
            kept.append(replace(node, body=body))
    return tuple(kept)


def partial(donor: Donor, target: Side, tree: LoopTree) -> tuple[Candidate, ...]:
    """What a donor leads to in one tree of the target, the others left as they are."""
    hidden = outer_sequential(donor.side), outer_sequential(target)
    parts = [(Part(), Part(tree.statements)), (Part(hidden=hidden[0]), Part(tree.statements, hidden[1]))]
    found: dict[Schedule, Candidate] = {}
    for ours, theirs in parts if any(hidden) else parts[:1]:
        for alignment in align(donor.side, donor.schedule, target, base=tree.base, parts=(ours, theirs), width=1):
            for schedule, parameters, log in variants(alignment, True, target):
                proved, dropped = prove(target, schedule)
                if proved is not None and proved.schedule:
                    log = (*begun(tree.base), *log, *dropped)
                    one = Candidate(proved, donor, alignment.cost, log, parameters, False, ours.hidden != frozenset())
                    found.setdefault(proved.schedule, one)
    return tuple(found.values())


def wavefronts(target: Side, pool: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Time tilings of a target whose outermost loops are sequential: such a recipe, of many steps, rarely comes through
    whole from a donor. They go with the nearest donor of `pool`, every step inserted."""
    if not pool or not outer_sequential(target):
        return ()
    nearest = min(pool, key=lambda c: (c.donor.distance, c.cost))
    reason = "the time loop tiled along a wavefront; no step of the donor"
    found: list[Candidate] = []
    for schedule in islice(time_tiled(target.space, _SIZES), _TIME_TILINGS):
        proved, dropped = prove(target, target.space.vectorized(schedule))
        if proved is not None:
            log = (Logged("inserted", None, proved.schedule, reason), *dropped)
            found.append(Candidate(proved, nearest.donor, _DERIVED_COST, log, "adapted", True, False))
    return tuple(found)


def compositions(
    target: Side,
    trees: Sequence[LoopTree],
    partials: Sequence[Sequence[Candidate]],
    pool: Sequence[Candidate],
    score: Score,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Candidate, ...]:
    """Schedules of the whole made of one for each tree: of `partials` (for each tree) and of what the candidates of
    `pool` do to that tree, where they do not fuse it with others. `score` (seconds, or what is in proportion) says
    which fit together; of schedules of the same kinds of steps it is not believed too often (`in_variety`), and one
    composition is made without asking it.
    """
    kept: list[Candidate] = []
    for tree, own in zip(trees, partials, strict=True):
        if expired():
            break
        options = {c.scheduled.schedule: c for c in own}
        cuts: dict[Schedule, Candidate] = {}
        for candidate in pool:
            cuts.setdefault(_cut(target, candidate.scheduled.schedule, tree), candidate)
        for schedule, candidate in [(s, c) for s, c in cuts.items() if s and s not in options][:_CUTS]:
            if not expired() and (alone := _alone(target, candidate, schedule)) is not None:
                options[schedule] = alone
        best = _best(list(options.values()), score, _OPTIONS)
        joined = [made for one in kept for option in best if (made := _joined(target, one, option, tree)) is not None]
        kept = _best([*kept, *best, *joined], score, _WIDTH)
    if not expired() and (likely := _by_donors(target, trees, partials)) is not None:
        kept.append(likely)
    found = {c.scheduled.tree: c for one in kept for c in (one, *completed(target, one))}
    return tuple(found.values())


def _by_donors(target: Side, trees: Sequence[LoopTree], partials: Sequence[Sequence[Candidate]]) -> Candidate | None:
    """For each tree what its donors promise most of: what was measured elsewhere errs in another way than a model."""
    made: Candidate | None = None
    for tree, own in zip(trees, partials, strict=True):
        if own:
            scores = by_donor(own)
            best = own[min(range(len(own)), key=scores.__getitem__)]
            made = best if made is None else _joined(target, made, best, tree) or made
    return made


def _best(candidates: Sequence[Candidate], score: Score, count: int) -> list[Candidate]:
    if not candidates:
        return []
    order = in_variety([c.scheduled.schedule for c in candidates], score(candidates))
    return [candidates[k] for k in order[:count]]


def _joined(target: Side, first: Candidate, second: Candidate, tree: LoopTree) -> Candidate | None:
    """Both schedules, which concern different trees, one after the other; what both begin with is there once."""
    more = second.scheduled.schedule[len(tree.base) :]
    proved, dropped = prove(target, (*first.scheduled.schedule, *more))
    if proved is None:
        return None
    log = tuple(entry for entry in second.log if not tree.base or entry.steps != tree.base)
    if second.donor is not first.donor:
        log = tuple(replace(e, reason=_named(second.donor, e.reason)) for e in log)
    cost = first.cost * (1 - tree.share) + second.cost * tree.share
    return replace(first, scheduled=proved, cost=cost, log=(*first.log, *log, *dropped))


def _named(donor: Donor, reason: str) -> str:
    return f"of donor {donor.name}" + (f": {reason}" if reason else "")


def _cut(target: Side, schedule: Schedule, wanted: LoopTree) -> Schedule:
    """The steps that concern this tree, behind those that make one of it; none where one concerns others, too."""
    statements, steps = wanted.statements, wanted.base
    if schedule[: len(steps)] != steps:
        return ()
    for position, step in list(enumerate(schedule))[len(steps) :]:
        named = set(named_loops(step))
        tree = target.replayer.tree(schedule[:position])
        concerned = {s for loop in tree_loops(tree) if loop.name in named for s, _ in loop.rows}
        if isinstance(step, Reschedule):
            concerned |= {one.statement for one in step.maps}
        if concerned & statements:
            if not concerned <= statements:
                return ()
            steps = (*steps, step)
    return steps


def _alone(target: Side, candidate: Candidate, steps: Schedule) -> Candidate | None:
    """Only these steps of a candidate; None where they do not make a legal schedule without the others."""
    proved, dropped = prove(target, steps)
    if proved is None or not proved.schedule:
        return None
    return replace(candidate, scheduled=proved, log=(*_own(candidate.log, set(steps)), *dropped), completed=False)


def _own(log: Sequence[Logged], kept: set[Transformation]) -> Iterator[Logged]:
    """The entries for steps that were kept."""
    for entry in log:
        steps = tuple(step for step in entry.steps if step in kept)
        if steps:
            yield replace(entry, steps=steps)
