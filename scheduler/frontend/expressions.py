"""libclang cursors to the declarations, types and expressions of `csyntax`."""

from __future__ import annotations

import re
from dataclasses import replace

from scheduler.frontend import libclang
from scheduler.frontend.arith import literal_text
from scheduler.frontend.csyntax import (
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
    Strange,
    Un,
    Unit,
    Variable,
)
from scheduler.frontend.libclang import ClangType, Cursor, CursorKind, StorageClass, TLSKind, TranslationUnit, TypeKind

MAX_DEPTH = 400  # nesting of statements and expressions; deeper code is left alone

_LONG_INITIALIZER = 50_000  # bytes
_LONG_TEXT = 1000  # of an initializer that code may repeat

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
_THREAD_PRIVATE = re.compile(rb"#[ \t]*pragma[ \t]+omp[ \t]+threadprivate[ \t]*\(([^)\n]*)\)")


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
        self.threadprivate = {
            name.strip().decode("utf-8", "replace")
            for names in _THREAD_PRIVATE.findall(content)
            for name in names.split(b",")
        }

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
        variable.oddity = self._oddity(cursor, storage)
        variable.address_taken = bool(variable.oddity)
        init = libclang.initializer(cursor) if cursor.kind == CursorKind.VAR_DECL else None
        if cursor.type.get_canonical().kind in (*_ARRAYS, TypeKind.POINTER):
            variable.ctype = self.declared_type(cursor, init)
        if init is not None:
            variable.init = self._long_table(variable, init) or self.expr(init)
            variable.init_text = text if len(text := self._text(init, _LONG_TEXT)) < _LONG_TEXT else ""
        self._note_types(cursor)
        return variable

    def _note_types(self, cursor: Cursor) -> None:
        """The typedef names that a declaration, a cast or a size uses."""
        for child in cursor.get_children():
            if child.kind == CursorKind.TYPE_REF and child.referenced.kind == CursorKind.TYPEDEF_DECL:
                name, ctype = child.spelling, self.ctype(child.type)
                self.unit.type_names.append(Meaning(self.begin(child), name, ctype, _scope(child.referenced)))

    def _oddity(self, cursor: Cursor, storage: str) -> str:
        """What a declaration says that makes two threads, or two names, see other objects than C tells."""
        if cursor.kind != CursorKind.VAR_DECL:
            return ""
        lasting = storage in ("global", "static")
        if cursor.tls_kind != TLSKind.NONE or (lasting and cursor.spelling in self.threadprivate):
            return "a thread-local variable"
        for child in cursor.get_children():
            if child.kind == CursorKind.ASM_LABEL_ATTR and storage == "global":
                return "a variable with a name for the assembler"
            if child.kind == CursorKind.UNEXPOSED_ATTR:
                text = self._text(child)
                if "alias" in text if lasting else "unused" not in text.lower():
                    return f"a variable with an attribute ({text})"
        return ""

    def _text(self, cursor: Cursor, most: int = 80) -> str:
        start, end = cursor.extent.start, cursor.extent.end
        if not self.in_file or start.file is None or start.file.name != self.path:
            return "?"
        return self.content[start.offset : end.offset].decode("utf-8", "replace")[:most]

    def _long_table(self, variable: Variable, init: Cursor) -> CExpr | None:
        """A stand-in for the initializer of a large table of numbers: nobody looks into it."""
        extent = init.extent
        element: CType | None = variable.ctype
        while element is not None and element.kind == "array":
            element = element.element
        if extent.end.offset - extent.start.offset < _LONG_INITIALIZER or element is None or not element.is_scalar:
            return None
        return Strange("a long initializer", (), self.ctype(init.type), self.begin(init))

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
            if const and not element.is_const:  # libclang leaves the qualifiers of an array's elements with the array
                element = replace(element, is_const=True)
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
        waiting = [cursor]
        while waiting:
            inner = waiting.pop()
            waiting.extend(inner.get_children())
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
                return Strange(TOO_DEEP, (), self.ctype(cursor.type), self.begin(cursor))
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
                return Strange("a union", (), ctype, at)
            if parts and field is not None and not field.is_bitfield():
                base = self.expr(parts[0])
                return Member(base, cursor.spelling, base.ctype.kind == "pointer", ctype, at)
        elif kind == CursorKind.CXX_UNARY_EXPR:
            value = libclang.evaluate(cursor)
            if isinstance(value, int):
                self._note_types(cursor)
                if (text := self._text(cursor, _LONG_TEXT)).startswith(("sizeof", "_Alignof")):
                    self.unit.constants.append(Meaning(at, text, value))
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
            self.unit.constants.append(Meaning(at, target.spelling, value, _scope(target.semantic_parent)))
            return Lit(literal_text(value, ctype.name), value, ctype, at)
        if target.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
            in_file, self.in_file = (
                self.in_file,
                self.in_file and target.location.file is not None and (target.location.file.name == self.path),
            )
            try:
                variable = self.variable(target)
                if variable.oddity:
                    return Strange(variable.oddity, (), ctype, at)
                return Ref(variable, ctype, at)
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


def _scope(declaration: Cursor) -> int:
    """Where something is declared inside a function; -1 at file scope."""
    parent = declaration.semantic_parent
    at_file_scope = parent is None or parent.kind == CursorKind.TRANSLATION_UNIT
    return -1 if at_file_scope else int(declaration.extent.start.offset)


_STRANGE = {
    CursorKind.StmtExpr: "a statement expression",
    CursorKind.GENERIC_SELECTION_EXPR: "_Generic",
    CursorKind.COMPOUND_LITERAL_EXPR: "a compound literal",
    CursorKind.CXX_UNARY_EXPR: "sizeof of a variable length array",
    CursorKind.MEMBER_REF_EXPR: "a bit-field",
}
