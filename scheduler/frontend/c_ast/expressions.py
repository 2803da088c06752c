"""libclang cursors to the expressions of `csyntax`."""

from __future__ import annotations

import re
from itertools import takewhile

from scheduler.frontend.c_ast.arith import literal_text
from scheduler.frontend.c_ast.csyntax import (
    ASSERTIONS,
    INT,
    TOO_DEEP,
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CType,
    Index,
    Items,
    Lit,
    Meaning,
    Member,
    Ref,
    Set,
    Step,
    Un,
    Unmodelled,
    strip,
)
from scheduler.frontend.c_ast.declarations import LONG_TEXT, Declarations, scope_of
from scheduler.frontend.clang import libclang
from scheduler.frontend.clang.libclang import Cursor, CursorKind
from scheduler.ir.names import safe_name

MAX_DEPTH = 400  # nesting of statements and expressions; deeper code is left alone


_FLOAT_TEXT = re.compile(rb"(?:0[xX][0-9a-fA-F.]+[pP][+-]?\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fF]?(?![\w.])")


class Expressions(Declarations):
    """Reads declarations and expressions of one translation unit."""

    # -------------------------------------------------------------------------------- expressions

    def expr(self, cursor: Cursor) -> CExpr:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Unmodelled(TOO_DEEP, self.hide(cursor), self.ctype(cursor.type), self.begin(cursor))
            return self._expr(cursor)
        finally:
            self.depth -= 1

    def _expr(self, cursor: Cursor) -> CExpr:
        kind = cursor.kind
        if kind == CursorKind.PAREN_EXPR:
            inner = list(cursor.get_children())
            if len(inner) == 1:
                return self.expr(inner[0])
        at = self.begin(cursor)
        ctype = self.ctype(cursor.type)
        if kind == CursorKind.UNEXPOSED_EXPR:
            inner = list(cursor.get_children())
            if len(inner) == 1:
                operand = self.expr(inner[0])
                if operand.ctype.kind in ("array", "function") or ctype.kind in ("function", "pointer"):
                    return operand
                if operand.ctype.name == ctype.name:
                    return operand
                return Conv(operand, False, ctype, at)
        elif kind in (CursorKind.INTEGER_LITERAL, CursorKind.CHARACTER_LITERAL, CursorKind.FLOATING_LITERAL):
            return self._literal(cursor, ctype, at)
        elif kind == CursorKind.DECL_REF_EXPR:
            return self._reference(cursor, ctype, at)
        elif kind == CursorKind.BINARY_OPERATOR or kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
            parts = list(cursor.get_children())
            op = libclang.binary_operator(cursor)
            if len(parts) == 2 and op != "?":
                left, right = self.expr(parts[0]), self.expr(parts[1])
                if op.endswith("=") and op not in ("<=", ">=", "==", "!="):
                    return Set(op, left, right, ctype, at)
                return Bin(op, left, right, ctype, at)
        elif kind == CursorKind.UNARY_OPERATOR:
            return self._unary(cursor, ctype, at)
        elif kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            parts = list(cursor.get_children())
            if len(parts) == 2:
                base, index = self.expr(parts[0]), self.expr(parts[1])
                if index.ctype.kind in ("pointer", "array"):
                    base, index = index, base
                return Index(base, index, ctype, at)
        elif kind == CursorKind.CALL_EXPR:
            return self._call(cursor, ctype, at)
        elif kind == CursorKind.CSTYLE_CAST_EXPR:
            parts = [c for c in cursor.get_children() if c.kind.is_expression()]
            if parts:
                self._note_types(cursor)
                return Conv(self.expr(parts[-1]), True, ctype, at)
        elif kind == CursorKind.CONDITIONAL_OPERATOR:
            parts = list(cursor.get_children())
            if len(parts) == 3:
                return Cond(self.expr(parts[0]), self.expr(parts[1]), self.expr(parts[2]), ctype, at)
        elif kind == CursorKind.MEMBER_REF_EXPR:
            parts = list(cursor.get_children())
            field = cursor.referenced
            if field is not None and field.semantic_parent.kind == CursorKind.UNION_DECL:
                return Unmodelled("a union", (), ctype, at)
            if parts and field is not None and not field.is_bitfield():
                base = self.expr(parts[0])
                pointed = strip(base)
                if isinstance(pointed, Un) and pointed.op == "&" and pointed.operand.ctype.kind == "record":
                    base = pointed.operand  # (&s)->m is s.m, as macros write it
                self._record(field.semantic_parent.type.get_canonical())
                if isinstance(base, Member) and not base.name:  # of a structure without a name
                    return Member(base.base, safe_name(cursor.spelling), base.arrow, ctype, at)
                return Member(base, safe_name(cursor.spelling), base.ctype.kind == "pointer", ctype, at)
        elif kind == CursorKind.CXX_UNARY_EXPR:
            value = libclang.evaluate(cursor)
            if isinstance(value, int):
                self._note_types(cursor)
                if (text := self._text(cursor, LONG_TEXT)).startswith(("sizeof", "_Alignof")):
                    self.unit.meanings.constants.append(Meaning(at, text, value))
                return Lit(literal_text(value, ctype.name), value, ctype, at)
        elif kind == CursorKind.INIT_LIST_EXPR:
            return self._items(cursor, ctype, at)
        elif kind == CursorKind.STRING_LITERAL:
            return Lit(cursor.spelling, None, ctype, at)
        if kind == CursorKind.StmtExpr:
            return Unmodelled(_STRANGE[kind], self.hide(cursor), ctype, at)
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        return Unmodelled(_STRANGE.get(kind, "an expression"), tuple(self.expr(c) for c in parts), ctype, at)

    def _items(self, cursor: Cursor, ctype: CType, at: int) -> Items:
        """A braced initializer; items with the names of members in the order of these, with zeros between them."""
        given = list(cursor.get_children())
        parts = [[c for c in item.get_children()] for item in given]
        named = [len(p) == 2 and p[0].kind == CursorKind.MEMBER_REF and p[1].kind.is_expression() for p in parts]
        record = cursor.type.get_canonical()
        if not any(named) or record.get_declaration().kind != CursorKind.STRUCT_DECL:
            return Items(tuple(self.expr(c) for c in given), ctype, at)
        fields = list(record.get_fields())
        names = [f.spelling for f in fields]
        placed: dict[int, CExpr] = {}
        position = 0
        for item, inner, is_named in zip(given, parts, named, strict=True):
            if is_named:
                position = names.index(inner[0].spelling) if inner[0].spelling in names else len(names)
            if position >= len(names) or position in placed:
                return Items(tuple(Unmodelled("an initializer", (self.expr(c),), ctype, at) for c in given), ctype, at)
            placed[position] = self.expr(inner[1] if is_named else item)
            position += 1
        zeros = (self._zero(self.ctype(f.type), at) for f in fields)
        return Items(tuple(placed.get(k) or zero for k, zero in enumerate(zeros)), ctype, at)

    def _zero(self, ctype: CType, at: int) -> CExpr:
        if ctype.kind in ("record", "array"):
            return Items((), ctype, at)
        return Conv(Lit("0", 0, INT, at), True, ctype, at)

    def _literal(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        value = libclang.evaluate(cursor)
        if value is None:
            return Unmodelled("a literal", (), ctype, at)
        if isinstance(value, float) and self.in_file:
            match = _FLOAT_TEXT.match(self.content, at)
            if match is not None and match.end() == self.end(cursor):
                return Lit(match.group().decode(), value, ctype, at)
        return Lit(literal_text(value, ctype.name), value, ctype, at)

    def _reference(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        target = cursor.referenced
        if target is None:
            return Unmodelled("an unknown name", (), ctype, at)
        if target.kind == CursorKind.ENUM_CONSTANT_DECL:
            value = int(target.enum_value)
            self.unit.meanings.constants.append(Meaning(at, target.spelling, value, scope_of(target.semantic_parent)))
            return Lit(literal_text(value, ctype.name), value, ctype, at)
        if target.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
            in_file, self.in_file = (
                self.in_file,
                self.in_file and target.location.file is not None and (target.location.file.name == self.path),
            )
            try:
                variable = self.variable(target)
                if variable.oddity:
                    return Unmodelled(variable.oddity, (), ctype, at)
                return Ref(variable, ctype, at)
            finally:
                self.in_file = in_file
        if target.kind == CursorKind.FUNCTION_DECL:
            self.unit.function_values.add(target.spelling)
        return Unmodelled("a function as a value", (), ctype, at)

    def _unary(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        op = libclang.unary_operator(cursor)
        parts = [self.expr(c) for c in cursor.get_children()]
        if len(parts) == 1:
            operand = parts[0]
            if op.endswith(("++", "--")):
                return Step(op[-2:], operand, not op.startswith("p"), ctype, at)  # type: ignore[arg-type]
            if op in ("+", "-", "!", "~", "*", "&"):
                signed = op == "-" and ctype.name in ("int", "long", "long long")
                if signed and isinstance(operand, Lit) and isinstance(operand.value, int) and operand.value > 0:
                    return Lit(literal_text(-operand.value, ctype.name), -operand.value, ctype, at)
                return Un(op, operand, ctype, at)
        return Unmodelled("an expression", tuple(parts), ctype, at)

    def _is_noreturn(self, function: Cursor) -> bool:
        """By its type (the attribute), or by a specifier of its declaration."""
        start, name = function.extent.start, function.location
        text = b""
        if start.file is not None and start.file.name == self.path:  # of a macro there are no tokens
            text = self.content[start.offset : name.offset]
        tokens = (t.spelling for t in takewhile(lambda t: t.spelling != function.spelling, function.get_tokens()))
        words = {*tokens, *re.findall(r"\w+", text.decode("utf-8", "replace"))}
        return "noreturn" in function.type.spelling or not words.isdisjoint(("_Noreturn", "noreturn"))

    def _call(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        parts = list(cursor.get_children())
        target = cursor.referenced
        told = target is not None and target.spelling in ASSERTIONS  # texts, of which no use is made
        arguments = () if told else tuple(self.expr(c) for c in parts[1:])
        if target is None or target.kind != CursorKind.FUNCTION_DECL:
            return Unmodelled("a call through a pointer", arguments, ctype, at)
        definition = target.get_definition()
        if definition is not None and definition.location.file is not None:
            foreign = definition.location.file.name != self.path
            if foreign and len(self.helpers) < 100 and not libclang.in_system_header(definition):
                self.helpers.append(definition)
        if target.spelling not in self.called:
            self.called.add(target.spelling)
            if self._is_noreturn(target):
                self.unit.never_return.add(target.spelling)
        own = definition is None and target.spelling in self.unit.dialect.foreign
        return CCall(target.spelling + "." * own, arguments, ctype, at)


_STRANGE = {
    CursorKind.StmtExpr: "a statement expression",
    CursorKind.GENERIC_SELECTION_EXPR: "_Generic",
    CursorKind.COMPOUND_LITERAL_EXPR: "a compound literal",
    CursorKind.CXX_UNARY_EXPR: "sizeof of a variable length array",
    CursorKind.MEMBER_REF_EXPR: "a bit-field",
}
