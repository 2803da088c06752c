"""A pass over the statements of a function, from the outside in and back."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import CFunction, Compound, CStmt, ForStmt, IfStmt, OtherStmt, Variable
from scheduler.frontend.c_ast.liveness import Frame, dead_after


class FunctionPass:
    """Rewrites every statement of a function; a pass says what each becomes.

    `marked`: offsets of statements that belong to a pragma, which stay where they are. `frames`: where in the function,
    as it was before the pass, the statement stands that is looked at.
    """

    def __init__(self, function: CFunction, marked: frozenset[int]) -> None:
        self.function = function
        self.marked = marked
        self.frames: list[Frame] = []

    def run(self) -> Compound:
        """The body of the function afterwards."""
        body = self.function.body
        return replace(body, body=self.list_(body.body, None, False))

    def split(self, stmt: CStmt) -> tuple[CStmt, ...]:
        """The statements in place of one whose own ones are still as they were."""
        return (stmt,)

    def rewrite(self, stmt: CStmt, before: list[CStmt], inside: bool) -> CStmt:
        """The statement in place of one whose own ones are rewritten; `before`: those in front of it in its list.

        `inside`: there is a loop around.
        """
        return stmt

    def dead(self, variable: Variable) -> bool:
        """Whether nobody reads the variable behind the statement that is looked at."""
        return dead_after(variable, self.frames, self.function)

    def list_(self, body: tuple[CStmt, ...], owner: CStmt | None, inside: bool) -> tuple[CStmt, ...]:
        result: list[CStmt] = []
        for position, whole in enumerate(body):
            self.frames.append(Frame(owner, body, position, position))
            for stmt in self.split(whole):
                result.append(self.rewrite(self._inner(stmt, inside), result, inside))
            self.frames.pop()
        return tuple(result)

    def _inner(self, stmt: CStmt, inside: bool) -> CStmt:
        match stmt:
            case Compound(body=body):
                return replace(stmt, body=self.list_(body, stmt, inside))
            case IfStmt():
                orelse = None if stmt.orelse is None else self._block(stmt.orelse, stmt, inside)
                return replace(stmt, then=self._block(stmt.then, stmt, inside), orelse=orelse)
            case ForStmt():
                return replace(stmt, body=self._block(stmt.body, stmt, True))
            case OtherStmt(what=what):
                looped = inside or what in ("while", "do")
                return replace(stmt, body=tuple(self._block(s, stmt, looped) for s in stmt.body))
        return stmt

    def _block(self, stmt: CStmt, owner: CStmt, inside: bool) -> CStmt:
        """A statement that is a body."""
        if isinstance(stmt, Compound):
            return replace(stmt, body=self.list_(stmt.body, owner, inside))
        found = self.list_((stmt,), owner, inside)
        return found[0] if len(found) == 1 else Compound(found, stmt.begin, stmt.end)
