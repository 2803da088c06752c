"""libclang cursors to the declarations and types of `csyntax`.

Long, because types, and the layouts of structures, are parts of declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from scheduler.frontend.c_ast.csyntax import (
    CExpr,
    CType,
    Field,
    Meaning,
    Record,
    Ref,
    Unit,
    Unmodelled,
    Variable,
)
from scheduler.frontend.clang import libclang
from scheduler.frontend.clang.dialect import Dialect
from scheduler.frontend.clang.lexical import Directive
from scheduler.frontend.clang.libclang import (
    ClangType,
    Cursor,
    CursorKind,
    StorageClass,
    TLSKind,
    TranslationUnit,
    TypeKind,
    skipped_ranges,
)
from scheduler.frontend.clang.source_text import source_text
from scheduler.ir.names import safe_name

_LONG_INITIALIZER = 50_000  # bytes
LONG_TEXT = 1000  # of an initializer that code may repeat

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
_NAME = re.compile(r"[\w$]+")
_PLAIN = Dialect()


class Declarations:
    """Reads declarations and types of one translation unit; `expr` of a subclass reads expressions."""

    def __init__(
        self, tu: TranslationUnit, path: str, content: bytes, trigraphs: bool = False, dialect: Dialect = _PLAIN
    ) -> None:
        self.tu = tu
        self.path = path
        self.content = content
        self.unit = Unit(path, source_text(content, trigraphs, tuple(skipped_ranges(tu, path))), dialect)
        self.text = self.unit.source.text
        self.includes: dict[str, Directive] = {}  # by the name of the file, where code is included into a function
        self.variables: dict[int, Variable] = {}
        self.types: dict[str, CType] = {}
        self.declared_records: dict[str, int] = {}  # the declarations of structure types, by their names
        self.helpers: list[Cursor] = []
        self.called: set[str] = set()  # functions whose declarations were looked at
        self.depth = 0
        self.in_file = True
        self.threadprivate = threadprivate((content, *libclang.included_texts(tu).values()))

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
            safe_name(cursor.spelling),
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
            variable.init_text = text if len(text := self._text(init, LONG_TEXT)) < LONG_TEXT else ""
        self._note_types(cursor)
        return variable

    def _note_types(self, cursor: Cursor) -> None:
        """The typedef names that a declaration, a cast or a size uses."""
        for child in cursor.get_children():
            if child.kind == CursorKind.TYPE_REF and child.referenced.kind == CursorKind.TYPEDEF_DECL:
                name, ctype = child.spelling, self.ctype(child.type)
                meaning = Meaning(self.begin(child), name, ctype, scope_of(child.referenced))
                self.unit.meanings.type_names.append(meaning)

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
        return self.unit.source.active[start.offset : end.offset].decode("utf-8", "replace")[:most]

    def _long_table(self, variable: Variable, init: Cursor) -> CExpr | None:
        """A stand-in for the initializer of a large table of numbers: nobody looks into it."""
        extent = init.extent
        element: CType | None = variable.ctype
        while element is not None and element.kind == "array":
            element = element.element
        if extent.end.offset - extent.start.offset < _LONG_INITIALIZER or element is None or not element.is_scalar:
            return None
        return Unmodelled("a long initializer", (), self.ctype(init.type), self.begin(init))

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
        elif known.kind == "record":
            self._record(canonical)  # another one of that name may be meant
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
            return CType("record", self._record(canonical), None, None, const, volatile)
        return CType("other", spelling, None, None, const, volatile)

    def _record(self, canonical: ClangType) -> str:
        """The name of a structure type, which `unit.records` describes."""
        declaration = canonical.get_declaration()
        name = str(canonical.spelling).replace("const ", "").replace("volatile ", "")
        known = self.declared_records.get(name)
        if known is None:
            self.declared_records[name] = declaration.canonical.hash
            self.unit.records[name] = Record(0, (), "a structure that is not defined here")  # while it is read
            self.unit.records[name] = self._layout(declaration)
        elif known != declaration.canonical.hash:
            self.unit.records[name] = Record(0, (), f"one of several types named '{name}'")
        return name

    def _layout(self, declaration: Cursor) -> Record:
        if declaration.kind != CursorKind.STRUCT_DECL:
            return Record(0, (), "a union")
        whole = declaration.type
        fields: list[Field] = []
        problem = ""
        natural = 1
        for cursor in whole.get_fields():
            offset, ctype = int(cursor.get_field_offsetof()), self.ctype(cursor.type)
            innermost = ctype
            while innermost.kind == "array" and innermost.element is not None:
                if not isinstance(innermost.extent, int) or innermost.extent < 1:
                    problem = problem or f"a structure with the flexible array '{cursor.spelling}'"
                innermost = innermost.element
            below = self.unit.records[innermost.name] if innermost.kind == "record" else None
            if cursor.is_bitfield():
                problem = problem or "a structure with bit-fields"
            elif not _NAME.fullmatch(cursor.spelling):
                problem = problem or "a structure with members of an unnamed structure or union"
            elif below is not None and below.problem:
                problem = problem or below.problem
            fields.append(Field(safe_name(cursor.spelling), ctype, offset // 8))
            element = cursor.type.get_canonical()
            while element.kind in _ARRAYS:
                element = element.element_type.get_canonical()
            natural = max(natural, int(element.get_align()))
            if offset < 0 or (offset // 8) % max(1, int(element.get_align())):
                problem = problem or "a packed structure"
        if whole.get_size() <= 0 or not fields:
            problem = problem or "a structure that is not defined here"
        elif int(whole.get_align()) != natural:
            problem = problem or f"a {'packed' if int(whole.get_align()) < natural else 'specially aligned'} structure"
        return Record(int(whole.get_size()), tuple(fields), problem)

    def hide(self, cursor: Cursor) -> tuple[Ref, ...]:
        """The variables that code we do not read names. Of those that it does more with than read their values it may
        do anything: they count as accessed through pointers."""
        found: dict[Variable, Ref] = {}
        waiting = [(cursor, False)]
        while waiting:
            inner, loaded = waiting.pop()
            loads = inner.kind == CursorKind.UNEXPOSED_EXPR and inner.type.get_canonical().kind in _SCALARS
            waiting.extend((child, loads) for child in inner.get_children())
            target = inner.referenced if inner.kind == CursorKind.DECL_REF_EXPR else None
            if target is not None and target.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
                variable = self.variable(target)
                if not loaded or not variable.ctype.is_scalar:
                    variable.address_taken = True
                if not variable.oddity:
                    found.setdefault(variable, Ref(variable, variable.ctype, self.begin(inner)))
        return tuple(found.values())

    # ---------------------------------------------------------------------------------- positions

    def begin(self, cursor: Cursor) -> int:
        """Of a cursor in a file that is included into the function: where the directive is."""
        if not self.in_file:
            return -1
        start = cursor.extent.start
        if self.includes and (directive := self._directive(start)) is not None:
            return directive.begin
        return self.text.outside(self.text.inside(int(start.offset)))

    def end(self, cursor: Cursor) -> int:
        """Where a macro's argument comes last, behind the macro (libclang gives its first character there)."""
        if not self.in_file:
            return -1
        end = cursor.extent.end
        if self.includes and (directive := self._directive(end)) is not None:
            return directive.end
        offset = int(end.offset)
        return self.text.past_call(offset) if libclang.in_macro(end) else offset

    def _directive(self, location: Any) -> Directive | None:
        file = location.file
        return None if file is None or file.name == self.path else self.includes.get(file.name)

    def expr(self, cursor: Cursor) -> CExpr:
        """An expression inside a declaration, such as the size of an array."""
        raise NotImplementedError


def scope_of(declaration: Cursor) -> int:
    """Where something is declared inside a function; -1 at file scope."""
    parent = declaration.semantic_parent
    at_file_scope = parent is None or parent.kind == CursorKind.TRANSLATION_UNIT
    return -1 if at_file_scope else int(declaration.extent.start.offset)


_SPLICE = re.compile(rb"\\\r?\n")
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LIST = re.compile(rb"\bthreadprivate\s*\(([^)]*)\)")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^\n]*\bthreadprivate\b", re.MULTILINE)


def threadprivate(texts: Iterable[bytes]) -> frozenset[str]:
    """The names, in a file and those it includes: in pragmas, in `_Pragma`, and given to macros that make these."""
    text = b"\n".join(texts)
    if b"threadprivate" not in text:
        return frozenset()
    code = _COMMENT.sub(lambda m: m[0] if m[0].startswith(b'"') else b" ", _SPLICE.sub(b"", text))
    lists = [match[1] for match in _LIST.finditer(code)]
    for macro in _MACRO.finditer(code):
        lists += re.findall(rb"\b" + macro[1] + rb"\s*\(([^()]*)\)", code)
    return frozenset(name.strip().decode("utf-8", "replace") for names in lists for name in names.split(b","))
