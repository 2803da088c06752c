"""One step of a donor's schedule as a step of the target's: operands through the matching, parameters adapted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from perfembed.transfer import adapt
from perfembed.transfer.match import Pair
from perfembed.transfer.moment import AlreadySo, Counterpart, Moment, NoCounterpart, Unmatched
from perfembed.transfer.packing import pack
from perfembed.transfer.rescheduled import rescheduled
from perfembed.transfer.view import Path, Side
from scheduler.computed.streams import streamable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import Leaf, TreeLoop, statements_below, tree_loops
from scheduler.normalize.stride import access_stride
from scheduler.transform import (
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reschedule,
    Reverse,
    Shift,
    Sink,
    Skew,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
    Vectorize,
)
from scheduler.transform.common import siblings


def counterpart(moment: Moment) -> Counterpart:
    """Raises NoCounterpart, AlreadySo."""
    maker = _MAKERS.get(type(moment.step))
    if maker is None:
        raise NoCounterpart(f"what {moment.step.keyword} does is not carried over to other nests")
    return maker(moment, moment.step)


def _order(moment: Moment, names: tuple[str, ...]) -> tuple[str, ...]:
    """The loops as they are nested in the target. Raises NoCounterpart."""
    return tuple(loop.name for loop in moment.common_path(*names).loops if loop.name in names)


def _interchange(moment: Moment, step: Interchange) -> Counterpart:
    pairs = moment.pair(step.outer), moment.pair(step.inner)
    wanted = (pairs[0].target, pairs[1].target)
    if _order(moment, wanted) != wanted:
        raise AlreadySo(f"{wanted[1]} is outside {wanted[0]} already")
    found = (Interchange(*wanted),)
    return Counterpart(found, found, pairs, wanted)


def _skew(moment: Moment, step: Skew) -> Counterpart:
    pairs = moment.pair(step.outer), moment.pair(step.inner)
    names = (pairs[0].target, pairs[1].target)
    if _order(moment, names) != names:
        raise NoCounterpart(f"{names[1]} is not inside {names[0]}")
    ours = tuple(loop.tile if (loop := moment.ours.loop(n)) else 0 for n in (step.outer, step.inner))
    theirs = tuple(moment.loop(n).tile for n in names)
    factor = step.factor
    if factor > 0 and ours[0] and ours[1] and theirs[0] and theirs[1]:
        factor = adapt.wavefront_factor(factor, (ours[0], ours[1]), (theirs[0], theirs[1]))
    return Counterpart((Skew(*names, factor),), (Skew(*names, step.factor),), pairs, names)


def _tile(moment: Moment, step: Tile) -> Counterpart:
    given = dict(zip(step.loops, step.sizes, strict=False))
    pairs = tuple(p for name in given if (p := moment.matching.loops.get(name)))
    if not pairs:
        raise Unmatched(f"no loop of the target stands for {', '.join(step.loops)}")
    wanted = {pair.target: given[pair.donor] for pair in pairs}
    if any(moment.loop(name).tile for name in wanted):
        raise NoCounterpart("its loops are tiles already")
    waves = any(isinstance(later, Skew) and later.outer not in given for later in moment.rest)
    split = {pair.target for pair in pairs if _in_parallel(moment, f"{pair.donor}_t")}
    sizes = adapt.tile_sizes(moment.donor, moment.ours, given, moment.target, moment.theirs, wanted, waves, split)
    if not sizes:
        raise NoCounterpart(f"{', '.join(wanted)} are too short to be tiled")
    names = _order(moment, tuple(sizes))
    missing = [n for n in given if n not in moment.matching.loops] + [n for n in wanted if n not in sizes]
    adapted = (Tile(names, tuple(sizes[n] for n in names)),)
    literal = (Tile(names, tuple(wanted[n] for n in names)),)
    note = f"without {', '.join(missing)}" if missing else ""
    return Counterpart(adapted, literal, pairs, names, note=note)


def _in_parallel(moment: Moment, loop: str) -> bool:
    return any(isinstance(later, Parallelize) and later.loop == loop for later in moment.rest)


def _register_block(moment: Moment, step: RegisterBlock) -> Counterpart:
    given = dict(zip(step.loops, step.sizes, strict=False))
    pairs = tuple(p for name in given if (p := moment.matching.loops.get(name)))
    if not pairs or pairs[-1].donor != step.loops[-1]:
        raise Unmatched(f"no loop of the target stands for the vectorized loop {step.loops[-1]}")
    loops = tuple(moment.loop(pair.target) for pair in pairs)
    names = tuple(loop.name for loop in loops)
    moment.common_path(*names)
    if not writes_along(moment.target, loops[-1]):
        raise NoCounterpart(f"what is written does not stay together along {names[-1]}")
    literal = tuple(given[pair.donor] for pair in pairs)
    adapted = adapt.register_block(moment.donor, moment.target, literal, step.vector_bytes, loops)
    missing = [name for name in given if name not in moment.matching.loops]
    note = f"without {', '.join(missing)}" if missing else ""
    made = (adapted,), (RegisterBlock(names, literal, step.vector_bytes),)
    return Counterpart(*made, pairs, _order(moment, names), True, note)


def writes_along(side: Side, loop: TreeLoop) -> bool:
    """Every write of the statements below moves by one element along the loop."""
    for statement, row in loop.rows:
        direction = {n: row.coefficient(n) for n in row.names()}
        for use in side.replayer.model.uses(statement):
            if use.is_write and access_stride(side.replayer.nest, use, direction) != 1:
                return False
    return True


def _parallelize(moment: Moment, step: Parallelize) -> Counterpart:
    pair = moment.pair(step.loop)
    loop = moment.loop(pair.target)
    path = moment.theirs.path_of(loop.name)
    if path is None or not moment.target.worth_threads(path, loop):
        raise NoCounterpart(f"{loop.name} has too little to do for {moment.target.machine.threads} threads")
    depth = 1
    inner = loop
    while len(inner.children) == 1 and isinstance(inner.children[0], TreeLoop):
        inner = inner.children[0]
        depth += 1
    collapse = max(1, min(step.collapse, depth))
    adapted = adapt.parallel_grain(moment.target, loop, step, pair.target, collapse, moment.by_data(step.loop))
    return Counterpart((adapted,), (replace(step, loop=pair.target, collapse=collapse),), (pair,))


def _unroll(moment: Moment, step: Unroll) -> Counterpart:
    pair = moment.pair(step.loop)
    factor = adapt.unroll_factor(step.factor, moment.target.extent(moment.loop(pair.target)))
    if factor == 1:
        raise NoCounterpart(f"{pair.target} is too short to be unrolled")
    return Counterpart((Unroll(pair.target, factor),), (Unroll(pair.target, step.factor),), (pair,))


def _unroll_jam(moment: Moment, step: UnrollJam) -> Counterpart:
    pair = moment.pair(step.loop)
    factor = adapt.unroll_factor(step.factor, moment.target.extent(moment.loop(pair.target)))
    if factor < 2:
        raise NoCounterpart(f"{pair.target} is too short to be unrolled and jammed")
    made = (UnrollJam(pair.target, factor),), (UnrollJam(pair.target, step.factor),)
    return Counterpart(*made, (pair,), (pair.target,), True)


def _named(moment: Moment, step: Reverse | Vectorize) -> Counterpart:
    pair = moment.pair(step.loop)
    found = (replace(step, loop=pair.target),)
    return Counterpart(found, found, (pair,))


def _fuse(moment: Moment, step: Fuse) -> Counterpart:
    pairs = moment.pair(step.first), moment.pair(step.second)
    found = (Fuse(pairs[0].target, pairs[1].target),)
    return Counterpart(found, found, pairs)


def _distribute(moment: Moment, step: Distribute) -> Counterpart:
    """The split of the target's loop that divides the matched statements most like the donor's."""
    pair = moment.pair(step.loop)
    ours, theirs = moment.ours.loop(step.loop), moment.loop(pair.target)
    if len(theirs.children) < 2:
        raise AlreadySo(f"{pair.target} has nothing to be split from")
    if ours is None or not 0 < step.position < len(ours.children):
        raise NoCounterpart("the donor's loop cannot be split there")
    before = {s for child in ours.children[: step.position] for s in statements_below(child)}
    partners = {p.target: p.donor for p in moment.matching.statements.values()}

    def differing(position: int) -> tuple[int, int]:
        wrong = 0
        for k, child in enumerate(theirs.children):
            known = [partners[s] for s in statements_below(child) if s in partners]
            wrong += sum((s in before) != (k < position) for s in known)
        return wrong, abs(position - step.position)

    found = (Distribute(pair.target, min(range(1, len(theirs.children)), key=differing)),)
    return Counterpart(found, found, (pair,))


def _shift(moment: Moment, step: Shift) -> Counterpart:
    """All statements that stand with the donor's counterpart are delayed together."""
    pair, statement = moment.pair(step.loop), _statement(moment, step.statement)
    _check_fusible(moment, step)
    group = next((p.statements for p in moment.theirs.paths if statement.target in p.statements), ())
    inside = dict(moment.loop(pair.target).rows)
    amount = _renamed(moment, step.amount)
    found = tuple(Shift(pair.target, s, amount) for s in group if s in inside)
    if not found:
        raise NoCounterpart(f"{statement.target} is not in {pair.target}")
    return Counterpart(found, found, (pair, statement))


