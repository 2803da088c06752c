"""libclang cursors to the small C syntax tree of `csyntax`."""

from __future__ import annotations

import re
from collections.abc import Callable

from scheduler.frontend import libclang
from scheduler.frontend.arith import literal_text
from scheduler.frontend.csyntax import (
    Bin,
    CCall,
    CExpr,
    CFunction,
    Compound,
    Cond,
    Conv,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Items,
    JumpStmt,
    Lit,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Strange,
    Un,
    Unit,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.lexical import for_header, past_semicolon
from scheduler.frontend.libclang import ClangType, Cursor, CursorKind, StorageClass, TranslationUnit, TypeKind

MAX_DEPTH = 400  # nesting of statements and expressions; deeper code is left alone

_SCALARS = {
    TypeKind.BOOL: "_Bool",
    TypeKind.CHAR_S: "char",
    TypeKind.CHAR_U: "char",
    TypeKind.SCHAR: "signed char",
    TypeKind.UCHAR: "unsigned char",
    TypeKind.SHORT: "short",
    TypeKind.USHORT: "unsigned short",
    TypeKind.INT: "int",
    TypeKind.UINT: "unsigned int",
    TypeKind.LONG: "long",
    TypeKind.ULONG: "unsigned long",
    TypeKind.LONGLONG: "long long",
    TypeKind.ULONGLONG: "unsigned long long",
    TypeKind.FLOAT: "float",
    TypeKind.DOUBLE: "double",
}
_ARRAYS = (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY)
_FLOAT_TEXT = re.compile(rb"(?:0[xX][0-9a-fA-F.]+[pP][+-]?\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fF]?(?![\w.])")


class Lowering:
    """Reads the functions of one translation unit."""

    def __init__(self, tu: TranslationUnit, path: str, content: bytes) -> None:
        self.tu = tu
        self.path = path
        self.content = content
        self.unit = Unit(path, content)
        self.variables: dict[int, Variable] = {}
        self.types: dict[str, CType] = {}
        self.helpers: list[Cursor] = []
        self.depth = 0
        self.in_file = True

    def run(self) -> Unit:
        bodies = []
        for cursor in self.tu.cursor.get_children():
            location = cursor.location
            if location.file is None or location.file.name != self.path:
                continue
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition():
                bodies.append(cursor)
            elif cursor.kind == CursorKind.VAR_DECL:
                self.variable(cursor)
        for cursor in bodies:
            self.function(cursor)
        self.in_file = False
        while self.helpers:
            self.function(self.helpers.pop())
        self._count_writes()
        return self.unit

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

    # ------------------------------------------------------------------------------ declarations

    def function(self, cursor: Cursor) -> None:
        if cursor.spelling in self.unit.functions:
            return
        body = None
        parameters = []
        for child in cursor.get_children():
            if child.kind == CursorKind.PARM_DECL:
                parameters.append(self.variable(child, storage="param"))
            elif child.kind == CursorKind.COMPOUND_STMT:
                body = child
        if body is None:
            return
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
        )

    def variable(self, cursor: Cursor, storage: str = "") -> Variable:
        key = cursor.canonical.hash
        known = self.variables.get(key)
        if known is not None:
            return known
        internal = cursor.storage_class == StorageClass.STATIC
        if not storage:
            at_file_scope = cursor.semantic_parent is None or cursor.semantic_parent.kind == CursorKind.TRANSLATION_UNIT
            if cursor.kind == CursorKind.PARM_DECL:
                storage = "param"
            elif cursor.kind != CursorKind.VAR_DECL:
                storage = "other"
            elif at_file_scope or cursor.storage_class == StorageClass.EXTERN:
                storage = "global"
            else:
                storage = "static" if internal else "local"
        variable = Variable(
            cursor.spelling,
            self.ctype(cursor.type),
            storage,  # type: ignore[arg-type]
            self.begin(cursor) if self.in_file else -1,
            internal,
        )
        self.variables[key] = variable
        init = libclang.initializer(cursor) if cursor.kind == CursorKind.VAR_DECL else None
        if cursor.type.get_canonical().kind in (*_ARRAYS, TypeKind.POINTER):
            variable.ctype = self.declared_type(cursor, init)
        if init is not None:
            variable.init = self.expr(init)
        return variable

    def declared_type(self, cursor: Cursor, init: Cursor | None) -> CType:
        """The type of a declaration with the extents of variable length arrays filled in."""
        sizes = [
            child for child in cursor.get_children() if child.kind.is_expression() and (init is None or child != init)
        ]
        sizes.reverse()
        dims: list[ClangType] = []
        inner = cursor.type.get_canonical()
        while inner.kind in (*_ARRAYS, TypeKind.POINTER):
            if inner.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY):
                dims.append(inner)
            inner = inner.element_type if inner.kind in _ARRAYS else inner.get_pointee()
            inner = inner.get_canonical()
        usable = len(sizes) == len(dims)

        def fill(kind: ClangType, ctype: CType) -> CType:
            if kind.kind not in (*_ARRAYS, TypeKind.POINTER) or ctype.element is None:
                return ctype
            extent = ctype.extent
            if kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY):
                size = sizes.pop(0) if usable else None
                if kind.kind == TypeKind.VARIABLEARRAY and size is not None:
                    extent = self.expr(size)
            below = kind.element_type if kind.kind in _ARRAYS else kind.get_pointee()
            element = fill(below.get_canonical(), ctype.element)
            return CType(ctype.kind, ctype.name, element, extent, ctype.is_const, ctype.is_volatile, ctype.is_restrict)

        return fill(cursor.type.get_canonical(), self.ctype(cursor.type))

    def ctype(self, clang_type: ClangType) -> CType:
        canonical = clang_type.get_canonical()
        key = canonical.spelling
        known = self.types.get(key)
        if known is None:
            known = self.types[key] = self._ctype(canonical, key)
        return known

    def _ctype(self, canonical: ClangType, spelling: str) -> CType:
        const, volatile = canonical.is_const_qualified(), canonical.is_volatile_qualified()
        restrict = canonical.is_restrict_qualified()
        kind = canonical.kind
        if kind in _SCALARS:
            name = _SCALARS[kind]
            return CType("float" if name in ("float", "double") else "int", name, None, None, const, volatile)
        if kind == TypeKind.ENUM:
            integer = canonical.get_declaration().enum_type.get_canonical()
            return CType("int", _SCALARS.get(integer.kind, "int"), None, None, const, volatile)
        if kind == TypeKind.POINTER:
            pointee = canonical.get_pointee().get_canonical()
            if pointee.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
                return CType("function", spelling)
            return CType("pointer", spelling, self.ctype(pointee), None, const, volatile, restrict)
        if kind in _ARRAYS:
            extent = canonical.element_count if kind == TypeKind.CONSTANTARRAY else None
            restrict = "[restrict" in spelling or "[static restrict" in spelling or "restrict static" in spelling
            element = self.ctype(canonical.element_type)
            return CType("array", spelling, element, extent, element.is_const, element.is_volatile, restrict)
        if kind == TypeKind.VOID:
            return CType("void", "void", None, None, const, volatile)
        if kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
            return CType("function", spelling)
        if kind == TypeKind.RECORD:
            return CType("record", spelling, None, None, const, volatile)
        return CType("other", spelling, None, None, const, volatile)

    # ---------------------------------------------------------------------------------- positions

    def begin(self, cursor: Cursor) -> int:
        return int(cursor.extent.start.offset) if self.in_file else -1

    def end(self, cursor: Cursor) -> int:
        return int(cursor.extent.end.offset) if self.in_file else -1

    # --------------------------------------------------------------------------------- statements

    def stmt(self, cursor: Cursor) -> CStmt:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return OtherStmt("too deep", (), (), self.begin(cursor), self.end(cursor))
            return self._stmt(cursor)
        finally:
            self.depth -= 1

    def _stmt(self, cursor: Cursor) -> CStmt:
        kind = cursor.kind
        begin, end = self.begin(cursor), self.end(cursor)
        if kind.is_expression():
            return ExprStmt(self.expr(cursor), begin, past_semicolon(self.content, end) if self.in_file else end)
        handler = _STATEMENTS.get(kind)
        if handler is not None:
            return handler(self, cursor, begin, end)
        what = _OTHERS.get(kind, "an unknown statement")
        exprs: list[CExpr] = []
        body: list[CStmt] = []
        for child in cursor.get_children():
            if child.kind.is_expression():
                # An expression that is a statement (`case 1: x++;`) keeps its value as an operand: liveness reads it.
                exprs.append(self.expr(child))
            elif child.kind.is_statement():
                body.append(self.stmt(child))
        if end >= 0 and what in ("do", "label", "case"):
            end = past_semicolon(self.content, end)
        return OtherStmt(what, tuple(exprs), tuple(body), begin, end)

    def _compound(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        return Compound(tuple(self.stmt(c) for c in cursor.get_children()), begin, end)

    def _declaration(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        variables = tuple(self.variable(c) for c in cursor.get_children() if c.kind == CursorKind.VAR_DECL)
        return DeclStmt(variables, begin, end)

    def _if(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        parts = list(cursor.get_children())
        if len(parts) not in (2, 3):
            return OtherStmt("an unusual if", (), (), begin, end)
        then = self.stmt(parts[1])
        orelse = self.stmt(parts[2]) if len(parts) == 3 else None
        return IfStmt(self.expr(parts[0]), then, orelse, begin, (orelse or then).end)

    def _for(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        parts = list(cursor.get_children())
        start = cursor.extent.start
        own = self.in_file and start.file is not None and start.file.name == self.path
        header = for_header(self.content, begin) if own else None
        slots: list[Cursor | None] = [None, None, None]
        if header is None:
            if len(parts) == 4:
                slots = list(parts[:3])
        else:
            for part in parts[:-1]:
                offset = self.begin(part)
                slots[0 if offset < header[0] else 1 if offset < header[1] else 2] = part
        if sum(s is not None for s in slots) != len(parts) - 1 and header is not None:
            header = None
        init, condition, increment = slots
        body = self.stmt(parts[-1])
        return ForStmt(
            None if init is None else self.stmt(init),
            None if condition is None else self.expr(condition),
            None if increment is None else self.expr(increment),
            body,
            begin,
            max(end, body.end),
            foreign=header is None,
        )

    def _return(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        values = [self.expr(c) for c in cursor.get_children()]
        return ReturnStmt(values[0] if values else None, begin, end)

    def _jump(self, cursor: Cursor, begin: int, end: int) -> CStmt:
        names = {CursorKind.BREAK_STMT: "break", CursorKind.CONTINUE_STMT: "continue"}
        return JumpStmt(names.get(cursor.kind, "goto"), begin, end)  # type: ignore[arg-type]

    # -------------------------------------------------------------------------------- expressions

    def expr(self, cursor: Cursor) -> CExpr:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Strange("an expression nested too deeply", (), self.ctype(cursor.type), self.begin(cursor))
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
                return Conv(self.expr(parts[-1]), True, ctype, at)
        elif kind == CursorKind.CONDITIONAL_OPERATOR:
            parts = list(cursor.get_children())
            if len(parts) == 3:
                return Cond(self.expr(parts[0]), self.expr(parts[1]), self.expr(parts[2]), ctype, at)
        elif kind == CursorKind.MEMBER_REF_EXPR:
            parts = list(cursor.get_children())
            if parts and cursor.is_bitfield() is False:
                base = self.expr(parts[0])
                return Member(base, cursor.spelling, base.ctype.kind == "pointer", ctype, at)
        elif kind == CursorKind.CXX_UNARY_EXPR:
            value = libclang.evaluate(cursor)
            if isinstance(value, int):
                return Lit(literal_text(value, ctype.name), value, ctype, at)
        elif kind == CursorKind.INIT_LIST_EXPR:
            return Items(tuple(self.expr(c) for c in cursor.get_children()), ctype, at)
        elif kind == CursorKind.STRING_LITERAL:
            return Lit(cursor.spelling, None, ctype, at)
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        return Strange(_STRANGE.get(kind, "an expression"), tuple(self.expr(c) for c in parts), ctype, at)

    def _literal(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        value = libclang.evaluate(cursor)
        if value is None:
            return Strange("a literal", (), ctype, at)
        if isinstance(value, float) and self.in_file:
            match = _FLOAT_TEXT.match(self.content, at)
            if match is not None and match.end() == self.end(cursor):
                return Lit(match.group().decode(), value, ctype, at)
        return Lit(literal_text(value, ctype.name), value, ctype, at)

    def _reference(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        target = cursor.referenced
        if target is None:
            return Strange("an unknown name", (), ctype, at)
        if target.kind == CursorKind.ENUM_CONSTANT_DECL:
            value = int(target.enum_value)
            return Lit(literal_text(value, ctype.name), value, ctype, at)
        if target.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
            in_file, self.in_file = (
                self.in_file,
                self.in_file and target.location.file is not None and (target.location.file.name == self.path),
            )
            try:
                return Ref(self.variable(target), ctype, at)
            finally:
                self.in_file = in_file
        if target.kind == CursorKind.FUNCTION_DECL:
            self.unit.function_values.add(target.spelling)
        return Strange("a function as a value", (), ctype, at)

    def _unary(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        op = libclang.unary_operator(cursor)
        parts = [self.expr(c) for c in cursor.get_children()]
        if len(parts) == 1:
            operand = parts[0]
            if op.endswith(("++", "--")):
                return Step(op[-2:], operand, not op.startswith("p"), ctype, at)  # type: ignore[arg-type]
            if op in ("+", "-", "!", "~", "*", "&"):
                if op == "-" and isinstance(operand, Lit) and isinstance(operand.value, int) and operand.value > 0:
                    if ctype.name in ("int", "long", "long long"):
                        return Lit(literal_text(-operand.value, ctype.name), -operand.value, ctype, at)
                return Un(op, operand, ctype, at)
        return Strange("an expression", tuple(parts), ctype, at)

    def _call(self, cursor: Cursor, ctype: CType, at: int) -> CExpr:
        parts = list(cursor.get_children())
        target = cursor.referenced
        arguments = tuple(self.expr(c) for c in parts[1:])
        if target is None or target.kind != CursorKind.FUNCTION_DECL:
            return Strange("a call through a pointer", arguments, ctype, at)
        definition = target.get_definition()
        if definition is not None and definition.location.file is not None:
            foreign = definition.location.file.name != self.path
            if foreign and len(self.helpers) < 100 and not libclang.in_system_header(definition):
                self.helpers.append(definition)
        return CCall(target.spelling, arguments, ctype, at)


_STATEMENTS: dict[CursorKind, Callable[[Lowering, Cursor, int, int], CStmt]] = {
    CursorKind.COMPOUND_STMT: Lowering._compound,
    CursorKind.DECL_STMT: Lowering._declaration,
    CursorKind.IF_STMT: Lowering._if,
    CursorKind.FOR_STMT: Lowering._for,
    CursorKind.RETURN_STMT: Lowering._return,
    CursorKind.BREAK_STMT: Lowering._jump,
    CursorKind.CONTINUE_STMT: Lowering._jump,
    CursorKind.GOTO_STMT: Lowering._jump,
    CursorKind.INDIRECT_GOTO_STMT: Lowering._jump,
}

_OTHERS = {
    CursorKind.WHILE_STMT: "while",
    CursorKind.DO_STMT: "do",
    CursorKind.SWITCH_STMT: "switch",
    CursorKind.CASE_STMT: "case",
    CursorKind.DEFAULT_STMT: "case",
    CursorKind.LABEL_STMT: "label",
    CursorKind.ASM_STMT: "asm",
    CursorKind.NULL_STMT: "null",
    CursorKind.UNEXPOSED_STMT: "pragma",
}

_STRANGE = {
    CursorKind.StmtExpr: "a statement expression",
    CursorKind.GENERIC_SELECTION_EXPR: "_Generic",
    CursorKind.COMPOUND_LITERAL_EXPR: "a compound literal",
    CursorKind.CXX_UNARY_EXPR: "sizeof of a variable length array",
    CursorKind.MEMBER_REF_EXPR: "a bit-field",
}
