"""Reads the text form of a nest (`scheduler.ir.text`). Strict: anything else is a TextError with its position."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Action,
    Array,
    Assign,
    Bound,
    Constraint,
    Guard,
    If,
    Loop,
    LoopNest,
    Node,
    Parameter,
    Predicate,
    Statement,
    Storage,
)
from scheduler.ir.text_expressions import ExpressionReader

ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_STORAGES = {s.value: s for s in Storage}


def parse_nest(text: str) -> LoopNest:
    """The inverse of `format_nest`. Raises TextError."""
    return _NestReader(text).nest()


class _NestReader(ExpressionReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.parameters: dict[str, Parameter] = {}
        self.statements: set[str] = set()
        self.loops: set[str] = set()
        self.repeated = 0  # `while`s around

    def nest(self) -> LoopNest:
        self.expect("nest")
        name = self.title()
        function = self.title() if self.accept("of") else None
        self.expect("{")
        assumptions: list[Constraint] = []
        while self.token in ("param", "array", "assume") and self.peek() != ":":
            keyword = self.advance()
            if keyword == "param":
                self.parameter()
            elif keyword == "array":
                self.array()
            else:
                assumptions.append(self.constraint())
            self.expect(";")
        body = self.nodes(1)
        if self.kind != "end":
            self.unexpected("the end")
        for array in self.arrays.values():
            if array.scope is not None and array.scope not in self.loops:
                self.fail(f"array {array.name} is private to {array.scope}, which is no loop")
        parameters, arrays = tuple(self.parameters.values()), tuple(self.arrays.values())
        return LoopNest(name, parameters, arrays, body, tuple(assumptions), None, function)

    def parameter(self) -> None:
        name = self.identifier()
        if name in self.parameters:
            self.fail(f"parameter {name} is declared twice")
        self.expect(":")
        ctype = self.ctype()
        value = self.integer() if self.accept("=") else None
        low = high = None
        if self.accept("in"):
            self.expect("[")
            low = None if self.accept("?") else self.integer()
            self.expect(",")
            high = None if self.accept("?") else self.integer()
            self.expect("]")
        base = self.string() if self.accept("base") else None
        where = self.string() if self.accept("where") else ""
        self.parameters[name] = Parameter(name, ctype, value, low, high, base, where, self.accept("exposed"))
        self.scope[name] = ctype

    def array(self) -> None:
        name = self.identifier()
        if name in self.arrays:
            self.fail(f"array {name} is declared twice")
        self.expect(":")
        ctype = self.ctype()
        shape: list[Affine | None] = []
        while self.accept("["):
            shape.append(None if self.accept("?") else self.affine("]", names=False))
            self.expect("]")
        storage = _STORAGES[self.advance()] if self.token in _STORAGES and self.token != "global" else Storage.GLOBAL
        scope = None
        if self.accept("("):
            scope = self.identifier()
            self.expect(")")
        flat, const = self.accept("flat"), self.accept("const")
        expanded = self.integer() if self.accept("expanded") else 0
        rows = self.integer() if self.accept("rows") else 0
        untyped = self.accept("untyped")
        if not 0 <= rows < max(len(shape), 1):
            self.fail(f"array {name}: {rows} of {len(shape)} dimensions are tables of pointers")
        base = self.string() if self.accept("base") else None
        members: list[str] = []
        if self.accept("members"):
            while self.kind == "string":
                members.append(self.string())
        self.arrays[name] = Array(
            name, ctype, tuple(shape), storage, flat, scope, base, const, expanded, tuple(members), rows, untyped
        )

    # -------------------------------------------------------------------------------------- nodes

    def nodes(self, depth: int) -> tuple[Node, ...]:
        """Up to and with the closing brace."""
        self.check_depth(depth)
        nodes: list[Node] = []
        while not self.accept("}"):
            nodes.append(self.node(depth))
        return tuple(nodes)

    def node(self, depth: int) -> Node:
        if self.peek() == ":":
            return self.statement(depth)
        if self.accept("for"):
            return self.loop(depth)
        if self.accept("if"):
            return self.guard(depth)
        if self.accept("when"):
            condition = self.parenthesised(depth)
            self.expect("{")
            return Predicate(condition, self.nodes(depth + 1))
        self.unexpected("for, if, when or a statement")

    def statement(self, depth: int) -> Statement:
        name = self.identifier()
        if name in self.statements:
            self.fail(f"statement {name} appears twice")
        self.statements.add(name)
        self.expect(":")
        if self.accept("{"):
            return Statement(name, self.actions(depth))
        return Statement(name, (self.action(depth),))

    def loop(self, depth: int) -> Loop:
        name = self.identifier()
        if name in self.loops or name in self.parameters:
            self.fail(f"loop {name}: the name is taken")
        self.loops.add(name)
        self.expect(":")
        ctype = self.ctype()
        self.expect("in", "[")
        # The step, which stands behind them, decides whether a bound is a minimum or a maximum.
        start, start_word = self.bound(",", depth)
        self.expect(",")
        stop, stop_word = self.bound(")", depth)
        self.expect(")", "step")
        step = self.integer()
        start_expected, stop_expected = ("max", "min") if step > 0 else ("min", "max")
        if step == 0 or start_word not in ("", start_expected) or stop_word not in ("", stop_expected):
            self.fail(f"loop {name}: step {step} with these bounds")
        if abs(step) > 1 and isinstance(start, tuple) and len(start) > 1:
            self.fail(f"loop {name}: step {step} needs a start of one expression")
        self.expect("{")
        outer = self.scope
        self.scope = {**outer, name: ctype}
        body = self.nodes(depth + 1)
        self.scope = outer
        return Loop(name, ctype, start, stop, step, body)

    def bound(self, end: str, depth: int) -> tuple[Bound, str]:
        """A bound, and the word (`min`, `max` or none) it was written with."""
        if self.accept("opaque", "("):
            expr, _ = self.expr(depth + 1)
            self.expect(")")
            return expr, ""
        if self.peek() == "(" and self.token in ("min", "max"):
            word = self.advance()
            self.expect("(")
            affines = [self.affine(",", ")")]
            while self.accept(","):
                affines.append(self.affine(",", ")"))
            self.expect(")")
            if len(affines) < 2:
                self.fail(f"{word} of one expression")
            return tuple(affines), word
        return (self.affine(end),), ""

    def guard(self, depth: int) -> Guard:
        if self.accept("never", "{"):
            return Guard((), self.nodes(depth + 1))
        alternatives = [self.conjunction()]
        while self.accept("or"):
            alternatives.append(self.conjunction())
        self.expect("{")
        return Guard(tuple(alternatives), self.nodes(depth + 1))

    def conjunction(self) -> tuple[Constraint, ...]:
        self.expect("(")
        constraints: list[Constraint] = []
        while not self.accept(")"):
            if constraints:
                self.expect("and")
            constraints.append(self.constraint())
        return tuple(constraints)

    # ------------------------------------------------------------------------------------ actions

    def actions(self, depth: int) -> tuple[Action, ...]:
        """Up to and with the closing brace."""
        self.check_depth(depth)
        actions: list[Action] = []
        while not self.accept("}"):
            actions.append(self.action(depth + 1))
        return tuple(actions)

    def action(self, depth: int) -> Action:
        if self.accept("while"):
            condition = self.parenthesised(depth)
            self.expect("{")
            self.repeated += 1
            then = self.actions(depth)
            self.repeated -= 1
            return If(condition, then, (), "while")
        if self.accept("if"):
            condition = self.parenthesised(depth)
            self.expect("{")
            then = self.actions(depth)
            if self.repeated and self.accept("break", ";"):
                return If(condition, then, (), "break")
            if self.accept("exit", ";"):
                return If(condition, then, (), "exit")
            orelse: tuple[Action, ...] = ()
            if self.accept("else"):
                self.expect("{")
                orelse = self.actions(depth)
            return If(condition, then, orelse)
        name = self.identifier()
        if name not in self.arrays:
            self.fail(f"array {name} is not declared")
        target, _ = self.access(name, depth)
        op = self.advance()
        if op not in ASSIGNMENTS:
            self.fail(f"expected an assignment operator, found {op[:40]!r}")
        value, _ = self.expr(depth)
        self.expect(";")
        return Assign(target, op, value)