def _check_fusible(moment: Moment, step: Shift) -> None:
    """A delay before fusing is of use only where there is something to be fused. Raises NoCounterpart."""
    later = next((x for x in moment.rest if isinstance(x, Fuse) and step.loop in (x.first, x.second)), None)
    if later is None:
        return
    first, second = moment.pair(later.first).target, moment.pair(later.second).target
    beside = siblings(moment.theirs.tree, first)[1]
    if not any(isinstance(node, TreeLoop) and node.name == second for node in beside):
        raise NoCounterpart(f"{first} and {second} do not stand side by side, to be fused")


def _sink(moment: Moment, step: Sink) -> Counterpart:
    pair, statement = moment.pair(step.loop), _statement(moment, step.statement)
    found = (Sink(statement.target, pair.target, _renamed(moment, step.at)),)
    return Counterpart(found, found, (pair, statement))


def _statement(moment: Moment, name: str) -> Pair:
    found = moment.matching.statements.get(name)
    if found is None:
        raise NoCounterpart(f"no statement of the target stands for {name}")
    return found


def _renamed(moment: Moment, expression: Affine) -> Affine:
    """The expression over the target's iterators. Raises NoCounterpart where it names a parameter."""
    origins = {loop.name: loop.origin for view in (moment.ours, moment.theirs) for loop in tree_loops(view.tree)}
    names = {origins[a]: origins[pair.target] for a, pair in moment.matching.loops.items()}
    unknown = sorted(expression.names() - names.keys())
    if unknown:
        raise NoCounterpart(f"nothing of the target stands for {', '.join(unknown)}")
    return expression.substitute({n: Affine.of(names[n]) for n in expression.names()})


