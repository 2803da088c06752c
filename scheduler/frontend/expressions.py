"""libclang cursors to the declarations, types and expressions of `csyntax`."""

from __future__ import annotations

import re

from scheduler.frontend import libclang
from scheduler.frontend.arith import literal_text
from scheduler.frontend.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CType,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Strange,
    Un,
    Unit,
    Variable,
)
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


class Expressions:
    """Reads declarations and expressions of one translation unit."""

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

    # ------------------------------------------------------------------------------ declarations

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

    def hide(self, cursor: Cursor) -> None:
        """What is done to variables in code we do not read: they count as accessed through pointers."""
        for inner in cursor.walk_preorder():
            target = inner.referenced if inner.kind == CursorKind.DECL_REF_EXPR else None
            if target is not None and target.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
                self.variable(target).address_taken = True

    # ---------------------------------------------------------------------------------- positions

    def begin(self, cursor: Cursor) -> int:
        return int(cursor.extent.start.offset) if self.in_file else -1

    def end(self, cursor: Cursor) -> int:
        return int(cursor.extent.end.offset) if self.in_file else -1

    # -------------------------------------------------------------------------------- expressions

    def expr(self, cursor: Cursor) -> CExpr:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                self.hide(cursor)
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
            field = cursor.referenced
            if field is not None and field.semantic_parent.kind == CursorKind.UNION_DECL:
                return Strange("a union", (), ctype, at)
            if parts and field is not None and not field.is_bitfield():
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
        if kind == CursorKind.StmtExpr:
            self.hide(cursor)
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
                signed = op == "-" and ctype.name in ("int", "long", "long long")
                if signed and isinstance(operand, Lit) and isinstance(operand.value, int) and operand.value > 0:
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


_STRANGE = {
    CursorKind.StmtExpr: "a statement expression",
    CursorKind.GENERIC_SELECTION_EXPR: "_Generic",
    CursorKind.COMPOUND_LITERAL_EXPR: "a compound literal",
    CursorKind.CXX_UNARY_EXPR: "sizeof of a variable length array",
    CursorKind.MEMBER_REF_EXPR: "a bit-field",
}
