"""Schedule trees as loops and statements, made as plain as they can be, and the time maps they give."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Union

from scheduler.affine.model import Band, Linear, Node, Several
from scheduler.ir.affine import Affine
from scheduler.polyhedral.model import Model, isl_name
from scheduler.transform.reschedule import Reschedule, TimeMap, rank

Times = tuple[tuple[str, Affine], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A loop: the time of every statement below."""

    times: Times
    inside: Forest


Forest = tuple[Union[Row, str], ...]  # noqa: UP007  # loops and statements, one after the other


def forest(node: Node, model: Model) -> Forest:
    """The tree's loops without those that make one iteration, with the least constants and coefficients.

    isl gives no times to iterators that others determine (where `i == j` is asked for): their loops stand inside. Nor
    does it to statements that never run: they come last.
    """
    found = tuple(_plain(_forest(node, model), model.parameter_names()))
    placed = frozenset(_statements(found))
    return _apart((*found, *(s for s in model.placed if s not in placed)), model, {})


def reschedule(trees: Forest, order: Sequence[str]) -> Reschedule:
    """The step that makes these loops; `order` are the nest's statements."""
    maps: dict[str, TimeMap] = {}

    def visit(nodes: Forest, positions: tuple[int, ...], rows: Mapping[str, tuple[Affine, ...]]) -> None:
        for position, node in enumerate(nodes):
            if isinstance(node, str):
                maps[node] = TimeMap(node, (*positions, position), rows.get(node, ()))
            else:
                deeper = {s: (*rows.get(s, ()), time) for s, time in node.times}
                visit(node.inside, (*positions, position), deeper)

    visit(trees, (), {})
    return Reschedule(tuple(maps[s] for s in order))


def _forest(node: Node, model: Model) -> Forest:
    if isinstance(node, Band):
        inside = _forest(node.child, model)
        for row in reversed(node.rows):
            inside = (Row(tuple((s, affine(model, s, linear)) for s, linear in row.items()), inside),)
        return inside
    if isinstance(node, Several):
        parts = [_forest(child, model) for child in node.children]
        if not node.ordered:
            parts.sort(key=lambda part: min(model.order[s] for s in _statements(part)))
        return tuple(one for part in parts for one in part)
    return tuple(sorted(node.names, key=model.order.__getitem__))


def affine(model: Model, statement: str, linear: Linear) -> Affine:
    """A statement's time over the names of its iterators and of parameters."""
    own, others, constant = linear
    names = {isl_name(name): name for name in model.parameter_names()}
    iterators = model.iterators(statement)
    terms = [(iterators[k], value) for k, value in own.items()]
    return Affine.build([*terms, *((names[name], value) for name, value in others.items())], constant)


def _statements(nodes: Forest) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from (s for s, _ in node.times)


def _plain(nodes: Forest, parameters: Collection[str]) -> Iterator[Row | str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif all(time.is_constant for _, time in node.times):
            for value in sorted({time.const for _, time in node.times}):
                yield from _plain(only(node.inside, [s for s, time in node.times if time.const == value]), parameters)
        else:
            yield Row(_least(node.times, parameters), tuple(_plain(node.inside, parameters)))


def _apart(nodes: Forest, model: Model, around: Mapping[str, tuple[Affine, ...]]) -> Forest:
    """With loops around those statements of which iterations would else run at the same time."""
    found: list[Row | str] = []
    for node in nodes:
        if isinstance(node, Row):
            rows = {s: (*around.get(s, ()), time) for s, time in node.times}
            found.append(replace(node, inside=_apart(node.inside, model, rows)))
            continue
        iterators = model.iterators(node)
        matrix = [[time.coefficient(name) for name in iterators] for time in around.get(node, ())]
        missing: list[str] = []
        for name in iterators:
            unit = [int(name == other) for other in iterators]
            if rank([*matrix, unit]) > rank(matrix):
                matrix.append(unit)
                missing.append(name)
        inner: Row | str = node
        for name in reversed(missing):
            direction = 1 if model.loop(node, name).step > 0 else -1
            inner = Row(((node, Affine.of(name, direction)),), (inner,))
        found.append(inner)
    return tuple(found)


def only(nodes: Forest, statements: Collection[str]) -> Forest:
    """The loops and statements that are left when all other statements go."""
    found: list[Row | str] = []
    for node in nodes:
        if isinstance(node, str):
            if node in statements:
                found.append(node)
        elif times := tuple((s, time) for s, time in node.times if s in statements):
            found.append(Row(times, only(node.inside, statements)))
    return tuple(found)


def _least(times: Times, parameters: Collection[str]) -> Times:
    """Without what is added to all of them, and without a common factor."""
    first = dict(times[0][1].terms)
    shared = [
        (name, first.get(name, 0))
        for name in parameters
        if all(t.coefficient(name) == first.get(name, 0) for _, t in times)
    ]
    added = Affine.build([(name, value) for name, value in shared if value], min(t.const for _, t in times))
    moved = [(s, time - added) for s, time in times]
    factor = gcd(*(value for _, time in moved for value in (time.const, *(c for _, c in time.terms))))
    return tuple((s, time.floordiv(factor) if factor > 1 else time) for s, time in moved)
