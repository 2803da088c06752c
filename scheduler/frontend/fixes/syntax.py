"""The syntax tree of a function as libclang gives it, with parents and the bytes of the file.

Long, because it holds what every kind of fix asks of a tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from scheduler.frontend.clang import libclang
from scheduler.frontend.clang.libclang import Cursor, CursorKind, TypeKind
from scheduler.frontend.fixes.model import Edit
from scheduler.ir.types import FUNCTIONS

LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)
_THROUGH = (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR)
_SPACE = re.compile(rb"(?:\s|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_LAST = re.compile(rb"[ \t]*(?://[^\r\n]*|/\*[^\n]*?\*/(?=[ \t]*\r?\n))")
INTEGERS = {
    TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT, TypeKind.USHORT, TypeKind.INT,
    TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG,
}  # fmt: skip
ARRAYS = {TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY}
SIGNED = {TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG}


@dataclass(eq=False, slots=True)
class Node:
    """A cursor of the file, from byte `begin` to `end`."""

    cursor: Cursor
    parent: Node | None
    begin: int
    end: int
    children: list[Node] = field(default_factory=list)

    @property
    def kind(self) -> CursorKind:
        return self.cursor.kind

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    def ancestors(self) -> Iterator[Node]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def within(self, other: Node) -> bool:
        return self is other or any(a is other for a in self.ancestors())


def bare(node: Node) -> Node:
    """Without parentheses and conversions that are not written."""
    while node.kind in _THROUGH and len(node.children) == 1:
        node = node.children[0]
    return node


def outer(node: Node) -> Node:
    """The widest expression that is bare the node."""
    while node.parent is not None and node.parent.kind in _THROUGH:
        node = node.parent
    return node


def operator(node: Node) -> str:
    if node.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
        return libclang.binary_operator(node.cursor)
    return libclang.unary_operator(node.cursor) if node.kind == CursorKind.UNARY_OPERATOR else ""


def is_assignment(node: Node) -> bool:
    op = operator(node)
    return node.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR or op == "="


def is_const_number(node: Node) -> int | None:
    """The value of a constant that is a whole number."""
    if any(n.kind in (CursorKind.DECL_REF_EXPR, CursorKind.CALL_EXPR) for n in node.walk()):
        return None
    value = libclang.evaluate(node.cursor)
    return int(value) if value is not None and value == int(value) else None


def targets(node: Node) -> Iterator[Node]:
    """What assignments, `++` and `--` in a node change."""
    for n in node.walk():
        if is_assignment(n) or operator(n) in ("p++", "p--", "++", "--"):
            yield bare(n.children[0])


def calls(node: Node, pure: bool = False) -> list[Node]:
    """The calls in a node; those of mathematical functions of the library only where `pure`."""
    found = [n for n in node.walk() if n.kind == CursorKind.CALL_EXPR]
    return found if pure else [n for n in found if n.cursor.spelling not in FUNCTIONS]


def refers(node: Node, declaration: Cursor) -> bool:
    """Whether an expression is the name of a variable (libclang compares cursors with cursors only)."""
    found = node.cursor.referenced if node.kind == CursorKind.DECL_REF_EXPR else None
    return found is not None and bool(found == declaration)


def references(node: Node, declaration: Cursor) -> list[Node]:
    return [n for n in node.walk() if refers(n, declaration)]


def variables(node: Node) -> list[Cursor]:
    """The variables that are named in a node."""
    found = (n.cursor.referenced for n in node.walk() if n.kind == CursorKind.DECL_REF_EXPR)
    return [v for v in found if v is not None and v.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL)]


def changes(node: Node, declaration: Cursor) -> bool:
    """Whether a variable is assigned to in a node, or its address is taken there."""
    if any(refers(t, declaration) for t in targets(node)):
        return True
    taken = (bare(n.children[0]) for n in node.walk() if operator(n) == "&" and n.children)
    return any(refers(t, declaration) for t in taken)


def declared_in(node: Node, declaration: Cursor) -> bool:
    """Whether a variable is not there in front of a node."""
    return bool(node.begin <= declaration.extent.start.offset < node.end)


def is_local(declaration: Cursor) -> bool:
    """A variable that only its function knows, while it runs."""
    if declaration.kind == CursorKind.PARM_DECL:
        return True
    parent = declaration.semantic_parent
    inside = parent is not None and parent.kind == CursorKind.FUNCTION_DECL
    return inside and declaration.storage_class in (libclang.StorageClass.NONE, libclang.StorageClass.AUTO)


def is_steady(node: Node, loop: Node, function: Node) -> bool:
    """Whether an expression has one value while a loop runs: of numbers and local variables that are not changed, and
    whose addresses are not taken anywhere."""
    plain = (CursorKind.DECL_REF_EXPR, CursorKind.INTEGER_LITERAL, CursorKind.BINARY_OPERATOR, *_THROUGH)
    if any(n.kind not in plain or is_assignment(n) for n in node.walk()):
        return False
    return all(
        v.type.get_canonical().kind in INTEGERS
        and not v.type.is_volatile_qualified()
        and is_local(v)
        and not changes(loop, v)
        and not addressed(function, v)
        for v in variables(node)
    )


def is_fixed_place(node: Node, statement: Node, function: Node) -> bool:
    """Whether what a statement stores cannot move the place that an expression designates: an element of an array, or
    of what a local pointer leads to, at subscripts that stay what they are."""
    node = bare(node)
    if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        base, index = bare(node.children[0]), node.children[1]
        array = base.cursor.type.get_canonical().kind in ARRAYS
        if not array and base.kind != CursorKind.DECL_REF_EXPR:
            return False
        return is_steady(index, statement, function) and is_fixed_place(base, statement, function)
    if node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
        whole = node.children[0].cursor.type.get_canonical().kind == TypeKind.RECORD
        return whole and is_fixed_place(node.children[0], statement, function)
    if node.kind != CursorKind.DECL_REF_EXPR:
        return False
    variable = node.cursor.referenced
    if variable.type.get_canonical().kind != TypeKind.POINTER:
        return True
    return is_local(variable) and not addressed(function, variable) and not changes(statement, variable)


def addressed(function: Node, declaration: Cursor) -> bool:
    taken = (bare(n.children[0]) for n in function.walk() if operator(n) == "&" and n.children)
    return any(refers(t, declaration) for t in taken)


def means_another(function: Node, declaration: Cursor) -> bool:
    """Whether the name of a variable stands for another one somewhere in a function, be it in what macros stand for."""
    named = (n for n in function.walk() if n.kind == CursorKind.DECL_REF_EXPR)
    return any(n.cursor.spelling == declaration.spelling and not refers(n, declaration) for n in named)


def is_body(node: Node) -> bool:
    """Whether a node is a statement of its own: in a list, or the body of another one."""
    parent = node.parent
    if parent is None or (node.kind in _THROUGH and parent.kind in _THROUGH):
        return False
    if parent.kind == CursorKind.COMPOUND_STMT:
        return True
    if parent.kind in (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.LABEL_STMT):
        return node is parent.children[-1]
    if parent.kind == CursorKind.DO_STMT:
        return node is parent.children[0]
    return parent.kind == CursorKind.IF_STMT and node is not parent.children[0]


class View:
    """A file, its functions as trees, and where macros stand. `wraps`: signed arithmetic wraps around (-fwrapv)."""

    def __init__(self, unit: libclang.TranslationUnit, path: str, content: bytes, wraps: bool) -> None:
        self.unit, self.path, self.content, self.wraps = unit, path, content, wraps
        self.macros: list[tuple[int, int]] = []
        self.bodies: list[Cursor] = []
        for cursor in unit.cursor.get_children():
            place = cursor.location
            if place.file is None or place.file.name != path:
                continue
            if cursor.kind == CursorKind.MACRO_INSTANTIATION:
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset))
            elif cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition():
                self.bodies.append(cursor)

    @cached_property
    def functions(self) -> list[Node]:
        return [self._tree(cursor, None) for cursor in self.bodies]

    def _tree(self, cursor: Cursor, parent: Node | None) -> Node:
        extent = cursor.extent
        node = Node(cursor, parent, int(extent.start.offset), int(extent.end.offset))
        node.children = [self._tree(child, node) for child in cursor.get_children()]
        return node

    def function_at(self, offset: int) -> Node | None:
        return next((f for f in self.functions if f.begin <= offset < f.end), None)

    def text(self, node: Node) -> bytes:
        return self.content[node.begin : node.end]

    def plain(self, begin: int, end: int) -> bool:
        """Whether bytes hold no macro, directive or line that goes on: text that means what it says."""
        if any(a < end and begin < b for a, b in self.macros):
            return False
        text = self.content[begin:end]
        return b"\\\n" not in text and b"??" not in text and not re.search(rb"^[ \t]*#", text, re.MULTILINE)

    def finish(self, node: Node) -> int:
        """Behind a statement and its semicolon."""
        match = _SPACE.match(self.content, node.end)
        behind = match.end() if match is not None else node.end
        ends = self.content[behind : behind + 1] == b";" and self.content[node.end - 1 : node.end] not in (b";", b"}")
        return behind + 1 if ends else node.end

    def behind_comment(self, offset: int) -> int:
        """Behind the comment that ends a line, where there is one."""
        comment = _LAST.match(self.content, offset)
        return comment.end() if comment is not None else offset

    def indent(self, offset: int) -> bytes:
        """The blanks at the beginning of a line."""
        begin = self.content.rfind(b"\n", 0, offset) + 1
        line = self.content[begin:offset]
        return line[: len(line) - len(line.lstrip(b" \t"))]

    def fresh(self, name: str) -> bytes:
        """A name that is not in the file."""
        taken = set(re.findall(rb"[A-Za-z_]\w*", self.content))
        found, number = name.encode(), 2
        while found in taken:
            found, number = f"{name}_{number}".encode(), number + 1
        return found

    def named(self, name: str, begin: int, end: int) -> bool:
        return re.search(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)", self.content[begin:end]) is not None

    def shared(self, variable: Cursor) -> bool:
        """Whether the address of a variable of the file may be taken anywhere, or a macro does something with it."""
        name = re.escape(variable.spelling.encode())
        if re.search(rb"&\s*\(*\s*" + name + rb"(?!\w)", self.content) is not None:
            return True
        if any(self.named(variable.spelling, begin, end) for begin, end in self.macros):
            return True
        return any(addressed(function, variable) for function in self.functions)

    def marked(self, loop: Node) -> bool:
        """Whether a pragma, or a macro that may be one, is right above a loop: nothing can come between."""
        text = self.content[: loop.begin].rstrip()
        while comment := re.search(rb"(?://[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)$", text):
            text = text[: comment.start()].rstrip()
        if text.rpartition(b"\n")[2].lstrip().startswith(b"#") or re.search(rb"_Pragma\s*\([^)]*\)$", text):
            return True
        return any(end == len(text) for _, end in self.macros)

    # ------------------------------------------------------------------------------------- edits

    def _listed(self, statement: Node) -> bool:
        return statement.parent is not None and statement.parent.kind == CursorKind.COMPOUND_STMT

    def _braces(self, body: Node) -> tuple[Edit, bytes, Edit]:
        """Around a statement that has none: what opens them, what goes between statements, what closes them."""
        parent, content, end = body.parent, self.content, self.finish(body)
        outside = self.indent(parent.begin if parent is not None else body.begin)
        before = content[: body.begin]
        head = len(before.rstrip(b" \t\r\n"))
        line = content.rfind(b"\n", 0, body.begin) + 1
        if line <= head:  # in one line with what it belongs to
            return Edit(body.begin, body.begin, b"{ "), b" ", Edit(end, end, b" }")
        close = Edit(end, end, b"\n" + outside + b"}")
        if before[:head].endswith((b")", b"else", b"do")):
            return Edit(head, head, b" {"), b"\n" + self.indent(body.begin), close
        indent = self.indent(body.begin)
        return Edit(line, body.begin, outside + b"{\n" + indent), b"\n" + indent, close

    def instead(self, statement: Node, texts: list[bytes]) -> tuple[Edit, ...] | None:
        """A statement becomes several; None where it stands in a macro."""
        end = self.finish(statement)
        if not self.plain(statement.begin, end):
            return None
        if self._listed(statement):
            return (Edit(statement.begin, end, (b"\n" + self.indent(statement.begin)).join(texts)),)
        opened, gap, closed = self._braces(statement)
        return (opened, Edit(statement.begin, end, gap.join(texts)), closed)

    def before(self, loop: Node, text: bytes, after: bytes = b"") -> tuple[Edit, ...] | None:
        """Statements in front of a loop, and behind it; None where a pragma or a macro is in the way."""
        end = self.finish(loop)
        line = self.content.rfind(b"\n", 0, loop.begin) + 1
        if self.marked(loop) or not self.plain(line, loop.begin + 1):
            return None
        if self._listed(loop):
            gap = b"\n" + self.indent(loop.begin)
            return (Edit(loop.begin, loop.begin, text + gap), *((Edit(end, end, gap + after),) if after else ()))
        opened, gap, closed = self._braces(loop)
        behind = (Edit(end, end, gap + after),) if after else ()
        return (opened, Edit(loop.begin, loop.begin, text + gap), *behind, closed)

    def inside(self, loop: Node, first: bytes = b"", last: bytes = b"") -> tuple[Edit, ...] | None:
        """Statements at the beginning and at the end of the body of a loop."""
        body = loop.children[-1]
        end = self.finish(body)
        if not self.plain(body.begin, body.begin + 1) or not self.plain(body.end - 1, end):
            return None
        if body.kind != CursorKind.COMPOUND_STMT:
            opened, gap, closed = self._braces(body)
            begun = (Edit(body.begin, body.begin, first + gap),) if first else ()
            return (opened, *begun, *((Edit(end, end, gap + last),) if last else ()), closed)
        edits: list[Edit] = []
        indent = self.indent(loop.begin) + b"    "
        if first:
            edits.append(Edit(body.begin + 1, body.begin + 1, b"\n" + indent + first))
        if last:
            line = self.content.rfind(b"\n", 0, body.end) + 1
            alone = not self.content[line : body.end - 1].strip()
            place = line if alone else body.end - 1
            edits.append(Edit(place, place, indent + last + b"\n" if alone else b" " + last + b" "))
        return tuple(edits)

    def taken(self, statement: Node) -> tuple[bytes, tuple[Edit, ...] | None]:
        """A statement with the comment that ends its line, and the edits that take both away."""
        end = self.behind_comment(self.finish(statement))
        return self.content[statement.begin : end].rstrip(), self.remove(statement, end)

    def remove(self, statement: Node, end: int | None = None) -> tuple[Edit, ...] | None:
        """A statement away, with its line where that holds nothing else; elsewhere an empty one is left."""
        end = self.finish(statement) if end is None else end
        if not self.plain(statement.begin, end):
            return None
        if not self._listed(statement):
            return (Edit(statement.begin, end, b";"),)
        line = self.content.rfind(b"\n", 0, statement.begin) + 1
        stop = self.content.find(b"\n", end)
        alone = not self.content[line : statement.begin].strip() and stop >= 0 and not self.content[end:stop].strip()
        return (Edit(line, stop + 1, b"") if alone else Edit(statement.begin, end, b""),)
