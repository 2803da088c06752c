"""C text of integer expressions, constraints and conditions, with the parentheses C needs and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.codegen.tree.node_algebra import substitute
from scheduler.codegen.tree.nodes import IntExpr, IntOp
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import (
    Constraint,
)
from scheduler.ir.types import scalar_type

PRIMARY, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, RELATION = 16, 15, 14, 13, 12, 11, 10
EQUALITY, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CHOICE = 9, 8, 7, 6, 5, 4, 3

LEVEL = {
    "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "+": SUM, "-": SUM, "<<": SHIFT, ">>": SHIFT,
    "<": RELATION, ">": RELATION, "<=": RELATION, ">=": RELATION, "==": EQUALITY, "!=": EQUALITY,
    "&": BIT_AND, "^": BIT_XOR, "|": BIT_OR, "&&": AND, "||": OR,
}  # fmt: skip
_MOST = 2**63 - 1
_COMPARISONS = frozenset((RELATION, EQUALITY))

Rendered = tuple[str, int]  # text and the precedence of its outermost operator


def wrap(rendered: Rendered, least: int) -> str:
    """The text, in parentheses if it binds less tightly than `least`."""
    return rendered[0] if rendered[1] >= least else f"({rendered[0]})"


def clashes(level: int, child: int) -> bool:
    """Pairs that need no parentheses in C but make compilers warn."""
    if level == OR:
        return child == AND
    if level in (SHIFT,):
        return child in (SUM,)
    if level in (BIT_AND, BIT_XOR, BIT_OR):
        return (child in (SUM, SHIFT, BIT_AND, BIT_XOR) and child != level) or child in _COMPARISONS
    return level in _COMPARISONS and child in _COMPARISONS


@dataclass(frozen=True, kw_only=True)
class IntegerPrinter:
    """Prints what loops and guards are made of.

    `values` gives iterators their C expressions (none: they print as themselves); `wide` says that integer expressions
    are made in `long` (iterator values are then cast to the user's type): no sum or product of theirs is computed in a
    narrower type, in which it might overflow where the program computes nothing like it.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)  # name -> C type
    values: Mapping[str, IntExpr] = field(default_factory=dict)
    wide: bool = False
    unsigned: frozenset[str] = frozenset()  # iterators that are printed in an unsigned type
    signed: bool = False  # inside floors and remainders: what may be negative must not wrap
    long_parameters: bool = False  # cast every parameter to long, not only the unsigned ones

    def _name(self, name: str) -> Rendered:
        if self.signed and name in self.unsigned:
            return f"(long){name}", UNARY
        if (self.wide or self.signed) and name in self.parameters:
            known = scalar_type(self.parameters[name])
            if known is None or not known.signed or (self.long_parameters and known.bits < 64):
                return f"(long){name}", UNARY
        return name, PRIMARY

    def affine(self, expr: Affine) -> Rendered:
        """Positive terms first: `n - i - 1`. Raises CodegenUnsupported for a number that no `long` is."""
        if not -_MOST <= expr.const <= _MOST:
            raise CodegenUnsupported(f"a number beyond long: {expr.const}")
        parts: list[tuple[int, Rendered]] = []
        for atom, coefficient in expr.terms:
            if isinstance(atom, FloorDiv):
                inner = replace(self, signed=True).affine(atom.numerator)[0]
                body: Rendered = (f"pe_floord({inner}, {atom.denominator})", POSTFIX)
            else:
                body = self._name(atom)
            if abs(coefficient) != 1:
                suffix = "L" if self.wide and body[1] == PRIMARY and atom in self.parameters else ""
                body = (f"{abs(coefficient)}{suffix}*{wrap(body, UNARY)}", PRODUCT)
            parts.append((coefficient, body))
        parts.sort(key=lambda p: p[0] < 0)
        if not parts:
            return (str(expr.const), PRIMARY if expr.const >= 0 else UNARY)
        rest = expr.const
        # The first operation decides in what type all of the sum is computed.
        operands = [body for _, body in parts[:2]]
        narrow = all(self._narrow(body) for body in operands)
        suffix = "L" if narrow and len(operands) == 1 else ""
        if narrow and (len(operands) == 2 or (parts[0][0] < 0 and rest <= 0)):
            parts[0] = (parts[0][0], (f"(long){operands[0][0]}", UNARY))
            suffix = ""
        if rest > 0 and parts[0][0] < 0:
            text, level, rest = f"{rest}{suffix}", PRIMARY, 0
        else:
            coefficient, (text, level) = parts.pop(0)
            if coefficient < 0:
                text, level = "-" + text, min(level, UNARY)
        for coefficient, body in parts:
            text += (" - " if coefficient < 0 else " + ") + wrap(body, PRODUCT)
            level = SUM
        if rest:
            text += f" {'-' if rest < 0 else '+'} {abs(rest)}{suffix}"
            level = SUM
        return text, level

    def widened(self, operand: Rendered) -> Rendered:
        """The first operand of what must not be computed in a narrower type than `long`."""
        return (f"(long){operand[0]}", UNARY) if self._narrow(operand) else operand

    def _narrow(self, operand: Rendered) -> bool:
        known = scalar_type(self.parameters.get(operand[0], "long")) if self.wide else None
        return known is not None and known.bits < 64

    def integer(self, expr: IntExpr) -> Rendered:
        if isinstance(expr, Affine):
            return self.affine(expr)
        assert isinstance(expr, IntOp)
        if expr.op in ("min", "max"):
            text = self.integer(expr.args[0])[0]
            for arg in expr.args[1:]:
                text = f"pe_{expr.op}({text}, {self.integer(arg)[0]})"
            return text, POSTFIX
        if expr.op == "*":
            return f"{self.integer(expr.args[0])[0]}*{wrap(self.integer(expr.args[1]), UNARY)}", PRODUCT
        if expr.op == "floord":
            return f"pe_floord({', '.join(self.integer(a)[0] for a in expr.args)})", POSTFIX
        if expr.op == "?:":
            a, b, c = (self.integer(x) for x in expr.args)
            return f"{wrap(a, OR)} ? {wrap(self.widened(b), OR)} : {wrap(c, CHOICE)}", CHOICE
        if expr.op == "+":
            return self._sum(expr.args)
        level = LEVEL[expr.op]
        text = self._operand(self.integer(expr.args[0]), level, False)
        for arg in expr.args[1:]:
            text += f" {expr.op} " + self._operand(self.integer(arg), level, True)
        return text, level

    def _sum(self, args: tuple[IntExpr, ...]) -> Rendered:
        """The affine part's positive terms first, then the rest with their signs."""
        ordered = sorted(args, key=lambda a: not isinstance(a, Affine))
        text = ""
        for arg in ordered:
            factor = 1
            if isinstance(arg, IntOp) and arg.op == "*" and isinstance(arg.args[0], Affine):
                factor, arg = arg.args[0].const, arg.args[1]
            body = self.integer(arg)
            if abs(factor) != 1:
                body = (f"{abs(factor)}*{wrap(body, UNARY)}", PRODUCT)
            if not text:
                text = ("-" if factor < 0 else "") + wrap(body, PRODUCT if factor < 0 else SUM)
            else:
                text += (" - " if factor < 0 else " + ") + wrap(body, PRODUCT)
        return text, SUM

    @staticmethod
    def _operand(child: Rendered, level: int, right: bool) -> str:
        if clashes(level, child[1]):
            return f"({child[0]})"
        return wrap(child, level + (1 if right and level not in (AND, OR) else 0))

    def resolve(self, expr: IntExpr) -> IntExpr:
        return substitute(expr, self.values)

    def constraint(self, c: Constraint) -> Rendered:
        if c.kind == "mod":
            dividend = replace(self, signed=True).integer(self.resolve(c.affine))
            return f"{wrap(dividend, PRODUCT)} % {c.modulus} == 0", EQUALITY
        # Terms with a minus go to the right: `n - i - 1 >= 0` reads `n >= i + 1`.
        left = Affine(tuple(t for t in c.affine.terms if t[1] > 0), max(c.affine.const, 0))
        right = left - c.affine
        op: str = c.kind
        if (op == ">=" and right.const == 1 and right.terms) or (op == ">=" and left.const == 0 and right.const == 1):
            op, right = ">", right - 1
        a, b = (self.integer(self.resolve(x)) for x in (left, right))
        return f"{wrap(a, SHIFT)} {op} {wrap(b, SHIFT)}", EQUALITY if op == "==" else RELATION

    def condition(self, disjuncts: tuple[tuple[Constraint, ...], ...]) -> Rendered:
        """Disjunctive normal form."""
        texts: list[Rendered] = []
        for conjunction in disjuncts:
            parts = [self.constraint(c) for c in conjunction]
            if not parts:
                return "1", PRIMARY
            texts.append(parts[0] if len(parts) == 1 else (" && ".join(p[0] for p in parts), AND))
        if not texts:
            return "0", PRIMARY
        if len(texts) == 1:
            return texts[0]
        return " || ".join(wrap(t, AND + 1) for t in texts), OR
