"""Proves that a tree runs instances as a matrix does."""

from collections.abc import Callable, Sequence

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.matrices.sample import Matrix
from scheduler.polyhedral.model import Model, affine_text
from scheduler.transform.reschedule import Reschedule


def times(model: Model, rows: Callable[[str], Sequence[Affine]]) -> dict[str, isl.Map]:
    """{instance -> time} of every statement."""
    found = {}
    for name in model.placed:
        names = frozenset(model.iterators(name))
        time = ", ".join(affine_text(row, "", names) for row in rows(name))
        text = f"{{ {model.tuple_text(name)} -> [{time}] : {model.domain_text(name)} }}"
        found[name] = isl.Map.read_from_str(model.context, model.parameter_prefix() + text)
    return found


def matrix_times(model: Model, matrix: Matrix) -> dict[str, isl.Map]:
    return times(model, lambda name: [row[name] for row in matrix])


def tree_times(model: Model, tree: Reschedule) -> dict[str, isl.Map]:
    deepest = max(len(one.rows) for one in tree.maps)
    maps = {one.statement: one for one in tree.maps}

    def vector(name: str) -> list[Affine]:
        one = maps[name]
        found = [Affine.constant(one.positions[0])]
        for row, position in zip(one.rows, one.positions[1:], strict=True):
            found += [row, Affine.constant(position)]
        return found + [Affine.constant(0)] * (2 * deepest + 1 - len(found))

    return times(model, vector)


def same_order(model: Model, first: dict[str, isl.Map], second: dict[str, isl.Map]) -> bool:
    """Whether all instances that run one after the other in `first` do so in `second`."""
    return all(
        first[a].lex_lt_map(first[b]).is_subset(second[a].lex_lt_map(second[b]))
        for a in model.placed
        for b in model.placed
    )
