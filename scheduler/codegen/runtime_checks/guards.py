"""The run-time test in front of transformed code: assumptions hold, arrays do not overlap, no iteration leaves.

Long, because it has all tests of a nest.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from textwrap import indent

import islpy as isl

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import AND, PRODUCT, RELATION, wrap
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.text import INDENT
from scheduler.codegen.runtime_checks.elements import Elements, Given, extremes
from scheduler.codegen.runtime_checks.intervals import Intervals
from scheduler.codegen.runtime_checks.ranges import Ranges
from scheduler.codegen.runtime_checks.rows import Area, Rows, plain_area, rows_test
from scheduler.codegen.tree.ast import Walker
from scheduler.codegen.tree.gaps import gap_free
from scheduler.codegen.tree.nodes import IntExpr
from scheduler.codegen.tree.places import places
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import Access, Array, Constraint, LoopNest, Storage
from scheduler.ir.rename import renamed_nodes
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import counting_names, loops, placed_statements, uses
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.model import Model, QuotaExceeded, isl_name

_MODERATE = 47  # bits of a number that loops count with
_MAY_OVERLAP = (Storage.POINTER, Storage.GLOBAL, Storage.LOCAL)


def runtime_condition(
    nest: LoopNest, model: Model, scheduled: PolyTree | None = None, inspector: LoopNest | None = None
) -> str | None:
    """A C expression that is true when transformed code may run; None when it always may.

    `scheduled`: the transformed loops, where they are not the nest's own.

    It tests that the numbers of 64 bits that loops count with are far from the ends of `long`, that no loop steps
    through a wide gap, the nest's assumptions, and that pointers do not reach into other arrays where one of the two is
    written, and that no iteration leaves the nest, which the `inspector` finds out. Raises CodegenUnsupported where the
    accessed range of such an array is not known.

    The inspector reads memory, as some tests of overlaps do. What comes before it makes sure that it finds what the
    original loops do, and only where these run to their end may more be read.
    """
    try:
        free, counted = "", frozenset[str]()
        if scheduled is not None:
            rows = [row for place in places(scheduled.tree) for _, row in place.loop.rows]
            counted = frozenset(name for row in rows for name in row.names())
            with scheduled.model.quota():  # it may have an isl context of its own
                free = str(gap_free(scheduled))
        with model.quota():
            guard = _Guard(nest, model, counted)
            parts = [*guard.steps(free), *guard.assumptions()]
        if inspector is not None:
            both = with_inspector(nest, inspector)
            model = Model(both)
            guard = _Guard(both, model, counted)
        with model.quota():
            before, behind = guard.overlaps(inspector)
            parts = [*guard.moderate(), *parts, *before]
        if inspector is not None:
            parts.append(_inspection(inspector))
        parts += behind
    except QuotaExceeded as error:
        raise CodegenUnsupported(f"no run-time test within the limits of the polyhedral library: {error}") from error
    return " && ".join(parts) or None


def with_inspector(nest: LoopNest, inspector: LoopNest) -> LoopNest:
    """The nest with the loops of its inspector in front, which have variables of their own."""
    placed = [*placed_statements(inspector)]
    private = {a.name for a in inspector.arrays if a.storage is Storage.PRIVATE}
    taken = {p.name for p in nest.parameters} | {a.name for a in (*nest.arrays, *inspector.arrays)}
    taken |= {loop.name for loop in loops(nest)} | {p.statement.name for p in placed_statements(nest)}
    names: dict[str, str] = {}
    for name in (*private, *(loop.name for loop in loops(inspector)), *(p.statement.name for p in placed)):
        names[name] = free_name(name, taken)
        taken.add(names[name])
    arrays = {name: names[name] for name in private}
    known = {a.name for a in nest.arrays}
    own = (a for a in inspector.arrays if a.name in private or a.name not in known)
    more = (
        replace(a, name=names[a.name], base=a.base or a.name, scope=names[a.scope] if a.scope else None)
        if a.name in private
        else a
        for a in own
    )
    nodes = renamed_nodes(inspector.body, names, arrays)
    return replace(nest, arrays=(*nest.arrays, *more), body=(*nodes, *nest.body))


def _inspection(inspector: LoopNest) -> str:
    """A C expression that is true when no iteration leaves a nest. Raises CodegenUnsupported."""
    lines = ["__label__ pe_left;", "int pe_stays = 0;", *emit_original(inspector).splitlines(), "pe_stays = 1;"]
    text = indent("\n".join([*lines, "pe_left: ;", "pe_stays;"]), INDENT)
    return f"__extension__({{\n{text}\n}})"


def told_apart_by_type(nest: LoopNest, inspector: LoopNest | None = None) -> bool:
    """Whether it is by C's rule alone (-fstrict-aliasing) that arrays are taken not to overlap."""
    nest = nest if inspector is None else with_inspector(nest, inspector)
    stored = {u.access.array for p in placed_statements(nest) for u in uses(p) if u.is_write}
    pointers = [a for a in nest.arrays if a.storage is Storage.POINTER]
    others = [a for a in nest.arrays if a.storage in _MAY_OVERLAP]
    pairs = ((a, b) for a in pointers for b in others if a is not b and {a.name, b.name} & stored)
    return any(not a.same_memory(b) and not a.shares(b) for a, b in pairs)


