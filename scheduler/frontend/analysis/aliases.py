"""Which pointers of a file are known to point to different objects, or to the same one."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    CFunction,
    Cond,
    Conv,
    DeclStmt,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    ReturnStmt,
    Set,
    Un,
    Unit,
    Unmodelled,
    Variable,
    subexpressions,
    whole_expressions,
    whole_statements,
)

_FRESH = ("malloc", "calloc", "aligned_alloc", "valloc", "memalign")
_DEPTH = 5
_HARMLESS = frozenset(
    ("free", "memcpy", "memmove", "memset", "memcmp", "printf", "fprintf", "puts", "fputs", "fwrite", "fread", "write")
)

Objects = frozenset[Variable]


class Aliases:
    """Built once a file. An object is named by the array, or by the one pointer a fresh allocation is kept in."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.sources: dict[Variable, list[CExpr]] = {}
        self.leaked: set[Variable] = set()  # their value flows into another variable or memory
        self.passed: dict[Variable, list[tuple[str, int]]] = {}
        self.calls: dict[str, list[CCall]] = {}
        self.owner: dict[Variable, CFunction] = {}
        self._exclusive: dict[Variable, bool] = {}
        for function in unit.functions.values():
            if not function.part_of:
                self._scan(function)

    def _scan(self, function: CFunction) -> None:
        for parameter in function.parameters:
            self.owner[parameter] = function
        for stmt in whole_statements(function.body):
            if isinstance(stmt, DeclStmt):
                for variable in stmt.variables:
                    if variable.init is not None:
                        self._flow(variable, variable.init)
            elif isinstance(stmt, ReturnStmt) and stmt.value is not None and not stmt.value.ctype.is_scalar:
                self.leaked.update(_pointers(stmt.value))
        for expr in whole_expressions(function.body):
            if isinstance(expr, CCall):
                name = expr.function
                self.calls.setdefault(name, []).append(expr)
                for position, argument in enumerate(expr.arguments):
                    for variable in _pointers(argument):
                        self.passed.setdefault(variable, []).append((name, position))
            elif isinstance(expr, Unmodelled):
                self.leaked.update(_pointers(expr))
            elif isinstance(expr, Set) and expr.left.ctype.kind in ("pointer", "record"):
                if isinstance(expr.left, Items):  # all numbers of a structure
                    continue
                if isinstance(expr.left, Ref):
                    self._flow(expr.left.var, expr.right)
                else:
                    self.leaked.update(_pointers(expr.right))

    def _flow(self, target: Variable, source: CExpr) -> None:
        if target.ctype.kind == "pointer":
            self.sources.setdefault(target, []).append(source)
            if not _fresh(source):
                self.leaked.update(_pointers(source))
        elif target.ctype.kind != "int" and target.ctype.kind != "float":
            self.leaked.update(_pointers(source))

    def copied(self, copy: Variable, original: Variable) -> None:
        """A copy of a variable holds what the variable holds."""
        if original in self.sources:
            self.sources[copy] = self.sources[original]
        if original in self.passed:
            self.passed[copy] = self.passed[original]
        if original in self.leaked:
            self.leaked.add(copy)

    def set_to(self, variable: Variable, source: CExpr) -> None:
        """A pointer that is declared in a copy of a text has this value."""
        self.sources[variable] = [*self.sources.get(variable, ()), source]

    # ---------------------------------------------------------------------------------- questions

    def exclusive(self, variable: Variable) -> bool:
        """A pointer that only ever holds fresh memory no other pointer is derived from."""
        if variable not in self._exclusive:
            self._exclusive[variable] = False
            self._exclusive[variable] = (
                variable.ctype.kind == "pointer"
                and (variable.storage in ("local", "static") or (variable.storage == "global" and variable.internal))
                and not variable.address_taken
                and (variable.storage == "local" or variable.init is None or _null(variable.init))
                and any(_fresh(s) for s in self.sources.get(variable, ()))
                and all(_fresh(s) or _null(s) for s in self.sources.get(variable, ()))
                and not self._captured(variable, _DEPTH)
            )
        return self._exclusive[variable]

    def _captured(self, variable: Variable, depth: int) -> bool:
        """Its value may be kept somewhere else."""
        if variable in self.leaked or depth == 0:
            return True
        for name, position in self.passed.get(variable, ()):
            if name in _HARMLESS:
                continue
            function = self.unit.functions.get(name)
            if function is None or position >= len(function.parameters):
                return True
            if self._captured(function.parameters[position], depth - 1):
                return True
        return False

    def objects(self, variable: Variable, depth: int = _DEPTH) -> Objects | None:
        """What a variable is or points into, as seen in its own function; None where that is not known."""
        if not _is_pointer(variable):
            return frozenset((variable,))
        if self.exclusive(variable):
            return frozenset((variable,))
        if depth == 0 or variable.address_taken or variable.storage != "local":
            return None
        found: set[Variable] = set()
        for source in self.sources.get(variable, ()):
            roots = _roots(source)
            if roots is None:
                return None
            for root in roots:
                below = self.objects(root, depth - 1)
                if below is None:
                    return None
                found |= below
        return frozenset(found) or None

    def apart(self, first: Variable, second: Variable, depth: int = _DEPTH) -> bool:
        """They never reach the same memory, by what the file says."""
        if first is second or depth == 0:
            return False
        if self.exclusive(first) or self.exclusive(second):
            return True
        if _is_parameter(first) or _is_parameter(second):
            return self._apart_at_calls(first, second, depth)
        a, b = self.objects(first), self.objects(second)
        return a is not None and b is not None and not a & b

    def may_derive(self, pointer: Variable, base: Variable, depth: int = _DEPTH) -> bool:
        """The pointer variable may have been computed from another one."""
        if base not in self.leaked and base not in self.passed:
            return False
        if depth == 0 or pointer.address_taken:
            return True
        for source in self.sources.get(pointer, ()):
            if _fresh(source) or _null(source):
                continue
            roots = _roots(source)
            if roots is None or base in roots:
                return True
            if any(self.may_derive(r, base, depth - 1) for r in roots if r.ctype.kind == "pointer"):
                return True
        return False

    def reached(self, variables: Iterable[Variable]) -> set[Variable]:
        """The variables, and for pointers those that their values are made of."""
        found = set(variables)
        pending = list(found)
        while pending:
            for source in self.sources.get(pending.pop(), ()):
                more = _pointers(source) - found
                found |= more
                pending += more
        return found

    def same(self, first: Variable, second: Variable) -> bool:
        """They are known to share an object."""
        a, b = self.objects(first), self.objects(second)
        return first is not second and a is not None and b is not None and bool(a & b)

    def _apart_at_calls(self, first: Variable, second: Variable, depth: int) -> bool:
        """Compare what is passed, at every call of a static function."""
        function = self.owner.get(first if _is_parameter(first) else second)
        if function is None or not function.is_static or function.name in self.unit.function_values:
            return False
        sites = self.calls.get(function.name, [])
        for call in sites:
            one, other = self._passed(function, call, first), self._passed(function, call, second)
            if one is None or other is None:
                return False
            if not self._values_apart(one, other, depth) and not self._values_apart(other, one, depth):
                return False
        return bool(sites)

    def _values_apart(self, one: CExpr, other: CExpr, depth: int) -> bool:
        roots, others = _roots(one), _roots(other)
        if roots is None:
            return False
        if all(self.exclusive(r) for r in roots) and not any(
            isinstance(e, Ref) and e.var in roots for e in subexpressions(other)
        ):
            return True
        return others is not None and all(self.apart(a, b, depth - 1) for a in roots for b in others)

    def _passed(self, function: CFunction, call: CCall, variable: Variable) -> CExpr | None:
        if not _is_parameter(variable):
            # A global keeps its name at the call; a local of the callee has no meaning there.
            return Ref(variable, variable.ctype, call.at) if variable.storage in ("global", "static") else None
        if variable not in function.parameters or variable.writes or variable.address_taken:
            return None
        position = function.parameters.index(variable)
        return call.arguments[position] if position < len(call.arguments) else None


