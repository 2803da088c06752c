"""The canonical induction variable of a loop, among those that its header changes, and where they are set before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduler.frontend.c_ast import loop_header
from scheduler.frontend.c_ast.arith import is_unsigned, value_range
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Lit,
    Ref,
    Set,
    Step,
    Unmodelled,
    Variable,
    all_expressions,
    bare,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import LONG, as_type, difference, fold, promoted
from scheduler.frontend.c_ast.liveness import mentioned
from scheduler.frontend.c_ast.scalars import declared_inside, stored_variables, target_variable


def start_before(variable: Variable, before: list[CStmt], marked: frozenset[int]) -> tuple[int, CExpr] | None:
    """Where the variable is set before a loop, and to what, if that is still so at the loop."""
    changed: set[Variable] = set()
    for place in range(len(before) - 1, -1, -1):
        stmt = before[place]
        if stmt.begin in marked:
            return None
        value = _set_to(variable, stmt)
        if value is not None:
            parts = list(subexpressions(value))
            if any(isinstance(e, Set | Step | CCall | Unmodelled) for e in parts):
                return None
            named = {e.var for e in parts if isinstance(e, Ref)}
            return None if named & changed or variable in named else (place, value)
        if not isinstance(stmt, ExprStmt | DeclStmt) or variable in mentioned(stmt):
            return None
        for expr in all_expressions(stmt):
            if isinstance(expr, CCall | Unmodelled):
                return None
            if isinstance(expr, Set | Step):
                target = target_variable(expr)
                if target is None or target.address_taken:
                    return None
        changed |= stored_variables(stmt) | (set(stmt.variables) if isinstance(stmt, DeclStmt) else set())
    return None


def _set_to(variable: Variable, stmt: CStmt) -> CExpr | None:
    if isinstance(stmt, ExprStmt):
        expr = strip(stmt.expr)
        plain = isinstance(expr, Set) and expr.op == "=" and target_variable(expr) is variable
        return expr.right if plain and isinstance(expr, Set) else None
    if isinstance(stmt, DeclStmt) and variable in stmt.variables:
        others = [v.init for v in stmt.variables if v is not variable and v.init is not None]
        named = any(isinstance(e, Ref) and e.var is variable for init in others for e in subexpressions(init))
        return None if named else variable.init
    return None


def take_start(variable: Variable, before: list[CStmt], place: int) -> None:
    """The loop's header sets the variable from now on."""
    if isinstance(before[place], DeclStmt):
        variable.init = None
        variable.writes += 1
    else:
        del before[place]


@dataclass(frozen=True, slots=True)
class CanonicalInduction:
    """A loop's iterator, where it starts, its step, and its limit: the iterator `op` that."""

    variable: Variable
    start: CExpr
    step: int
    op: str
    limit: CExpr | None  # None: not known

    @property
    def wraps(self) -> bool:
        """It counts down to 0, and ends at the largest number of its type: `for (i = n - 1; i < n; i--)`."""
        unsigned = self.variable.ctype.kind == "int" and is_unsigned(self.variable.ctype.name)
        if not unsigned or self.step != -1 or self.limit is None:
            return False
        largest = value_range(self.variable.ctype.name)[1]
        return self.op in ("<", "<=") or (self.op == "!=" and fold(self.limit) == largest)

    def done(self, at: int) -> CExpr:
        """How far the iterator is from its start, as a positive number."""
        own = Ref(self.variable, self.variable.ctype, at)
        return difference(own, self.start, at) if self.step > 0 else difference(self.start, own, at)


def inits_of(init: CStmt | None) -> dict[Variable, CExpr] | None:
    """What a header sets; None where it does something else."""
    if init is None:
        return {}
    found: dict[Variable, CExpr] = {}
    if isinstance(init, DeclStmt):
        for variable in init.variables:
            if variable.init is None or variable.ctype.kind not in ("int", "pointer"):
                return None
            found[variable] = variable.init
    elif isinstance(init, ExprStmt):
        for part in assignments(init.expr):
            name = target_variable(part)
            if not isinstance(part, Set) or part.op != "=" or name is None or name in found:
                return None
            found[name] = part.right
    else:
        return None
    parts = [e for value in found.values() for e in subexpressions(value)]
    if any(isinstance(e, Set | Step | Unmodelled) or (isinstance(e, CCall) and len(found) > 1) for e in parts):
        return None
    for variable, value in found.items():  # what is set must not be what others are made of
        if any(isinstance(e, Ref) and e.var in found and e.var is not variable for e in subexpressions(value)):
            return None
    return found


def commas(expr: CExpr | None) -> list[CExpr]:
    if expr is None:
        return []
    expr = bare(expr)
    if isinstance(expr, Bin) and expr.op == ",":
        return [*commas(expr.left), *commas(expr.right)]
    return [expr]


