"""libclang cursors to the functions and statements of `csyntax`.

Long, because it has one kind of statement beside the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from scheduler.frontend.c_ast.csyntax import (
    INT,
    CExpr,
    CFunction,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unit,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.expressions import MAX_DEPTH, Expressions
from scheduler.frontend.c_ast.macro_loops import once
from scheduler.frontend.c_ast.scalars import flatten
from scheduler.frontend.clang import libclang
from scheduler.frontend.clang.lexical import Directive, Text
from scheduler.frontend.clang.libclang import Cursor, CursorKind, StorageClass, TypeKind
from scheduler.frontend.clang.processes import ASKED


class Lowering(Expressions):
    """Reads the functions of one translation unit."""

    _body: Cursor  # of the function that is read
    _targets: frozenset[str] | None

    def run(self) -> Unit:
        bodies: list[Cursor] = []
        for cursor in self.tu.cursor.get_children():
            kind = cursor.kind  # asked once: of most cursors, of macros and headers, nothing else is
            if kind not in (CursorKind.FUNCTION_DECL, CursorKind.VAR_DECL):
                continue
            defined = kind == CursorKind.FUNCTION_DECL and cursor.is_definition()
            if not defined and kind == CursorKind.FUNCTION_DECL:
                continue
            if cursor.spelling in ASKED:
                self.unit.own.add(cursor.spelling)
            file = cursor.location.file
            if file is None or file.name != self.path:
                continue
            if defined:
                bodies.append(cursor)
            else:
                self.variable(cursor)
        if bodies:
            self._find_includes(int(bodies[0].extent.start.offset))
        for cursor in bodies:
            self.function(cursor)
        self.in_file = False
        while self.helpers:
            self.function(self.helpers.pop())
        if any(function.text for function in self.unit.functions.values()):
            self.unit.headers = tuple(content for content, _ in self.foreign.values())
        self._count_writes()
        return self.unit

    def _find_includes(self, first: int) -> None:
        """Where files are included behind the offset of the first function: perhaps into one."""
        lines = [d for d in self.unit.source.directives if d.begin > first and d.text.startswith("#include")]
        if not lines:
            return
        for found in self.tu.get_includes():  # the outer ones come first
            place = found.location
            if place.file is None:
                continue
            if place.file.name in self.includes:
                self.includes[found.include.name] = self.includes[place.file.name]
            elif place.file.name == self.path:
                for line in lines:
                    if line.begin <= place.offset < line.end:
                        self.includes[found.include.name] = line

    def _count_writes(self) -> None:
        for function in self.unit.functions.values():
            for expr in all_expressions(function.body):
                target: CExpr | None = None
                if isinstance(expr, Set):
                    target = expr.left
                elif isinstance(expr, Step) or (isinstance(expr, Un) and expr.op == "&"):
                    target = expr.operand
                while isinstance(target, Member) and not target.arrow:
                    target = target.base
                if isinstance(target, Ref):
                    if isinstance(expr, Un):
                        target.var.address_taken = True
                    else:
                        target.var.writes += 1
            function.has_goto = any(
                (isinstance(s, JumpStmt) and s.what == "goto")
                or (isinstance(s, OtherStmt) and s.what in ("label", "asm"))
                for s in statements(function.body)
            )

    def function(self, cursor: Cursor) -> None:
        if cursor.spelling in self.unit.functions:
            return
        body = None
        parameters = []
        text = b"" if self.in_file else self._foreign_text(cursor)
        for child in cursor.get_children():
            if child.kind == CursorKind.PARM_DECL:
                parameters.append(self.variable(child, storage="param"))
            elif child.kind == CursorKind.COMPOUND_STMT:
                body = child
        if body is None:
            return
        self._body, self._targets = body, None
        lowered = self.stmt(body)
        assert isinstance(lowered, Compound | OtherStmt)
        if not isinstance(lowered, Compound):
            lowered = Compound((lowered,), lowered.begin, lowered.end)
        self.unit.functions[cursor.spelling] = CFunction(
            cursor.spelling,
            tuple(parameters),
            self.ctype(cursor.result_type),
            lowered,
            self.begin(cursor),
            self.end(cursor),
            cursor.storage_class == StorageClass.STATIC,
            self.in_file,
            tuple((p.type.spelling, p.spelling) for p in cursor.get_arguments()),
            oddity=self._function_oddity(
                cursor, self.content[self.begin(cursor) : lowered.begin] if self.in_file else text
            ),
            text=text,
        )

    @cached_property
    def foreign(self) -> dict[str, tuple[bytes, tuple[Directive, ...]]]:
        """Included files that are not the system's, with their preprocessor lines."""
        texts = libclang.included_texts(self.tu)
        return {name: (content, Text(content).directives()) for name, content in texts.items()}

    def _foreign_text(self, cursor: Cursor) -> bytes:
        """Of a function of another file; empty where it has preprocessor lines, comes from a macro or is not known."""
        start, end = cursor.extent.start, cursor.extent.end
        found = self.foreign.get(start.file.name) if start.file is not None else None
        if found is None or end.file is None or start.file.name != end.file.name or libclang.in_macro(start):
            return b""
        content, directives = found
        if any(start.offset <= line.begin < end.offset for line in directives):
            return b""
        return content[start.offset : end.offset]

    def _function_oddity(self, cursor: Cursor, whole: bytes) -> str:
        if cursor.type.kind == TypeKind.FUNCTIONPROTO and cursor.type.is_function_variadic():
            return "takes a variable number of arguments"
        texts = [self._text(c, 200) for c in cursor.get_children() if c.kind == CursorKind.UNEXPOSED_ATTR]
        texts.append(whole.decode("utf-8", "replace"))
        found = _CHANGING_ATTRIBUTE.search(" ".join(texts))
        return f"has the attribute '{found[1]}'" if found is not None else ""

    # --------------------------------------------------------------------------------- statements

    def stmt(self, cursor: Cursor) -> CStmt:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return OtherStmt("too deep", self.hide(cursor), (), self.begin(cursor), self.end(cursor))
            return self._stmt(cursor)
        finally:
            self.depth -= 1

    def _stmt(self, cursor: Cursor) -> CStmt:
        kind = cursor.kind
        begin, end = self.begin(cursor), self.end(cursor)
        if kind.is_expression():
            block = self._block_of(cursor)
            if block is not None:
                return Compound(block, begin, self._ended(end) if self.in_file else end)
            return ExprStmt(self.expr(cursor), begin, self._ended(end) if self.in_file else end)
        if kind == CursorKind.DO_STMT and once(cursor):
            return self._once(cursor, begin, end)
        handler = _STATEMENTS.get(kind)
        if handler is not None:
            return handler(self, cursor, begin, end)
        what = _OTHERS.get(kind, "an unknown statement")
        if what == "label" and cursor.spelling not in self.targets and not self.targets & _ANYWHERE:
            return self.stmt(list(cursor.get_children())[-1])
        exprs: list[CExpr] = list(self.hide(cursor)) if what not in _READ else []
        body: list[CStmt] = []
        for child in cursor.get_children():
            if child.kind.is_expression():
                # An expression that is a statement (`case 1: x++;`) keeps its value as an operand: liveness reads it.
                exprs.append(self.expr(child))
            elif child.kind.is_statement():
                body.append(self.stmt(child))
        if end >= 0 and what == "label":
            end = self._ended(end)
        return OtherStmt(what, tuple(exprs), tuple(body), begin, end)

    @property
    def targets(self) -> frozenset[str]:
        """The labels that jumps of the function name; what is in `_ANYWHERE` where some jump to more than they name."""
        if self._targets is None:
            found = (c for c in self._body.walk_preorder() if c.kind in _JUMPS)
            self._targets = frozenset(c.spelling if c.kind == CursorKind.LABEL_REF else c.kind.name for c in found)
        return self._targets

    def _ended(self, end: int) -> int:
        """Behind the `;` of a statement. Where a macro stands for that `;`, and perhaps more, nobody knows where."""
        behind = self.text.past_semicolon(end)
        if behind == end and self.text.next_name(end) in self.semicolons:
            self.unit.from_macros.torn.add(end)
        return behind

    @cached_property
    def semicolons(self) -> frozenset[str]:
        """Macros of the file that begin with a `;`, or with such a macro."""
        found: set[str] = set()
        defined = [match for d in self.unit.source.directives if (match := _DEFINE.match(d.text))]
        for _ in range(len(defined)):
            more = {m[1] for m in defined if m[2] == ";" or m[2] in found}
            if more <= found:
                break
            found |= more
        return frozenset(found)

    def _compound(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        body = tuple(self.stmt(c) for c in cursor.get_children())
        self._separate(*body)
        if body and body[-1].end >= end:
            self.unit.from_macros.torn.add(body[-1].end)
        return Compound(body, begin, end)

    def _block_of(self, cursor: Cursor) -> tuple[CStmt, ...] | None:
        """The statements of `({ … });`, `c ? a() : b();`, `c || b();` and the like, whose value nobody uses."""
        inner = list(cursor.get_children())
        if cursor.kind == CursorKind.StmtExpr:
            return tuple(self.stmt(c) for c in inner)
        operator = libclang.binary_operator(cursor) if cursor.kind == CursorKind.BINARY_OPERATOR else ""
        if (cursor.kind == CursorKind.CONDITIONAL_OPERATOR and len(inner) == 3) or operator in ("&&", "||"):
            begin, end, test = self.begin(cursor), self.end(cursor), self.expr(inner[0])
            test = Un("!", test, INT, test.at) if operator == "||" else test
            then, *orelse = map(self.stmt, inner[1:])
            return (IfStmt(test, then, orelse[0] if orelse else None, begin, end),)
        if operator == "," and len(inner) == 2:
            block = self._block_of(inner[1])
            if block is None:
                return None
            begin, end = self.begin(inner[0]), self.end(inner[0])
            return (*(self._block_of(inner[0]) or (ExprStmt(self.expr(inner[0]), begin, end),)), *block)
        if cursor.kind == CursorKind.CSTYLE_CAST_EXPR and cursor.type.kind != TypeKind.VOID:
            return None
        around = cursor.kind == CursorKind.UNARY_OPERATOR and libclang.unary_operator(cursor) == "?"  # __extension__
        unwrapped = (CursorKind.PAREN_EXPR, CursorKind.UNEXPOSED_EXPR, CursorKind.CSTYLE_CAST_EXPR)
        inner = [c for c in inner if c.kind.is_expression()]
        return self._block_of(inner[0]) if (around or cursor.kind in unwrapped) and len(inner) == 1 else None

    def _once(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        """`do ... while (0)`, the wrapping of a macro of several statements, is its body."""
        body = self.stmt(next(cursor.get_children()))
        end = self._ended(end) if self.in_file else end
        if body.end >= end >= 0:
            self.unit.from_macros.torn.add(body.end)
        inner = flatten((body,))
        if len(inner) == 1 and isinstance(inner[0], ForStmt) and inner[0].begin == begin:
            return replace(inner[0], end=end)
        return Compound((body,), begin, end)

    def _separate(self, *parts: CStmt) -> None:
        """Notes where one statement ends, and the next begins, inside one macro: neither can be replaced."""
        for first, second in pairwise(parts):
            if first.end > second.begin and not (isinstance(second, OtherStmt) and second.what == "null"):
                self.unit.from_macros.torn.add(first.end)

    def _own(self, location: Any) -> bool:
        return self.in_file and location.file is not None and location.file.name == self.path

    def _of_one_text(self, start: Any, end: Any) -> bool:
        """All of it stands in the file; or, of a function of another file, in that one."""
        if self.in_file:
            return self._own(start) and self._own(end)
        return start.file is not None and end.file is not None and start.file.name == end.file.name

    def _declaration(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        variables = tuple(self.variable(c) for c in cursor.get_children() if c.kind == CursorKind.VAR_DECL)
        return DeclStmt(variables, begin, end)

    def _if(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        parts = list(cursor.get_children())
        if len(parts) not in (2, 3):
            return OtherStmt("an unusual if", self.hide(cursor), (), begin, end)
        then = self.stmt(parts[1])
        orelse = self.stmt(parts[2]) if len(parts) == 3 else None
        if orelse is not None:
            self._separate(then, orelse)
        return IfStmt(self.expr(parts[0]), then, orelse, begin, (orelse or then).end)

    def _for(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        parts = list(cursor.get_children())
        extent = cursor.extent
        own = self._of_one_text(extent.start, extent.end)
        slots: list[Cursor | None] | None = None
        if own and len(parts) == 4:
            slots = list(parts[:3])
        elif own and self.in_file and not libclang.in_macro(extent.start):
            slots = self._slots(begin, parts[:-1])
        init, condition, increment = slots or (None, None, None)
        body = self.stmt(parts[-1])
        return ForStmt(
            None if init is None else self.stmt(init),
            None if condition is None else self.expr(condition),
            None if increment is None else self.expr(increment),
            body,
            begin,
            max(end, body.end),
            foreign=slots is None,
            macro=libclang.in_macro(extent.start),
        )

    def _case(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        *values, inner = cursor.get_children()
        return OtherStmt("case", tuple(self.expr(v) for v in values), (self.stmt(inner),), begin, self._ended(end))

    def _while(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        parts = list(cursor.get_children())
        what = "while" if cursor.kind == CursorKind.WHILE_STMT else "do"
        condition, inner = (parts[0], parts[-1]) if what == "while" else (parts[-1], parts[0])
        if len(parts) != 2:
            return OtherStmt("an unusual loop", self.hide(cursor), (), begin, end)
        start = cursor.extent.start
        own = self._of_one_text(start, cursor.extent.end) and not libclang.in_macro(start)
        body = self.stmt(inner)
        end = max(end, body.end) if what == "while" else self._ended(end) if end >= 0 else end
        if what == "do" and body.end >= end:
            self.unit.from_macros.torn.add(body.end)
        return OtherStmt(what, (self.expr(condition),), (body,), begin, end, not own)

    def _slots(self, begin: int, parts: list[Cursor]) -> list[Cursor | None] | None:
        """Which part of a header is which, by the places of the semicolons in the text."""
        header = self.text.for_header(begin)
        if header is None:
            return None
        slots: list[Cursor | None] = [None, None, None]
        for part in parts:
            offset = self.begin(part)
            slots[0 if offset < header[0] else 1 if offset < header[1] else 2] = part
        return slots if sum(s is not None for s in slots) == len(parts) else None

    def _return(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        values = [self.expr(c) for c in cursor.get_children()]
        return ReturnStmt(values[0] if values else None, begin, end)

    def _jump(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        names = {CursorKind.BREAK_STMT: "break", CursorKind.CONTINUE_STMT: "continue"}
        return JumpStmt(names.get(cursor.kind, "goto"), begin, end)  # type: ignore[arg-type]


_STATEMENTS: dict[CursorKind, Callable[[Lowering, Cursor, int, int], CStmt]] = {
    CursorKind.COMPOUND_STMT: Lowering._compound,
    CursorKind.DECL_STMT: Lowering._declaration,
    CursorKind.IF_STMT: Lowering._if,
    CursorKind.FOR_STMT: Lowering._for,
    CursorKind.CASE_STMT: Lowering._case,
    CursorKind.DEFAULT_STMT: Lowering._case,
    CursorKind.WHILE_STMT: Lowering._while,
    CursorKind.DO_STMT: Lowering._while,
    CursorKind.RETURN_STMT: Lowering._return,
    CursorKind.BREAK_STMT: Lowering._jump,
    CursorKind.CONTINUE_STMT: Lowering._jump,
    CursorKind.GOTO_STMT: Lowering._jump,
    CursorKind.INDIRECT_GOTO_STMT: Lowering._jump,
}

_JUMPS = (CursorKind.LABEL_REF, CursorKind.INDIRECT_GOTO_STMT, CursorKind.ADDR_LABEL_EXPR, CursorKind.ASM_STMT)
_ANYWHERE = frozenset(kind.name for kind in _JUMPS[1:])
_DEFINE = re.compile(r"# ?define (\w+)(?:\([^)]*\))? ?(;|\w+)")
_READ = ("switch", "label", "null", "pragma")
# What makes a call run another body, or the same one by other rules.
_CHANGING_ATTRIBUTE = re.compile(r"\b_*(weak|weakref|alias|ifunc|optimize|target|target_clones|optnone|section)_*\b")
_OTHERS = {
    CursorKind.SWITCH_STMT: "switch",
    CursorKind.LABEL_STMT: "label",
    CursorKind.ASM_STMT: "asm",
    CursorKind.NULL_STMT: "null",
    CursorKind.UNEXPOSED_STMT: "pragma",
}
