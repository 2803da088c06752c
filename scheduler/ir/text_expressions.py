"""The expression level of the text form of nests: C expressions with derived types."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf
from typing import cast

from scheduler.ir.nest import (
    Access,
    Array,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Literal,
    Name,
    Read,
    Subscript,
    Unary,
)
from scheduler.ir.text_tokens import Tokens
from scheduler.ir.types import FUNCTIONS, TYPE_WORDS, binary_type, common_type, literal_type, unary_type

MAX_DEPTH = 150  # levels of nodes and expressions together: every recursion over a nest stays within Python's limit
_SLACK = 8  # the reader counts a few levels more than the writer

TERNARY, UNARY, POSTFIX = 1, 15, 20
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS, 2) for op in ops.split()}

_Sized = tuple[Expr, int]  # an expression and the height of its tree


class ExpressionReader(Tokens):
    """Reads expressions. Recursion happens at brackets and `?:` only; chains of operators are read in a loop."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.arrays: dict[str, Array] = {}

    def check_depth(self, depth: int) -> int:
        if depth > MAX_DEPTH + _SLACK:
            self.fail(f"more than {MAX_DEPTH} levels")
        return depth

    def parenthesised(self, depth: int) -> Expr:
        self.expect("(")
        expr, _ = self.expr(depth)
        self.expect(")")
        return expr

    def expr(self, depth: int) -> _Sized:
        self.check_depth(depth)
        operands = [self.operand(depth)]
        operators: list[str] = []
        while self.kind == "op" and self.token in PRECEDENCE:
            op = self.advance()
            while operators and PRECEDENCE[operators[-1]] >= PRECEDENCE[op]:
                self._reduce(operands, operators, depth)
            operators.append(op)
            operands.append(self.operand(depth))
        while operators:
            self._reduce(operands, operators, depth)
        condition, height = operands[0]
        if not self.accept("?"):
            return condition, height
        then, then_height = self.expr(depth + 1)
        self.expect(":")
        orelse, else_height = self.expr(depth + 1)
        height = 1 + max(height, then_height, else_height)
        self.check_depth(depth + height)
        return Conditional(condition, then, orelse, common_type(then.ctype, orelse.ctype)), height

    def _reduce(self, operands: list[_Sized], operators: list[str], depth: int) -> None:
        op = operators.pop()
        right, right_height = operands.pop()
        left, left_height = operands.pop()
        height = 1 + max(left_height, right_height)
        self.check_depth(depth + height)
        operands.append((Binary(op, left, right, binary_type(op, left.ctype, right.ctype)), height))

    def operand(self, depth: int) -> _Sized:
        """Prefix operators and casts, a primary expression, and its type annotation."""
        prefixes: list[str] = []
        while True:
            if self.kind == "op" and self.token in ("-", "+", "!", "~"):
                prefixes.append(self.advance())
            elif self.token == "(" and self.peek() in TYPE_WORDS and self.peek() not in self.arrays | self.scope:
                self.advance()
                prefixes.append(self.ctype())
                self.expect(")")
            else:
                break
        position = self.position
        expr, height, derived = self.primary(depth)
        if self.accept("@"):
            expr = replace(expr, ctype=self.ctype())
        elif not derived:
            self.fail("the type is not known here: write @type behind it", position)
        self.check_depth(depth + height + len(prefixes))
        for prefix in reversed(prefixes):
            if prefix in ("-", "+", "!", "~"):
                op = cast('OneOf["-", "+", "!", "~"]', prefix)
                expr = Unary(op, expr, unary_type(op, expr.ctype))
            else:
                expr = Cast(prefix, expr)
        return expr, height + len(prefixes)

    def primary(self, depth: int) -> tuple[Expr, int, bool]:
        """Expression, height, and whether its type is derived (if not, an annotation must follow)."""
        if self.kind in ("number", "char"):
            ctype = literal_type(self.token)
            if ctype is None:
                self.fail(f"bad literal {self.token[:40]!r}")
            return Literal(self.advance(), ctype), 1, True
        if self.kind == "string":
            return Literal(self.string(), ""), 1, False
        if self.accept("("):
            expr, height = self.expr(depth + 1)
            self.expect(")")
            return expr, height, True
        escaped = self.accept("$")
        name = self.identifier()
        if not escaped and self.token == "(":
            return self.call(name, depth)
        if not escaped and name in self.arrays:
            access, height = self.access(name, depth)
            return Read(access, self.arrays[name].ctype), height, True
        return Name(name, self.scope.get(name, "")), 1, name in self.scope

    def call(self, name: str, depth: int) -> tuple[Expr, int, bool]:
        self.expect("(")
        arguments: list[Expr] = []
        height = 0
        while not self.accept(")"):
            if arguments:
                self.expect(",")
            argument, below = self.expr(depth + 1)
            arguments.append(argument)
            height = max(height, below)
        known = FUNCTIONS.get(name)
        return Call(name, tuple(arguments), known[1] if known else ""), height + 1, known is not None

    def access(self, name: str, depth: int) -> tuple[Access, int]:
        """The subscripts behind an array's name."""
        subscripts: list[Subscript] = []
        height = 0
        position = self.position
        while self.accept("["):
            if self.accept("opaque", "("):
                expr, below = self.expr(depth + 2)
                subscripts.append(expr)
                height = max(height, below + 1)
                self.expect(")")
            else:
                subscripts.append(self.affine("]"))
            self.expect("]")
        if len(subscripts) != len(self.arrays[name].shape):
            self.fail(f"{name} has {len(self.arrays[name].shape)} dimensions, not {len(subscripts)}", position)
        return Access(name, tuple(subscripts)), height + 1
