"""What functions do besides computing a value: the variables they assign, and whether they store elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler.frontend.c_ast.csyntax import (
    ASSERTIONS,
    CCall,
    CExpr,
    CFunction,
    DeclStmt,
    ForStmt,
    Items,
    OtherStmt,
    Ref,
    Set,
    Step,
    Un,
    Unit,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.scalars import base_variable, declared_inside


@dataclass(slots=True)
class Effect:
    """Of a function and all it calls. `stores`: into objects that are not its own; `assigned`: variables by name.

    `changed`: arrays of its own that it may store into, itself or by what it calls.
    """

    assigned: set[Variable] = field(default_factory=set)
    changed: set[Variable] = field(default_factory=set)
    stores: bool = False


class ModRef:
    """Of the functions of a file, each looked at once."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._known: dict[str, Effect] = {}
        self._blocks: dict[str, bool] = {}

    def of(self, function: CFunction) -> Effect:
        known = self._known.get(function.name)
        if known is None:
            known = self._known[function.name] = Effect()
            for called in self._reached(function):
                self._add(known, called)
        return known

    def _reached(self, function: CFunction) -> list[CFunction]:
        """The function and those it calls, directly or not."""
        found = {function.name: function}
        pending = [function]
        while pending:
            for expr in all_expressions(pending.pop().body):
                called = self.unit.functions.get(expr.name) if isinstance(expr, CCall) else None
                if called is not None and called.name not in found:
                    found[called.name] = called
                    pending.append(called)
        return list(found.values())

    def _add(self, effect: Effect, function: CFunction) -> None:
        own = {*function.parameters, *declared_inside((function.body,))}
        for expr in all_expressions(function.body):
            if isinstance(expr, Set | Step):
                whole = expr.left if isinstance(expr, Set) else expr.operand
                for target in whole.items if isinstance(whole, Items) else (whole,):
                    if isinstance(target, Ref):
                        effect.assigned.add(target.var)
                    base = base_variable(target)
                    if base is not None:
                        effect.changed.add(base)
                    local = base in own and (isinstance(target, Ref) or _is_object(base))
                    effect.stores = effect.stores or not local
            elif isinstance(expr, CCall):
                arrays = (base_variable(a) for a in expr.arguments if a.ctype.kind in ("pointer", "array"))
                effect.changed |= {a for a in arrays if a is not None}
                if expr.name in self.unit.functions:
                    continue
                harmless = expr.is_pure or expr.name in ASSERTIONS
                effect.stores = effect.stores or not harmless

    def is_block(self, function: CFunction) -> bool:
        """It is more than an expression: loops, arrays, pointers of its own, or effects on objects of others."""
        known = self._blocks.get(function.name)
        if known is None:
            self._blocks[function.name] = False  # a function that calls itself
            known = self._blocks[function.name] = self._is_block(function)
        return known

    def _is_block(self, function: CFunction) -> bool:
        if function.result.kind in ("void", "record") or self.of(function).stores:
            return True
        for stmt in statements(function.body):
            if isinstance(stmt, ForStmt) or (isinstance(stmt, OtherStmt) and stmt.what != "null"):
                return True
            if isinstance(stmt, DeclStmt) and any(not v.ctype.is_scalar for v in stmt.variables):
                return True
        for expr in all_expressions(function.body):
            if isinstance(expr, Un) and expr.op == "&":
                return True
            called = self.unit.functions.get(expr.name) if isinstance(expr, CCall) else None
            if called is not None and self.is_block(called):
                return True
        return False

    def has_loops(self, function: CFunction) -> bool:
        """Its own, or those of a function that it calls."""
        return any(isinstance(s, ForStmt) for called in self._reached(function) for s in statements(called.body))

    def sets_pointers(self, function: CFunction) -> bool:
        """It leaves other pointers behind than there were, as where it exchanges buffers."""
        return any(
            isinstance(e, Set) and e.left.ctype.kind == "pointer" and _lasts(e.left)
            for called in self._reached(function)
            for e in all_expressions(called.body)
        )

    def calls_itself(self, function: CFunction) -> bool:
        return any(
            isinstance(expr, CCall) and expr.name == function.name
            for called in self._reached(function)
            for expr in all_expressions(called.body)
        )


def _lasts(target: CExpr) -> bool:
    return not isinstance(target, Ref) or target.var.storage not in ("local", "param")


def _is_object(variable: Variable | None) -> bool:
    """An array of the function itself, not what a parameter or a pointer points to."""
    return variable is not None and variable.ctype.kind == "array" and variable.storage == "local"
