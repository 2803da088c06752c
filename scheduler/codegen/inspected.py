"""Elements that may be looked at in front of a nest, because it reads them for certain or they are declared."""

from __future__ import annotations

from collections.abc import Callable, Collection

import islpy as isl

from scheduler.codegen.copyable import copied_box
from scheduler.codegen.expr import Printer
from scheduler.codegen.integer_text import OR, wrap
from scheduler.codegen.nodes import IntExpr
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Loop, Storage
from scheduler.ir.tree import PackMark
from scheduler.ir.walk import AccessUse, action_uses
from scheduler.polyhedral.model import Model

NONE = "pe_between(0, -1)"


class Elements:
    """Of the arrays of one nest. `bound` gives a value for a piecewise affine expression, `holds` for a condition."""

    def __init__(
        self,
        model: Model,
        printer: Printer,
        bound: Callable[[isl.PwAff], IntExpr],
        holds: Callable[[isl.Set], IntExpr | None],
    ) -> None:
        self.model, self.printer, self.bound, self.holds = model, printer, bound, holds
        self.parameters = frozenset(model.parameter_names())
        self._certain: dict[str, isl.Set | None] = {}

    def when(self, condition: IntExpr) -> str:
        return wrap(self.printer.integer(condition), OR)

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

    def span_of(self, touched: isl.Set) -> str:
        """From the least to the greatest element; none where there are none."""
        condition = self.holds(touched.params())
        low, high = self.bound(touched.dim_min(0)), self.bound(touched.dim_max(0))
        between = f"pe_between({self.printer.integer(low)[0]}, {self.printer.integer(high)[0]})"
        return between if condition is None else f"{self.when(condition)} ? {between} : {NONE}"

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