def untestable(nest: LoopNest, inspector: LoopNest | None = None) -> str:
    """Why there is no such test for a nest as it was read, whatever its schedule; empty where there is one."""
    expanded = expand_privates(nest)
    try:
        if inspector is not None:
            runtime_condition(expanded, Model(expanded), None, inspector)
            return ""
        model = Model(expanded)
        touched = {
            u.access.array
            for s, placed in model.placed.items()
            for u in model.uses(s)
            if not u.access.is_affine or any(loop.is_opaque for loop in placed.loops)
        }
        rows = any(array.rows for array in expanded.arrays)
        if rows or any(nest.array(name).storage in _MAY_OVERLAP for name in touched):
            runtime_condition(expanded, model)
    except (CodegenUnsupported, QuotaExceeded) as problem:
        return str(problem)
    return ""


def _unchecked(element: str) -> str:
    """The address of an element `base[k]` or `base[k].member` without a subscript in it, which would have to exist."""
    base, bracket, rest = element.partition("[")
    if not bracket or not base.isidentifier():
        return f"&{element}"
    depths = accumulate((c == "[") - (c == "]") for c in rest)
    end = next(k for k, depth in enumerate(depths) if depth < 0)
    index, rest = rest[:end], rest[end + 1 :]
    place = f"{base} + {index}" if index.isalnum() else f"{base} + ({index})"
    return f"&({place})->{rest[1:]}" if rest.startswith(".") else f"&(*({place})){rest}" if rest else place


