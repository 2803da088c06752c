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
INTEGERS = {
    TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT, TypeKind.USHORT, TypeKind.INT,
    TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG,
}  # fmt: skip
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


def references(node: Node, declaration: Cursor) -> list[Node]:
    return [
        n
        for n in node.walk()
        if n.kind == CursorKind.DECL_REF_EXPR and n.cursor.referenced is not None and n.cursor.referenced == declaration
    ]


def variables(node: Node) -> list[Cursor]:
    """The variables that are named in a node."""
    found = (n.cursor.referenced for n in node.walk() if n.kind == CursorKind.DECL_REF_EXPR)
    return [v for v in found if v is not None and v.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL)]


def changes(node: Node, declaration: Cursor) -> bool:
    """Whether a variable is assigned to in a node, or its address is taken there."""
    if any(t.kind == CursorKind.DECL_REF_EXPR and t.cursor.referenced == declaration for t in targets(node)):
        return True
    taken = (bare(n.children[0]) for n in node.walk() if operator(n) == "&" and n.children)
    return any(t.kind == CursorKind.DECL_REF_EXPR and t.cursor.referenced == declaration for t in taken)


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
        and not _address_taken(function, v)
        for v in variables(node)
    )


def _address_taken(function: Node, declaration: Cursor) -> bool:
    taken = (bare(n.children[0]) for n in function.walk() if operator(n) == "&" and n.children)
    return any(t.kind == CursorKind.DECL_REF_EXPR and t.cursor.referenced == declaration for t in taken)


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

    def written_address(self, name: str) -> bool:
        """Whether the address of a name may be taken anywhere in the file."""
        return re.search(rb"&\s*\(*\s*" + re.escape(name.encode()) + rb"(?!\w)", self.content) is not None

    # ------------------------------------------------------------------------------------- edits

    def instead(self, statement: Node, texts: list[bytes]) -> tuple[Edit, ...] | None:
        """A statement becomes several; None where it stands in a macro."""
        end = self.finish(statement)
        if not self.plain(statement.begin, end):
            return None
        indent = self.indent(statement.begin)
        if statement.parent is not None and statement.parent.kind == CursorKind.COMPOUND_STMT:
            return (Edit(statement.begin, end, (b"\n" + indent).join(texts)),)
        inner = b"\n" + indent + b"    "
        return (Edit(statement.begin, end, b"{" + inner + inner.join(texts) + b"\n" + indent + b"}"),)

    def before(self, loop: Node, text: bytes, after: bytes = b"") -> tuple[Edit, ...] | None:
        """Statements in front of a loop, and behind it; None where a pragma or a macro is in the way."""
        end, indent = self.finish(loop), self.indent(loop.begin)
        line = self.content.rfind(b"\n", 0, loop.begin) + 1
        above = self.content[: max(line - 1, 0)].rstrip().rpartition(b"\n")[2].lstrip()
        if above.startswith(b"#") or not self.plain(line, loop.begin) or not self.plain(loop.begin, loop.begin + 1):
            return None
        gap = b"\n" + indent
        if loop.parent is not None and loop.parent.kind == CursorKind.COMPOUND_STMT:
            behind = (Edit(end, end, gap + after),) if after else ()
            return (Edit(loop.begin, loop.begin, text + gap), *behind)
        inner = gap + b"    "
        last = (inner + after if after else b"") + gap + b"}"
        return (Edit(loop.begin, loop.begin, b"{" + inner + text + inner), Edit(end, end, last))

    def inside(self, loop: Node, first: bytes = b"", last: bytes = b"") -> tuple[Edit, ...] | None:
        """Statements at the beginning and at the end of the body of a loop."""
        body = loop.children[-1]
        end, indent = self.finish(body), self.indent(body.begin)
        if not self.plain(body.begin, body.begin + 1) or not self.plain(body.end - 1, end):
            return None
        edits: list[Edit] = []
        if body.kind == CursorKind.COMPOUND_STMT:
            indent = self.indent(loop.begin)
            gap = b"\n" + indent + b"    "
            if first:
                edits.append(Edit(body.begin + 1, body.begin + 1, gap + first))
            if last:
                begin = self.content.rfind(b"\n", 0, body.end) + 1
                alone = not self.content[begin : body.end - 1].strip()
                place = begin if alone else body.end - 1
                text = indent + b"    " + last + b"\n" if alone else b" " + last + b" "
                edits.append(Edit(place, place, text))
            return tuple(edits)
        gap = b"\n" + indent
        edits.append(Edit(body.begin, body.begin, b"{" + gap + (first + gap if first else b"")))
        edits.append(Edit(end, end, (gap + last if last else b"") + b"\n" + self.indent(loop.begin) + b"}"))
        return tuple(edits)

    def remove(self, statement: Node) -> tuple[Edit, ...] | None:
        """A statement away, with its line where that holds nothing else; elsewhere an empty one is left."""
        end = self.finish(statement)
        if not self.plain(statement.begin, end):
            return None
        if statement.parent is None or statement.parent.kind != CursorKind.COMPOUND_STMT:
            return (Edit(statement.begin, end, b";"),)
        line = self.content.rfind(b"\n", 0, statement.begin) + 1
        stop = self.content.find(b"\n", end)
        alone = not self.content[line : statement.begin].strip() and stop >= 0 and not self.content[end:stop].strip()
        return (Edit(line, stop + 1, b"") if alone else Edit(statement.begin, end, b""),)