def _pack(moment: Moment, step: Pack) -> Counterpart:
    pair = moment.pair(step.loop)
    found = pack(moment.donor, moment.target, moment.ours, moment.theirs, moment.matching, step, pair.target)
    if isinstance(found, str):
        raise NoCounterpart(found)
    adapted, literal, array = found
    return Counterpart((adapted,), (literal,), (pair, array))


def _stream(moment: Moment, step: Stream) -> Counterpart:
    """Whatever the target's loop can write past the caches of the target's machine."""
    pair = moment.pair(step.loop)
    found = tuple(Stream(pair.target, array) for array in streamable(moment.target.space, moment.loop(pair.target)))
    if not found:
        raise NoCounterpart(f"nothing that {pair.target} writes is better kept out of the caches")
    return Counterpart(found, found, (pair,), innermost=True)


_MAKERS: dict[type[Transformation], Callable[[Moment, Any], Counterpart]] = {
    Reschedule: rescheduled,
    Interchange: _interchange,
    Skew: _skew,
    Reverse: _named,
    Shift: _shift,
    Fuse: _fuse,
    Distribute: _distribute,
    Sink: _sink,
    Tile: _tile,
    Unroll: _unroll,
    UnrollJam: _unroll_jam,
    Vectorize: _named,
    Parallelize: _parallelize,
    RegisterBlock: _register_block,
    Pack: _pack,
    Stream: _stream,
}


def innermost_loop(path: Path) -> TreeLoop | None:
    """The last loop of a path if nothing but statements is inside."""
    loop = path.loops[-1]
    return loop if all(isinstance(child, Leaf) for child in loop.children) else None