class _Guard:
    def __init__(self, nest: LoopNest, model: Model, counted: frozenset[str]) -> None:
        self.nest = nest
        self.counted = counting_names(nest) | counted
        self.model = model
        self.printer = replace(Printer.of(nest, wide=True), long_parameters=True)
        self.poly = PolyTree(model, ())
        self.walker = Walker(self.poly, {})

    def moderate(self) -> list[str]:
        """That parameters of 64 bits that loops count with, and an unsigned one too, are numbers that `long` holds and
        sums of them as well: no program that ends counts as far as 2**47, and no object has more bytes.

        With it, all that generated code makes of iterators and parameters (sums with small factors) is exact in `long`;
        parameters that are narrower are converted first (`scheduler.codegen.emit.integer_text`).
        """
        tests = []
        for p in self.nest.parameters:
            kind = scalar_type(p.ctype)
            if kind is None or kind.bits < 64 or p.name not in self.counted or p.value is not None:
                continue
            if p.low is not None and p.high is not None and -(1 << _MODERATE) <= p.low <= p.high <= 1 << _MODERATE:
                continue
            tests.append(f"{p.name} >> {_MODERATE} == 0" if not kind.signed else f"pe_moderate({p.name})")
        return tests

    def steps(self, free: str) -> list[str]:
        """That no loop of the schedule steps through a wide gap; `free`: where none does, as isl writes it."""
        if not free:
            return []
        test = self._holds(self._set("0 = 0").intersect(isl.Set.read_from_str(self.model.context, free)))
        return [] if test is None else [wrap(self.printer.integer(test), AND)]

    def assumptions(self) -> list[str]:
        known = self._set(self._known_ranges())
        parts = []
        for constraint in dict.fromkeys(self.nest.assumptions):
            if not known.is_subset(self._set(Model.constraint_text(constraint))):
                parts.append(wrap(self.printer.constraint(constraint), AND))
        return parts

    def _set(self, constraints: str) -> isl.Set:
        return isl.Set.read_from_str(self.model.context, f"{self.model.parameter_prefix()}{{ : {constraints} }}")

    def _known_ranges(self) -> str:
        parts = []
        for p in self.nest.parameters:
            name = isl_name(p.name)
            if p.value is not None:
                parts.append(f"{name} = {p.value}")
            parts += [f"{name} >= {p.low}"] if p.low is not None else []
            parts += [f"{name} <= {p.high}"] if p.high is not None else []
        return " and ".join(parts) or "0 = 0"

    def overlaps(self, inspector: LoopNest | None) -> tuple[list[str], list[str]]:
        """Tests before and behind the inspector; those behind it may read elements."""
        looked = set() if inspector is None else {a.name for a in inspector.arrays}
        accesses: dict[str, list[tuple[str, int]]] = {}
        written: set[str] = set()
        for statement in self.model.placed:
            for index, use in enumerate(self.model.uses(statement)):
                accesses.setdefault(use.access.array, []).append((statement, index))
                if use.is_write:
                    written.add(use.access.array)
        arrays = [a for a in self.nest.arrays if a.name in accesses and a.storage in _MAY_OVERLAP]
        ranges: dict[str, tuple[str, str]] = {}
        intervals = Intervals(self.printer)
        elements = Elements(self.model, intervals, self._bound, self._holds)
        computed = Ranges(self.nest, self.model, intervals, elements)
        parts: list[str] = []
        some: list[str] = []  # no address is formed of an array that has no elements
        before: list[str] = []  # of the pairs that an inspector depends on, with what they need of `some`
        read: set[str] = set()  # arrays whose range is computed of elements
        exists: dict[str, list[str]] = {}
        given = Given(self.nest)

        def range_of(array: Array) -> tuple[str, str]:
            if array.name not in ranges:
                try:
                    first_byte, end, exist = self._range(array, accesses[array.name])
                except CodegenUnsupported as problem:
                    given.check(array, problem)
                    first_byte, end, exist = self._computed(array, computed, problem)
                    read.add(array.name)
                ranges[array.name] = first_byte, end
                exists[array.name] = [given.where(test, array) for test in exist]
                some.extend(exists[array.name])
            return ranges[array.name]

        rows = Rows(self.model, self.printer, self._bound, self._holds)
        areas: dict[str, list[Area]] = {}
        apart: list[frozenset[str]] = []

        def note_rows(array: Array) -> None:
            """What the test of rows needs to know of an array."""
            if array.name not in areas:
                given.check(array)
                if array.rows:
                    touched, corners, exist = self._corners(array, accesses[array.name])
                    some.extend(exist)
                    areas[array.name] = rows.areas(array, touched, corners, array.name in written)
                else:
                    first_byte, end = range_of(array)
                    areas[array.name] = [plain_area(array.name, first_byte, end, array.name in written, array)]

        for k, first in enumerate(arrays):
            if first.rows and any(a.name in written and not self._local_scalar(a) for a in arrays):
                note_rows(first)
            for second in arrays[k + 1 :]:
                with_rows = first.rows or second.rows
                if self._local_scalar(first) or self._local_scalar(second):
                    continue
                if (first.name not in written and second.name not in written) or first.shares(second):
                    apart.append(frozenset((first.name, second.name)))
                    continue
                if Storage.POINTER not in (first.storage, second.storage) or not first.same_memory(second):
                    apart.append(frozenset((first.name, second.name)))
                    if not with_rows:  # else stores may still reach the tables
                        continue
                inspected = bool({first.name, second.name} & looked)
                if with_rows and not inspected:
                    note_rows(first)
                    note_rows(second)
                    continue
                a, b = range_of(first), range_of(second)
                apart.append(frozenset((first.name, second.name)))
                test = given.where(f"pe_apart({a[0]}, {a[1]}, {b[0]}, {b[1]})", first, second)
                if not inspected:
                    parts.append(test)
                elif {first.name, second.name} & read:
                    raise CodegenUnsupported(f"whether {first.name} overlaps {second.name} is not known in time")
                else:
                    before += [*exists[first.name], *exists[second.name], test]
            if first.name in written and not self._local_scalar(first):
                for p in self.nest.parameters:
                    if p.exposed and first.same_memory(Array(p.name, p.ctype)):
                        place = f"&{p.base or p.name}"
                        if first.rows:
                            areas.setdefault(place, [plain_area(p.name, place, f"{place} + 1", False)])
                            continue
                        a = range_of(first)
                        test = given.where(f"pe_apart({a[0]}, {a[1]}, {place}, {place} + 1)", first)
                        if inspector is None:
                            parts.append(test)
                        elif first.name in read:
                            raise CodegenUnsupported(f"whether {first.name} overlaps {p.name} is not known in time")
                        else:
                            before += [*exists[first.name], test]
        tests = [rows_test([area for found in areas.values() for area in found], apart)] if areas else []
        before = list(dict.fromkeys(before))
        found = [*(test for test in dict.fromkeys(some) if test not in before), *parts, *tests]
        declared = intervals.declarations()
        if declared:
            found = [f"__extension__({{\n{indent(declared, INDENT)}{INDENT}{' && '.join(found)}; }})"]
        return before, found

    @staticmethod
    def _computed(array: Array, ranges: Ranges, problem: CodegenUnsupported) -> tuple[str, str, list[str]]:
        """The bytes that are accessed, as the written code computes them; that it knows them."""
        try:
            span = ranges.span(array)
        except CodegenUnsupported:
            raise problem from None
        return f"{span}.pe_first", f"{span}.pe_end", [f"{span}.pe_known"]

    @staticmethod
    def _local_scalar(array: Array) -> bool:
        return array.storage is Storage.LOCAL and array.is_scalar

    def _range(self, array: Array, accesses: list[tuple[str, int]]) -> tuple[str, str, list[str]]:
        """Pointers to the first element accessed and behind the last; the tests that there are such elements."""
        _, corners, exist = self._corners(array, accesses)
        first, last = (self._pointer(array, tuple(ends[k] for ends in corners)) for k in (0, 1))
        return first, f"{last} + 1", exist

    def _pointer(self, array: Array, place: tuple[IntExpr, ...]) -> str:
        """To an element that there may not be: without subscripts that have to be in range, where there are extents."""
        names = [f"__a{k}" for k in range(len(place))]
        access = Access(array.name, tuple(Affine.of(name) for name in names))
        printer = replace(self.printer, values=dict(zip(names, place, strict=True)))
        linear = len(array.shape) < 2 or array.members or array.flat
        if array.rows or array.is_scalar or (linear and array.storage is Storage.POINTER):
            return f"&{printer.access(access)}"
        if array.members or array.flat:
            return _unchecked(printer.access(access))
        text = array.base or array.name
        for subscript in access.subscripts:
            text = f"*({text})" if " + " in text else text
            text += f" + {wrap(printer.subscript(subscript), PRODUCT)}"
        return text

    def _corners(
        self, array: Array, accesses: list[tuple[str, int]]
    ) -> tuple[isl.Set, list[tuple[IntExpr, IntExpr]], list[str]]:
        """The elements accessed, the least and greatest subscript of each dimension; the tests that there are such."""
        touched: isl.Set | None = None
        for statement, index in accesses:
            part = self.model.access_relation(statement, self.model.uses(statement)[index], "unbounded").range()
            touched = part if touched is None else touched.union(part)
        assert touched is not None
        known = self.model.parameter_context()
        corners: list[tuple[IntExpr, IntExpr]] = []
        exist: list[str] = []
        for k, extent in enumerate(array.shape):
            low: IntExpr
            high: IntExpr
            ends = extremes(touched, k)
            if ends is not None:
                low, high = map(self._bound, ends)
            elif extent is not None:
                low, high = Affine.constant(0), extent - 1
            else:
                advice = "" if array.rows else " (declare it restrict)"
                raise CodegenUnsupported(
                    f"which elements of {array.name} are accessed depends on data: whether it overlaps "
                    f"another array cannot be tested{advice}"
                )
            corners.append((low, high))
            if isinstance(low, Affine) and isinstance(high, Affine):
                constraint = Constraint(high - low)
                if not known.is_subset(self._set(Model.constraint_text(constraint))):
                    exist.append(wrap(self.printer.constraint(constraint), AND))
            elif not known.is_subset(touched.params()):
                exist.append(" >= ".join(wrap(self.printer.integer(value), RELATION + 1) for value in (high, low)))
        return touched, corners, exist

    def _holds(self, condition: isl.Set) -> IntExpr | None:
        """None where it holds whenever the nest's assumptions do."""
        context = self.model.parameter_context()
        if context.is_subset(condition):
            return None
        build = isl.AstBuild.from_context(context)
        return self.walker.expr(build.expr_from_set(condition.gist(context)), {})

    def _bound(self, bound: isl.PwAff) -> IntExpr:
        domain = bound.domain()
        build = isl.AstBuild.from_context(domain)
        return self.walker.expr(build.expr_from_pw_aff(bound.gist(domain)), {})
