"""Dependences as they are shown, and their distances."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.model import Model, QuotaExceeded


@dataclass(frozen=True, slots=True)
class DependenceView:
    """`distance` has (loop, least, greatest) of sink minus source iterator for every common loop; None is unbounded.

    `source_at`, `sink_at` and `parameters` are one pair of instances that touch the same element.
    """

    kind: str
    source: str
    sink: str
    array: str
    exact: bool
    reduction: bool
    distance: tuple[tuple[str, int | None, int | None], ...]
    source_at: tuple[tuple[str, int], ...]
    sink_at: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, int], ...]


def view(model: Model, dependence: Dependence) -> DependenceView:
    """Leaves the distances unbounded and the example out where isl gives up."""
    loops = model.iterators(dependence.source)[: model.common_loops(dependence.source, dependence.sink)]
    try:
        with model.quota():
            distance = _distances(dependence.relation, loops)
    except QuotaExceeded:
        distance = tuple((loop, None, None) for loop in loops)
    try:
        source_at, sink_at, parameters = _example(model, dependence)
    except QuotaExceeded:
        source_at, sink_at, parameters = (), (), ()
    return DependenceView(
        dependence.kind.value,
        dependence.source,
        dependence.sink,
        dependence.array,
        dependence.exact,
        dependence.reduction,
        distance,
        source_at,
        sink_at,
        parameters,
    )


def _distances(relation: isl.Map, loops: tuple[str, ...]) -> tuple[tuple[str, int | None, int | None], ...]:
    kept = relation
    for side in (isl.dim_type.in_, isl.dim_type.out):
        kept = kept.reset_tuple_id(side) if kept.has_tuple_id(side) else kept
        kept = kept.project_out(side, len(loops), kept.dim(side) - len(loops))
    deltas = kept.deltas()
    return tuple((loop, _whole(deltas.dim_min_val(k)), _whole(deltas.dim_max_val(k))) for k, loop in enumerate(loops))


def _whole(value: isl.Val) -> int | None:
    return value.to_python() if value.is_int() else None


Point = tuple[tuple[str, int], ...]


def _example(model: Model, dependence: Dependence) -> tuple[Point, Point, Point]:
    """The least parameter values and instances where they are bounded below, else any."""
    names = (
        model.parameter_names(),
        model.iterators(dependence.source),
        model.iterators(dependence.sink),
    )
    flat = dependence.relation.wrap().flatten()
    count = flat.dim(isl.dim_type.param)
    flat = flat.insert_dims(isl.dim_type.set, 0, count) if count else flat
    for k in range(count):
        flat = flat.equate(isl.dim_type.param, k, isl.dim_type.set, k)
    flat = flat.project_out(isl.dim_type.param, 0, count)
    with model.quota():
        try:
            point = flat.lexmin().sample_point()
        except isl.Error as error:
            if "max" in str(error).lower():
                raise
            point = flat.sample_point()
    values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(sum(map(len, names)))]
    parts: list[Point] = []
    for group in names:
        parts.append(tuple(zip(group, values[: len(group)], strict=True)))
        values = values[len(group) :]
    return parts[1], parts[2], parts[0]
