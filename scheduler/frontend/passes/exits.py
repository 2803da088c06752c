"""Branches that end the program, or leave the loops of a region: assertions, and what is done about errors.

Code that is written for a region is run only where no iteration takes such a branch, which is proved or tested in front
of it (`scop.exits`): what the branch does never matters there, and it becomes one `Leave`.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import (
    ASSERTIONS,
    LOOPS,
    Bin,
    CCall,
    CExpr,
    CFunction,
    Compound,
    CStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Leave,
    OtherStmt,
    ReturnStmt,
    Unit,
    bare,
    statements,
)
from scheduler.frontend.c_ast.folding import fold, is_null
from scheduler.frontend.c_ast.jumps import negated, own_jumps
from scheduler.frontend.c_ast.reject import ASSERT_ADVICE, BREAK_ADVICE, RETURN, RETURN_ADVICE
from scheduler.frontend.c_ast.scalars import flatten

_ENDS = ASSERTIONS | {"abort", "exit", "_exit", "_Exit", "quick_exit", "__builtin_trap", "__builtin_unreachable"}
_TEST_ADVICE = "test for the error in front of the loop"
_BOTTOM = 99  # a depth at which no loop of the region is left by `break`


def breaks_on_errors(loop: ForStmt) -> bool:
    """All that leaves a loop are branches that do something before they `break`."""
    found = sum(j.what == "break" for j in own_jumps((loop.body,)))
    branches = (b for s in statements(loop.body) if isinstance(s, IfStmt) for b in (s.then, s.orelse) if b is not None)
    left = sum(len(flatten((b,))) > 1 and _breaks(flatten((b,))[-1]) for b in branches)
    return found == left > 0


def _breaks(stmt: CStmt) -> bool:
    return isinstance(stmt, JumpStmt) and stmt.what == "break"


class Exits:
    """Of the functions of a file."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._never: dict[str, bool] = {}
        self._bodies: dict[str, CFunction] = {}
        self._labels = False  # in the region

    def region(self, stmt: CStmt) -> CStmt:
        """A statement of a region; itself where it holds no such branch. `return`, `goto` and the `break`s of its loops
        leave it, unless `goto` may lead to a label in it."""
        self._labels = any(isinstance(s, OtherStmt) and s.what == "label" for s in statements(stmt))
        return self._stmt(stmt, 0)

    def function(self, function: CFunction) -> CFunction:
        """A function whose body takes the place of calls: what it returns does not leave the loops around those."""
        if function.name not in self._bodies:
            body = self._stmt(function.body, None)
            assert isinstance(body, Compound)
            same = body is function.body
            self._bodies[function.name] = function if same else replace(function, body=body)
        return self._bodies[function.name]

    def never_returns(self, name: str) -> bool:
        """Which is declared so, known of the library, or seen in its body."""
        function = self.unit.functions.get(name)
        if name in self.unit.never_return:
            return True
        if function is None:
            return name in _ENDS
        if name not in self._never:
            self._never[name] = False  # one that calls itself
            left = function.has_goto or any(isinstance(s, ReturnStmt) for s in statements(function.body))
            other = function.oddity.startswith("has the attribute")  # perhaps it is another body that runs
            self._never[name] = not left and not other and self._ending(function.body) is not None
        return self._never[name]

    # --------------------------------------------------------------------------------- statements

    def _stmt(self, stmt: CStmt, depth: int | None) -> CStmt:
        """`depth`: loops around it in the region; None in a function that is called."""
        inner = None if depth is None else depth + 1
        match stmt:
            case Compound(body=body):
                parts = self._list(body, depth)
                return stmt if parts is body else replace(stmt, body=parts)
            case IfStmt():
                return self._branch(stmt, depth)
            case ForStmt():
                held = self._stmt(stmt.body, inner)
                return stmt if held is stmt.body else replace(stmt, body=held)
            case OtherStmt(what=what, body=body) if body:
                parts = self._list(body, inner if what in LOOPS or depth is None else _BOTTOM)
                return stmt if parts is body else replace(stmt, body=parts)
        return stmt

    def _list(self, body: tuple[CStmt, ...], depth: int | None) -> tuple[CStmt, ...]:
        parts = tuple(self._stmt(s, depth) for s in body)
        return body if all(a is b for a, b in zip(parts, body, strict=True)) else parts

    def _branch(self, stmt: IfStmt, depth: int | None) -> CStmt:
        then = self._leave(stmt.then, depth)
        orelse = None if stmt.orelse is None else self._leave(stmt.orelse, depth)
        if (then is None) == (orelse is None):
            kept = self._stmt(stmt.then, depth)
            other = None if stmt.orelse is None else self._stmt(stmt.orelse, depth)
            return stmt if kept is stmt.then and other is stmt.orelse else replace(stmt, then=kept, orelse=other)
        if then is not None:
            test, rest = replace(stmt, then=then, orelse=None), stmt.orelse
        else:
            assert orelse is not None
            test, rest = replace(stmt, condition=negated(stmt.condition), then=orelse, orelse=None), stmt.then
        others = () if rest is None else flatten((self._stmt(rest, depth),))
        return Compound((test, *others), stmt.begin, stmt.end) if others else test

    def _leave(self, branch: CStmt, depth: int | None) -> Leave | None:
        """What stands for a branch that ends the program or leaves the region; None for any other."""
        ending = self._ending(branch)
        if ending is not None:
            advice = ASSERT_ADVICE if ending.name in ASSERTIONS else _TEST_ADVICE
            reason = f"{ending.text}, which may end the program"
            return Leave(branch, reason, advice, True, ending.at, branch.end)
        body = flatten((branch,))
        last = body[-1] if body and depth else None
        at = -1 if last is None else last.begin
        match last:
            case ReturnStmt(value=value):
                error = len(body) > 1 or (value is not None and (fold(value) is not None or is_null(value)))
                return Leave(branch, RETURN, RETURN_ADVICE, error, at, branch.end)
            case JumpStmt(what="goto") if not self._labels:
                return Leave(branch, "the loop contains goto", "use structured loops", True, at, branch.end)
            case JumpStmt(what="break") if depth == 1:
                return Leave(branch, "the loop contains break", BREAK_ADVICE, len(body) > 1, at, branch.end)
        return None

    def _ending(self, stmt: CStmt) -> CCall | None:
        """The call of a function that does not return that a statement makes whatever the data."""
        match stmt:
            case Compound(body=body):
                return next((found for s in body if (found := self._ending(s)) is not None), None)
            case IfStmt(then=then, orelse=orelse) if orelse is not None:
                found = self._ending(then)
                return None if found is None or self._ending(orelse) is None else found
            case ExprStmt(expr=expr):
                return self._ending_call(expr)
        return None

    def _ending_call(self, expr: CExpr) -> CCall | None:
        expr = bare(expr)
        if isinstance(expr, Bin) and expr.op == ",":
            return self._ending_call(expr.left) or self._ending_call(expr.right)
        return expr if isinstance(expr, CCall) and self.never_returns(expr.name) else None
