"""Elements that may be read in front of a nest, as it reads them for certain or they are declared; NULL arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection

import islpy as isl

from scheduler.codegen.runtime_checks.intervals import NONE, Interval, Intervals
from scheduler.codegen.tree.copyable import copied_box
from scheduler.codegen.tree.nodes import IntExpr
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Loop, LoopNest, Storage, not_null
from scheduler.ir.tree import PackMark
from scheduler.ir.walk import AccessUse, action_uses
from scheduler.polyhedral.model import Model


class Given:
    """What a nest knows about which of its arrays there are."""

    def __init__(self, nest: LoopNest) -> None:
        self._names = {p.base: p.name for p in nest.parameters if p.base is not None}

    def of(self, array: Array) -> str | None:
        """The name of the parameter that is 0 where the array is NULL; None where there is none."""
        return self._names.get(not_null(array.base or array.name))

    def check(self, array: Array, problem: CodegenUnsupported | None = None) -> None:
        """Raises CodegenUnsupported, or the problem that is given, where the array may be NULL."""
        if self.of(array) is not None:
            raise problem or CodegenUnsupported(f"{array.name} may be NULL: its distance to rows cannot be told")

    def where(self, test: str, *arrays: Array) -> str:
        """A test, as C text, that is made only where none of the arrays is NULL, and passed otherwise."""
        names = [name for array in arrays if (name := self.of(array)) is not None]
        return f"({' || '.join([*(f'!{name}' for name in names), test])})" if names else test


class Elements:
    """Of the arrays of one nest. `bound` gives a value for a piecewise affine expression, `holds` for a condition."""

    def __init__(
        self,
        model: Model,
        intervals: Intervals,
        bound: Callable[[isl.PwAff], IntExpr],
        holds: Callable[[isl.Set], IntExpr | None],
    ) -> None:
        self.model, self.intervals, self.bound, self.holds = model, intervals, bound, holds
        self.parameters = frozenset(model.parameter_names())
        self._certain: dict[str, isl.Set | None] = {}

    def touched(self, access: Access, statements: tuple[str, ...]) -> isl.Set | None:
        """The elements that an affine access reaches in the statements at hand; None where it is not affine."""
        if not access.is_affine:
            return None
        total: isl.Set | None = None
        for statement in statements:
            names = frozenset(self.model.iterators(statement)) | self.parameters
            if not all(s.names() <= names for s in access.subscripts if isinstance(s, Affine)):
                return None
            part = self.model.access_relation(statement, AccessUse(access, False, False)).range()
            total = part if total is None else total.union(part)
        return total

    def certainly(self, array: Array) -> isl.Set | None:
        """The elements that the nest reads or writes whatever the data."""
        if array.name not in self._certain:
            total: isl.Set | None = None
            for statement in self.model.placed:
                opaque = {loop.name for loop in self.model.placed[statement].loops if loop.is_opaque}
                for use in self.model.uses(statement):
                    if use.access.array != array.name or not use.must or not use.access.is_affine:
                        continue
                    if any(s.names() & opaque for s in use.access.subscripts if isinstance(s, Affine)):
                        continue
                    part = self.model.access_relation(statement, use).range()
                    total = part if total is None else total.union(part)
            self._certain[array.name] = total
        return self._certain[array.name]

    def scannable(self, array: Array, touched: isl.Set) -> bool:
        """Whether all elements from the least to the greatest exist, whenever there are any."""
        if extremes(touched, 0) is None:
            return False
        extent = array.shape[0]
        if array.storage is Storage.GLOBAL and not array.flat and extent is not None and extent.is_constant:
            text = f"{{ {touched.get_tuple_name()}[x] : 0 <= x < {extent.const} }}"
            if touched.is_subset(isl.Set.read_from_str(self.model.context, text)):
                return True
        certain = self.certainly(array)
        return certain is not None and bool(box_of(touched).is_subset(box_of(certain)))

    def span_of(self, touched: isl.Set) -> Interval:
        """From the least to the greatest element; none where there are none."""
        condition = self.holds(touched.params())
        low, high = self.bound(touched.dim_min(0)), self.bound(touched.dim_max(0))
        return self.intervals.between_if(condition, low, high, NONE)

    def is_covered(
        self, subscript: Affine, access: Access, statements: tuple[str, ...], covered: Collection[str]
    ) -> bool:
        """Whether a loop over whole rows reads the elements, and nothing decides whether it does."""
        if len(subscript.terms) != 1 or len(statements) != 1:
            return False
        (atom, coefficient), (name,) = subscript.terms[0], statements
        if coefficient != 1 or not isinstance(atom, str) or atom not in covered:
            return False
        placed = self.model.placed[name]
        last = placed.ancestors[-1]
        if not isinstance(last, Loop) or last.name != atom:
            return False
        return any(u.access == access and u.must for u in action_uses(placed.statement.body))


def extremes(points: isl.Set, dimension: int) -> tuple[isl.PwAff, isl.PwAff] | None:
    """The least and the greatest number of a dimension; None where there are none for some values of the parameters."""
    kind = isl.dim_type.set
    if not (points.dim_has_lower_bound(kind, dimension) and points.dim_has_upper_bound(kind, dimension)):
        return None
    try:
        return points.dim_min(dimension), points.dim_max(dimension)
    except isl.Error as error:
        if "unbounded optimum" not in str(error):  # a part of a union has no bound
            raise
        return None


def box_of(touched: isl.Set) -> isl.Set:
    return copied_box(touched, PackMark("", (0,), -1, 0))
