"""Arithmetic formulas of the data files: names, numbers, + - * /, parentheses and max(a, b), nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

from profilers.contained.errors import ProfilersError

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if b else (0.0 if a == 0 else math.nan),
}


@lru_cache(maxsize=512)
def _parse(formula: str) -> ast.expr:
    try:
        return ast.parse(formula, mode="eval").body
    except SyntaxError as problem:
        raise ProfilersError(f"not a formula: {formula!r}") from problem


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """The value of a formula; 0 / 0 is 0, and anything else divided by 0 is NaN.

    Raises ProfilersError for a name without a value and for anything that is not plain arithmetic.
    """

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name):
            if node.id not in values:
                raise ProfilersError(f"{formula!r}: {node.id} has no value")
            return values[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and _is_max(node):
            given = [value(argument) for argument in node.args]
            return math.nan if any(map(math.isnan, given)) else max(given)
        raise ProfilersError(f"{formula!r}: {ast.unparse(node)} is not allowed in a formula")

    return value(_parse(formula))


def _is_max(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "max" and len(node.args) > 0 and not node.keywords


def names(formula: str) -> frozenset[str]:
    """The names a formula mentions. Raises ProfilersError where it is none."""
    nodes = list(ast.walk(_parse(formula)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _is_max(node)}
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called)
