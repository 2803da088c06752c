"""Typed C expressions, and random ones that never grow: |value| <= max(1, |operands|), so that results stay finite."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign, Binary, Call, Cast, Conditional, Expr, Literal, Name, Read, Unary
from scheduler.ir.types import FUNCTIONS, binary_type, common_type, is_floating, promoted

_FACTORS = ("0.5", "0.25", "0.125", "0.3", "0.2")


def literal(text: str, ctype: str) -> Literal:
    """A literal of a floating type (`0.5`) or of int (`3`)."""
    return Literal(text + "f" * (ctype == "float"), ctype) if is_floating(ctype) else Literal(text, "int")


def integer(value: int) -> Expr:
    return Literal(str(value), "int") if value >= 0 else Unary("-", Literal(str(-value), "int"), "int")


def number(text: str, whole: int, ctype: str) -> Expr:
    """`text` of a floating type, else `whole`."""
    return literal(text, ctype) if is_floating(ctype) else integer(whole)


def binary(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, binary_type(op, left.ctype, right.ctype))


def total(terms: Sequence[Expr]) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = binary("+", result, term)
    return result


def call(function: str, *arguments: Expr) -> Call:
    """A library function in the form for the arguments' type (`sqrtf` of a float)."""
    if all(a.ctype == "float" for a in arguments) and function + "f" in FUNCTIONS:
        function += "f"
    return Call(function, arguments, FUNCTIONS[function][1])


def conditional(condition: Expr, then: Expr, orelse: Expr) -> Conditional:
    return Conditional(condition, then, orelse, common_type(then.ctype, orelse.ctype))


def access(array: str, *subscripts: Affine | Expr | str) -> Access:
    """`subscripts`: names are those of iterators."""
    return Access(array, tuple(Affine.of(s) if isinstance(s, str) else s for s in subscripts))


def assign(target: Access, value: Expr, op: str = "=") -> Assign:
    return Assign(target, op, value)


def scaled(rng: random.Random, terms: Sequence[Expr], ctype: str) -> Expr:
    """A combination of the terms whose weights add up to at most one; of integers, their sum modulo a small number."""
    if not is_floating(ctype):
        return binary("%", total(terms), integer(rng.choice((5, 7, 11))))
    if len(terms) > 1 and rng.random() < 0.3:
        return binary("/", total(terms), literal(f"{len(terms)}.0", ctype))
    weight = {1: "0.5", 2: "0.5", 3: "0.25", 4: "0.25"}.get(len(terms), "0.1" if len(terms) <= 10 else "0.01")
    if rng.random() < 0.3:
        return binary("*", literal(weight, ctype), total(terms))
    return total([binary("*", literal(weight, ctype), term) for term in terms])


def index_value(rng: random.Random, name: str, ctype: str, loop_type: str = "int") -> Expr:
    """A small number made of an iterator: `(double)(i % 3) * 0.25` or `i % 5`."""
    rest = binary("%", Name(name, loop_type), integer(rng.choice((2, 3, 4))))
    if not is_floating(ctype):
        return Cast(ctype, rest) if promoted(ctype) != "int" else rest
    return binary("*", Cast(ctype, rest), literal(rng.choice(("0.25", "0.125")), ctype))


def product(rng: random.Random, factor: Read, term: Expr) -> Expr:
    """`factor` reads an array of inputs (at most 1 in magnitude) that the nest does not write."""
    if not is_floating(factor.ctype):
        return binary("%", binary("*", factor, binary("%", term, integer(7))), integer(7))
    return binary("*", factor, term) if rng.random() < 0.7 else binary("*", term, factor)


def shaped(rng: random.Random, value: Expr, ctype: str) -> Expr:
    """Now and then a function, an operator or a conditional around a value."""
    if not is_floating(ctype):
        return _shaped_integer(rng, value)
    one = literal("1.0", ctype)
    if rng.random() < 0.3:
        function = rng.choice(("sin", "cos", "tanh", "fabs", "floor", "ceil"))
        inner = binary("*", literal("0.9", ctype), value) if function in ("floor", "ceil") else value
        result: Expr = call(function, inner)
        return binary("-", inner, result) if function in ("floor", "ceil") else result
    if rng.random() < 0.3:
        bounded = call(rng.choice(("fmin", "fmax")), value, literal(rng.choice(_FACTORS), ctype))
        return conditional(binary(rng.choice("<>"), value, literal("0.0", ctype)), value, bounded)
    if rng.random() < 0.4:
        return binary("/", value, binary("+", one, binary("*", value, value)))
    if rng.random() < 0.4:
        return call("sqrt", call("fabs", value))
    if rng.random() < 0.4:
        return call("exp", Unary("-", call("fabs", value), ctype))
    return Unary("-", value, ctype) if rng.random() < 0.4 else value


def _shaped_integer(rng: random.Random, value: Expr) -> Expr:
    small = binary("&", value, integer(7))
    choice = rng.randrange(7)
    if choice == 0:
        return binary(rng.choice("&|^"), small, integer(rng.randrange(8)))
    if choice == 1:
        return binary(rng.choice(("<<", ">>")), small, integer(1))
    if choice == 2:
        return conditional(binary("&&", binary(">", value, integer(-3)), binary("!=", value, integer(2))), small, value)
    if choice == 3:
        return binary("/", value, binary("+", small, integer(1)))
    if choice == 4:
        return binary("&", Unary("~", value, promoted(value.ctype)), integer(15))
    if choice == 5:
        return call("abs", value) if value.ctype == "int" else value
    return value


def condition(rng: random.Random, value: Expr) -> Expr:
    """A data-dependent condition that is true about half of the time."""
    test = binary(rng.choice(("<", ">", "<=", ">=")), value, number("0.0", 0, value.ctype))
    if rng.random() < 0.2:
        return Unary("!", test, "int")
    return test
