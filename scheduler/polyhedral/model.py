"""The one door to islpy: iteration domains, access relations and conditions of a nest.

Everything is built from text in isl's notation; isl objects never serve as keys or identities
(equal sets may hash differently).
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Constraint, Guard, Loop, LoopNest, Predicate
from scheduler.ir.walk import AccessUse, Placed, placed_statements, uses
from scheduler.polyhedral.updates import Update, update_of

_KEYWORDS = frozenset(
    [
        "and",
        "or",
        "not",
        "exists",
        "exist",
        "implies",
        "mod",
        "floor",
        "floord",
        "ceil",
        "ceild",
        "min",
        "max",
        "true",
        "false",
        "rat",
        "infty",
        "infinity",
        "nan",
        "domain",
        "schedule",
        "filter",
        "sequence",
        "set",
        "leaf",
        "mark",
        "context",
        "extension",
        "guard",
        "expansion",
        "options",
        "permutable",
        "coincident",
        "child",
        "contraction",
        "anchored",
    ]
)

_OPERATIONS_QUOTA = 1_000_000  # isl operations a query, up to ten seconds; beyond it the answer is Unknown


class QuotaExceeded(SchedulerError):
    """An isl query was given up because it needed too many operations."""


def isl_name(name: str) -> str:
    """The name of an iterator or parameter as isl may read it."""
    return f"{name}_" if name.casefold() in _KEYWORDS else name


def affine_text(expr: Affine, suffix: str = "", iterators: frozenset[str] = frozenset()) -> str:
    """isl text of an expression; names in `iterators` get the suffix (to tell sink from source)."""
    parts = [str(expr.const)] if expr.const or not expr.terms else []
    for atom, coefficient in expr.terms:
        if isinstance(atom, FloorDiv):
            body = f"floor(({affine_text(atom.numerator, suffix, iterators)})/{atom.denominator})"
        else:
            body = isl_name(atom) + (suffix if atom in iterators else "")
        parts.append(f"{coefficient}*{body}")
    return " + ".join(parts).replace("+ -", "- ")


class Model:
    """The polyhedral view of one nest. Not shared between threads: it owns an isl context."""

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.context = isl.Context()
        self.context.set_ast_build_scale_strides(0)  # loops stand at their times, which packing and guards refer to
        self.context.set_ast_build_exploit_nested_bounds(0)  # an outer loop runs only where an inner one does
        self.placed: dict[str, Placed] = {p.statement.name: p for p in placed_statements(nest)}
        self.order: dict[str, int] = {name: k for k, name in enumerate(self.placed)}
        self._iterators = {name: tuple(loop.name for loop in p.loops) for name, p in self.placed.items()}
        self._uses = {name: uses(p) for name, p in self.placed.items()}
        self._arrays = {array.name: array for array in nest.arrays}
        self._updates: dict[tuple[str, str], Update | None] = {}
        self._positions = {name: self._textual_path(name) for name in self.placed}
        self._opaque = tuple(
            dict.fromkeys(loop.name for p in self.placed.values() for loop in p.loops if loop.is_opaque)
        )

    # -------------------------------------------------------------------------- plain questions

    def iterators(self, statement: str) -> tuple[str, ...]:
        """Names of the loops around a statement, outermost first."""
        return self._iterators[statement]

    def uses(self, statement: str) -> tuple[AccessUse, ...]:
        return self._uses[statement]

    def update(self, statement: str, array: str) -> Update | None:
        """How a statement updates an array; None where it does not, or the order of its instances matters."""
        key = (statement, array)
        if key not in self._updates:
            body = self.placed[statement].statement.body
            self._updates[key] = update_of(body, self.uses(statement), array, self._arrays)
        return self._updates[key]

    def loop(self, statement: str, iterator: str) -> Loop:
        return next(loop for loop in self.placed[statement].loops if loop.name == iterator)

    def common_loops(self, first: str, second: str) -> int:
        """How many outermost loops two statements share."""
        pairs = zip(self.placed[first].loops, self.placed[second].loops, strict=False)
        count = 0
        for a, b in pairs:
            if a.name != b.name:
                break
            count += 1
        return count

    def _textual_path(self, statement: str) -> int:
        return self.order[statement]

    # ------------------------------------------------------------------------------ isl objects

    def parameter_names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.nest.parameters)

    def parameter_prefix(self, opaque: str = "unbounded") -> str:
        names = [isl_name(n) for n in self.parameter_names()]
        if opaque == "parameters":
            names += [name for p in self._opaque for name in (f"__lo_{p}", f"__hi_{p}")]
        return f"[{', '.join(names)}] -> "

    def context_text(self) -> str:
        """Conditions every execution of generated code satisfies: known ranges and assumptions."""
        parts = []
        for p in self.nest.parameters:
            if p.value is not None:
                parts.append(f"{isl_name(p.name)} = {p.value}")
                continue
            if p.low is not None:
                parts.append(f"{isl_name(p.name)} >= {p.low}")
            if p.high is not None:
                parts.append(f"{isl_name(p.name)} <= {p.high}")
        parts += [self.constraint_text(c) for c in self.nest.assumptions]
        return " and ".join(parts) or "0 = 0"

    def parameter_context(self, opaque: str = "unbounded") -> isl.Set:
        return isl.Set.read_from_str(self.context, f"{self.parameter_prefix(opaque)}{{ : {self.context_text()} }}")

    @staticmethod
    def constraint_text(c: Constraint, suffix: str = "", iterators: frozenset[str] = frozenset()) -> str:
        text = affine_text(c.affine, suffix, iterators)
        if c.kind == "mod":
            return f"({text}) mod {c.modulus} = 0"
        return f"{text} {'=' if c.kind == '==' else '>='} 0"

    def domain_text(
        self,
        statement: str,
        suffix: str = "",
        opaque: str = "unbounded",
        spelled: Callable[[Affine], Affine] = lambda bound: bound,
    ) -> str:
        """The condition on a statement's iterators (each with `suffix`) under which it runs.

        `spelled` says how a bound of a loop is written where it is known to have the same value.
        """
        placed = self.placed[statement]
        names = frozenset(self._iterators[statement])
        parts = [self.context_text()]
        for ancestor in placed.ancestors:
            if isinstance(ancestor, Loop):
                parts.append(self._loop_text(ancestor, suffix, names, opaque, spelled))
            elif isinstance(ancestor, Guard):
                parts.append(
                    "("
                    + " or ".join(
                        "(" + (" and ".join(self.constraint_text(c, suffix, names) for c in conj) or "0 = 0") + ")"
                        for conj in ancestor.condition
                    )
                    + ")"
                )
            else:
                assert isinstance(ancestor, Predicate)  # depends on data: no affine condition
        return " and ".join(parts)

    def _loop_text(
        self, loop: Loop, suffix: str, names: frozenset[str], opaque: str, spelled: Callable[[Affine], Affine]
    ) -> str:
        name = isl_name(loop.name) + suffix
        if loop.is_opaque:
            if opaque == "unbounded":
                return "0 = 0"
            if loop.step > 0:
                return f"__lo_{loop.name} <= {name} < __hi_{loop.name}"
            return f"__hi_{loop.name} < {name} <= __lo_{loop.name}"
        assert isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)
        up = loop.step > 0
        parts = [f"{name} {'>=' if up else '<='} {affine_text(spelled(a), suffix, names)}" for a in loop.start]
        parts += [f"{name} {'<' if up else '>'} {affine_text(spelled(a), suffix, names)}" for a in loop.stop]
        if abs(loop.step) != 1:
            parts.append(f"({name} - ({affine_text(loop.start[0], suffix, names)})) mod {abs(loop.step)} = 0")
        return " and ".join(parts)

    def tuple_text(self, statement: str, suffix: str = "") -> str:
        return f"{statement}[{', '.join(isl_name(i) + suffix for i in self._iterators[statement])}]"

    def domain(self, statement: str, opaque: str = "parameters") -> isl.Set:
        """S0[i, j]: the iterations of a statement.

        An opaque loop p has the bounds `__lo_p <= p < __hi_p` (fresh parameters), or, with
        opaque="unbounded", none at all.
        """
        return isl.Set.read_from_str(
            self.context,
            f"{self.parameter_prefix(opaque)}{{ {self.tuple_text(statement)} : "
            f"{self.domain_text(statement, '', opaque)} }}",
        )

    def access_relation(self, statement: str, use: AccessUse, opaque: str = "unbounded") -> isl.Map:
        """S0[i, j] -> A[subscripts] in the statement's domain; opaque subscripts are unconstrained."""
        return self._accesses(statement, use, opaque, self.domain_text(statement, "", opaque))

    def subscripts(self, statement: str, use: AccessUse, opaque: str = "unbounded") -> isl.Map:
        """`access_relation` whatever the statement's domain, for sets that lie in it."""
        return self._accesses(statement, use, opaque, "0 = 0")

    def _accesses(self, statement: str, use: AccessUse, opaque: str, domain: str) -> isl.Map:
        names = frozenset(self._iterators[statement])
        dims, conditions = [], [domain]
        for k, subscript in enumerate(use.access.subscripts):
            dims.append(f"__a{k}")
            if isinstance(subscript, Affine):
                conditions.append(f"__a{k} = {affine_text(subscript, '', names)}")
        return isl.Map.read_from_str(
            self.context,
            f"{self.parameter_prefix(opaque)}{{ {self.tuple_text(statement)} -> "
            f"{isl_name(use.access.array)}[{', '.join(dims)}] : {' and '.join(conditions)} }}",
        )

    def quota(self, operations: int = _OPERATIONS_QUOTA) -> Quota:
        """A context manager: isl work inside it is bounded and raises QuotaExceeded beyond."""
        return Quota(self.context, operations)


class Quota:
    """Bounds the isl operations between enter and exit."""

    def __init__(self, context: isl.Context, operations: int) -> None:
        self._context = context
        self._operations = operations

    def __enter__(self) -> None:
        self._context.reset_operations()
        self._context.set_max_operations(self._operations)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._context.set_max_operations(0)
        self._context.reset_operations()
        if isinstance(error, isl.Error):  # a parse cut short by the quota says "syntax error"
            raise QuotaExceeded(f"the polyhedral library gave up: {error}") from error
