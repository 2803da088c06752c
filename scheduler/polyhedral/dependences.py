"""Memory-based dependences of a nest: which instance must stay before which.

For two accesses of one array of which at least one writes, every pair of instances that touch the same
element, in the order the source runs them, is a dependence. Memory-based dependences constrain orders
exactly as much as value-based flow with all anti and output dependences do (the former are in the
transitive closure of the latter), and they stay sound when writes or subscripts are only known
approximately. PRIVATE arrays are ordinary storage here: their expansion (`normalize.scalars`) is what
removes the dependences of a re-used temporary.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.polyhedral.model import Model, affine_text, isl_name
from scheduler.polyhedral.updates import Update


class Kind(Enum):
    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """`relation`: source statement instances -> sink statement instances (never empty).

    `exact` is False where opaque bounds, subscripts or may-accesses over-approximate it.
    `update`: both ends are this same update (`s += …`) of one element.
    `same_subscripts`: both ends spell the same access.
    """

    source: str
    sink: str
    array: str
    kind: Kind
    relation: isl.Map
    exact: bool
    update: Update | None
    same_subscripts: bool

    @property
    def reduction(self) -> bool:
        return self.update is not None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.source} -> {self.sink} on {self.array}"


def compute_dependences(model: Model) -> tuple[Dependence, ...]:
    """All dependences of the nest, in a deterministic order.

    Raises QuotaExceeded when isl needs too long.
    """
    touched: dict[str, list[tuple[str, Access, bool, bool]]] = {}
    for statement in model.placed:
        seen: dict[tuple[Access, bool], bool] = {}
        for use in model.uses(statement):
            key = (use.access, use.is_write)
            seen[key] = seen.get(key, False) or use.must
        for (access, is_write), must in seen.items():
            touched.setdefault(access.array, []).append((statement, access, is_write, must))
    found: list[Dependence] = []
    with_quota = model.quota()
    for array_name, accesses in touched.items():
        if not any(is_write for _, _, is_write, _ in accesses):
            continue
        for source, source_access, source_writes, source_must in accesses:
            for sink, sink_access, sink_writes, sink_must in accesses:
                if not (source_writes or sink_writes):
                    continue
                text = earlier_text(model, source, source_access, sink, sink_access)
                if text is None:
                    continue
                relation = isl.Map.read_from_str(model.context, text)
                with with_quota:
                    if relation.is_empty():
                        continue
                kind = Kind.FLOW if source_writes and not sink_writes else Kind.OUTPUT if source_writes else Kind.ANTI
                found.append(
                    Dependence(
                        source,
                        sink,
                        array_name,
                        kind,
                        relation,
                        exact=source_must and sink_must and source_access.is_affine and sink_access.is_affine,
                        update=_update(model, source, sink, source_access, sink_access),
                        same_subscripts=source_access == sink_access,
                    )
                )
    return tuple(found)


def _update(model: Model, source: str, sink: str, source_access: Access, sink_access: Access) -> Update | None:
    if source != sink or source_access != sink_access:
        return None
    update = model.update(source, source_access.array)
    return update if update is not None and source_access in update.accesses else None


def earlier_text(model: Model, source: str, source_access: Access, sink: str, sink_access: Access) -> str | None:
    """isl text of {source -> sink : same element, source runs first}; None when plainly empty."""
    s_names, t_names = frozenset(model.iterators(source)), frozenset(model.iterators(sink))
    same: list[str] = []
    for a, b in zip(source_access.subscripts, sink_access.subscripts, strict=True):
        if isinstance(a, Affine) and isinstance(b, Affine):
            difference = a - b
            if difference.is_constant and difference.const and not (a.names() & s_names):
                return None
            same.append(f"{affine_text(a, '', s_names)} = {affine_text(b, '_t', t_names)}")
    common = model.common_loops(source, sink)
    orders: list[str] = []
    equal: list[str] = []
    for name in model.iterators(source)[:common]:
        step = model.loop(source, name).step
        n = isl_name(name)
        orders.append(" and ".join([*equal, f"{n} < {n}_t" if step > 0 else f"{n} > {n}_t"]))
        equal.append(f"{n} = {n}_t")
    if model.order[source] < model.order[sink]:
        orders.append(" and ".join(equal) or "0 = 0")
    if not orders:
        return None
    conditions = [model.domain_text(source), model.domain_text(sink, "_t"), *same]
    conditions.append("(" + " or ".join(f"({o})" for o in orders) + ")")
    return (
        f"{model.parameter_prefix()}{{ {model.tuple_text(source)} -> {model.tuple_text(sink, '_t')} : "
        f"{' and '.join(conditions)} }}"
    )
