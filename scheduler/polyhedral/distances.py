"""Rows over neighbouring loops, solved from the distances of what these loops have to keep in order.

The distance vectors of all dependences that the loops outside leave, over the rows of k loops, are integer sets. Wanted
is the smallest integer vector h with h·d = 0 on all of them (its row may run in parallel outside), h·d >= 1 (it carries
everything: what is inside may run in parallel; Lamport 1974) or h·d >= 0 (it can be part of a permutable band;
Bondhugula et al. 2008). It is found by cutting planes: the smallest h that fits all distances met so far is held
against the sets; a distance that it does not fit is one more to be met.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import product
from math import gcd
from typing import TYPE_CHECKING
from typing import Literal as OneOf

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeNode
from scheduler.polyhedral.legality import Checker
from scheduler.polyhedral.model import affine_text

if TYPE_CHECKING:
    import numpy as np

Wanted = OneOf["parallel", "carries", "keeps"]
Vector = tuple[int, ...]
_LARGEST = {1: 1, 2: 16, 3: 6, 4: 2}  # coefficient, by the number of loops
_CUTS = 32
_VIOLATED = {"parallel": "!= 0", "carries": "<= 0", "keeps": "< 0"}


class Distances:
    """Of the dependences inside `outer` (a loop of a legal tree) along `rows`, each statement -> row; outer first.

    Raises QuotaExceeded.
    """

    def __init__(
        self, checker: Checker, tree: tuple[TreeNode, ...], outer: str, rows: Sequence[Mapping[str, Affine]]
    ) -> None:
        model = checker.model
        self._context = model.context
        self._names = ", ".join(f"d{k}" for k in range(len(rows)))
        self._count = len(rows)
        self._origin = self._set(" and ".join(f"d{k} = 0" for k in range(len(rows))))
        found: dict[str, isl.Set] = {}  # by their text: many dependences have the same distances
        with model.quota():
            for _, dependence, left in checker.unsatisfied(tree, outer, rows[0].keys()):
                source, sink = dependence.source, dependence.sink
                own, other = (frozenset(model.iterators(name)) for name in (source, sink))
                differences = ", ".join(
                    f"({affine_text(row[sink], '_t', other)}) - ({affine_text(row[source], '', own)})" for row in rows
                )
                text = f"{model.tuple_text(source)} -> {model.tuple_text(sink, '_t')}"
                along = isl.Map.read_from_str(
                    self._context, f"{model.parameter_prefix()}{{ [{text}] -> [{differences}] }}"
                )
                distances = left.wrap().apply(along)
                distances = distances.project_out(isl.dim_type.param, 0, distances.dim(isl.dim_type.param))
                found[str(distances)] = distances
        self._sets = tuple(found.values())

    def row(self, wanted: Wanted, *, ends: bool = False) -> Vector | None:
        """The smallest vector as wanted; None if there is none with small coefficients.

        One of its coefficients is 1 or -1, with `ends` the last one. Raises QuotaExceeded.
        """
        import numpy as np  # here, not above: the command line must start fast

        candidates = _vectors(self._count, ends)
        for _ in range(_CUTS):
            if not len(candidates):
                return None
            vector = tuple(int(x) for x in candidates[0])
            distance = self._violated(vector, wanted)
            if distance is None:
                return vector
            along = candidates @ np.array(distance)
            candidates = candidates[{"parallel": along == 0, "carries": along >= 1, "keeps": along >= 0}[wanted]]
        return None

    def _violated(self, vector: Vector, wanted: Wanted) -> Vector | None:
        """A distance that the vector is not as wanted on."""
        along = " + ".join(f"{factor}*d{k}" for k, factor in enumerate(vector) if factor)
        wrong = self._set(f"{along} {_VIOLATED[wanted]}").subtract(self._origin)  # what is equal in all is left inside
        for distances in self._sets:
            both = distances.intersect(wrong)
            if not both.is_empty():
                point = both.sample_point()
                return tuple(int(point.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(self._count))
        return None

    def _set(self, condition: str) -> isl.Set:
        return isl.Set.read_from_str(self._context, f"{{ [{self._names}] : {condition} }}")


@functools.cache
def _vectors(count: int, ends: bool) -> np.ndarray:
    """Primitive vectors with a coefficient of 1 or -1 (with `ends`, at the end), small and positive ones first."""
    import numpy as np

    largest = _LARGEST.get(count, 1)
    last = (1, -1) if ends else range(-largest, largest + 1)
    found = [
        vector
        for vector in product(*([range(-largest, largest + 1)] * (count - 1)), last)
        if gcd(*vector) == 1 and 1 in (abs(x) for x in vector)
    ]
    found.sort(key=lambda v: (sum(map(abs, v)), sum(x < 0 for x in v), v[::-1]))
    return np.array(found, dtype=np.int64).reshape(-1, count)