def _is_pointer(variable: Variable) -> bool:
    return variable.ctype.kind == "pointer" or _is_parameter(variable)


def _is_parameter(variable: Variable) -> bool:
    """A parameter that is a pointer (or declared as an array)."""
    return variable.storage == "param" and variable.ctype.kind in ("pointer", "array")


def _pointers(expr: CExpr) -> set[Variable]:
    """Variables whose pointer value may be part of the value of an expression."""
    roots = _roots(expr)
    if roots is not None:
        return set(roots)
    if expr.ctype.is_scalar and not isinstance(expr, CCall):
        return set()
    return {e.var for e in subexpressions(expr) if isinstance(e, Ref) and e.var.ctype.kind in ("pointer", "array")}


def _null(expr: CExpr) -> bool:
    while isinstance(expr, Conv):
        expr = expr.operand
    return isinstance(expr, Lit)


def _fresh(expr: CExpr) -> bool:
    while isinstance(expr, Conv):
        expr = expr.operand
    return isinstance(expr, CCall) and expr.name in _FRESH


def _roots(expr: CExpr) -> Objects | None:
    """The variables whose object a pointer value points into; None where that is not known."""
    match expr:
        case Ref(var=var):
            return frozenset((var,)) if var.ctype.kind in ("pointer", "array") else frozenset()
        case Conv(operand=operand):
            return _roots(operand)
        case Bin(op="+" | "-", left=left, right=right):
            side = left if left.ctype.kind in ("pointer", "array") else right
            return _roots(side)
        case Cond(then=then, orelse=orelse):
            a, b = _roots(then), _roots(orelse)
            return None if a is None or b is None else a | b
        case Un(op="&", operand=operand):
            return _base(operand)
        case Index() if expr.ctype.kind == "array":
            return _base(expr)
        case Lit():
            return frozenset()
    return None


def _base(expr: CExpr) -> Objects | None:
    """The variable an lvalue is part of."""
    if isinstance(expr, Ref):
        return frozenset((expr.var,))
    if isinstance(expr, Index):
        if isinstance(expr.base, Index) and expr.base.ctype.kind == "pointer":
            return None
        return _roots(expr.base) if expr.base.ctype.kind in ("pointer", "array") else None
    if isinstance(expr, Member) and not expr.arrow:
        return _base(expr.base)
    return None
