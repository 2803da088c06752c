"""How many sizes a variable is the product of, by what the file sets it to: a guess at which of two is larger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    CFunction,
    Conv,
    Lit,
    Member,
    Ref,
    Set,
    Unit,
    Variable,
    strip,
    whole_expressions,
)


@dataclass(slots=True)
class Magnitudes:
    """`sx = 1` has 0, `sy = nx` 1, `sz = sy * ny` 2, `sz / ny` 1; what is set to something else, or unknown, has 1."""

    values: dict[Variable | str, list[CExpr]] = field(default_factory=dict)
    known: dict[Variable | str, int] = field(default_factory=dict)

    @staticmethod
    def of(unit: Unit) -> Magnitudes:
        found = Magnitudes()
        for function in unit.functions.values():
            for key, value in _settings(unit, function):
                found.values.setdefault(key, []).append(value)
        return found

    def variable(self, variable: Variable) -> int:
        member = variable.base.rpartition(">")[2].rpartition(".")[2]
        if member and variable not in self.values:
            return self._set(member)
        return self._set(variable)

    def _set(self, key: Variable | str) -> int:
        if key not in self.known:
            self.known[key] = 1  # of what is set to itself, too
            values = list(self.values.get(key, ()))
            if isinstance(key, Variable) and key.init is not None:
                values.append(key.init)
            self.known[key] = max((self._degree(value) for value in values), default=1)
        return self.known[key]

    def _degree(self, expr: CExpr) -> int:
        match strip(expr):
            case Lit():
                return 0
            case Conv(operand=operand):
                return self._degree(operand)
            case Ref(var=var):
                return self.variable(var)
            case Member(name=name):
                return self._set(name)
            case Bin(op="*", left=left, right=right):
                return self._degree(left) + self._degree(right)
            case Bin(op="/", left=left, right=right):
                return max(self._degree(left) - self._degree(right), 0)
            case Bin(op="+" | "-", left=left, right=right):
                return max(self._degree(left), self._degree(right))
        return 1


def _settings(unit: Unit, function: CFunction) -> Iterator[tuple[Variable | str, CExpr]]:
    for expr in whole_expressions(function.body):
        if isinstance(expr, Set) and expr.op == "=":
            target = strip(expr.left)
            if isinstance(target, Ref):
                yield target.var, expr.right
            elif isinstance(target, Member):
                yield target.name, expr.right
        elif isinstance(expr, CCall) and expr.name in unit.functions:
            yield from zip(unit.functions[expr.name].parameters, expr.arguments, strict=False)