def assignments(expr: CExpr) -> list[CExpr]:
    """The parts of an expression with commas; of `i = j = 0`, of variables of one type, `j = 0` and `i = 0`."""
    found: list[CExpr] = []
    for part in commas(expr):
        chain = [part]
        while isinstance(last := chain[-1], Set) and isinstance(inner := strip(last.right), Set) and inner.op == "=":
            chain.append(inner)
        value = last.right if isinstance(last, Set) else last
        named = {v for e in chain if (v := target_variable(e)) is not None}
        alike = len(named) == len(chain) and len({v.ctype.name for v in named}) == 1
        if (
            len(chain) > 1
            and alike
            and fold(value) is not None
            and all(isinstance(e, Set) and e.op == "=" for e in chain)
        ):
            found += [replace(e, right=value) for e in reversed(chain) if isinstance(e, Set)]
        else:
            found.append(part)
    return found


def count_of(
    loop: ForStmt, inits: dict[Variable, CExpr], increments: list[CExpr]
) -> tuple[CanonicalInduction, CExpr | None, CExpr] | None:
    """The iterator, and the increment and condition that are its own."""
    assert loop.condition is not None
    if loop.increment is None:
        if len(inits) != 1 or not loop_header.counts(loop):
            return None
        (own,) = inits
        one = Lit("1", 1, INT, loop.begin)
        kind = promoted(own.ctype)
        first = Bin("-", as_type(inits[own], kind), as_type(one, kind), kind, loop.begin)
        return CanonicalInduction(own, first, -1, "", None), None, loop.condition
    found: list[tuple[CanonicalInduction, CExpr, CExpr, bool]] = []
    for increment in increments:
        variable = target_variable(increment)
        if variable is None:
            return None
        start = inits.get(variable, Ref(variable, variable.ctype, loop.begin))
        setting = Set("=", Ref(variable, variable.ctype, loop.begin), start, variable.ctype, loop.begin)
        single = replace(loop, init=ExprStmt(setting, loop.begin, loop.begin), increment=increment)
        if not loop_header.counts(single):
            continue
        step = loop_header.step_of(single, variable)
        met = _met(loop.condition, variable, step, inits, increments)
        condition = loop.condition if met is None else met
        if step is not None:
            op, limit = limit_of(condition, variable)
            found.append((CanonicalInduction(variable, start, step, op, limit), increment, condition, met is not None))
    best = next((f for f in found if f[3]), found[0] if found else None)
    return None if best is None else best[:3]


def _met(
    condition: CExpr, variable: Variable, step: int | None, inits: dict[Variable, CExpr], increments: list[CExpr]
) -> CExpr | None:
    """`i < (i0 + j0 + 1) >> 1` for `i < j`, of two iterators that go towards each other."""
    test = strip(condition)
    if step != 1 or not isinstance(test, Bin) or test.op not in ("<", "<="):
        return None
    left, right = strip(test.left), strip(test.right)
    if not isinstance(left, Ref) or not isinstance(right, Ref) or left.var is not variable:
        return None
    other = right.var
    steps = [e for e in increments if target_variable(e) is other]
    if len(steps) != 1 or left.ctype.name != right.ctype.name or left.ctype.name not in ("int", "long"):
        return None
    found = loop_header.step_by(steps[0], other)
    if found is None or not found[1] or fold(found[0]) != 1:
        return None
    at = condition.at
    first, last = as_type(inits.get(variable, left), LONG), as_type(inits.get(other, right), LONG)
    one = Lit("1", 1, LONG, at)
    whole: CExpr = Bin("+", first, last, LONG, at)
    # i <= j holds as long as i <= floor((i0 + j0) / 2); i < j as long as i < floor((i0 + j0 + 1) / 2)
    whole = whole if test.op == "<=" else Bin("+", whole, one, LONG, at)
    return Bin(test.op, as_type(left, LONG), Bin(">>", whole, one, LONG, at), INT, at)


def limit_of(condition: CExpr, variable: Variable) -> tuple[str, CExpr | None]:
    """The comparison, the iterator on its left."""
    test = strip(condition)
    flip = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
    if not isinstance(test, Bin) or test.op not in flip:
        return "", None
    if isinstance(own := strip(test.left), Ref) and own.var is variable:
        return test.op, test.right
    if isinstance(own := strip(test.right), Ref) and own.var is variable:
        return flip[test.op], test.left
    return "", None


def changed_in(loop: ForStmt) -> list[Variable]:
    """Every variable that the loop assigns, its header's too, as often as it does, and those that it declares."""
    found = [v for e in all_expressions(loop) if (v := target_variable(e)) is not None]
    found += declared_inside((loop.body,))
    if isinstance(loop.init, DeclStmt):
        found += loop.init.variables
    return found
