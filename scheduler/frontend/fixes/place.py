"""Where a fix is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.frontend.clang.libclang import Cursor, CursorKind
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.syntax import Node, View, is_body

if TYPE_CHECKING:
    from scheduler.frontend.model import Rejection


@dataclass(frozen=True, slots=True)
class Place:
    """A refused loop of a function; `offset` is what is in the way."""

    view: View
    function: Node
    loop: Node
    offset: int
    rejection: Rejection

    def at(self, *kinds: CursorKind) -> Node | None:
        """The outermost node of a kind that begins at the offset."""
        found = (n for n in self.loop.walk() if n.begin == self.offset and n.kind in kinds)
        return next(found, None)

    def statement(self) -> Node | None:
        """The innermost statement around the offset."""
        found = [n for n in self.loop.walk() if n.begin <= self.offset < n.end and is_body(n)]
        return found[-1] if found else None

    def named(self) -> str:
        """The first name that the reason quotes."""
        match = re.search(r"'([A-Za-z_]\w*)'", self.rejection.reason)
        return match[1] if match else ""

    def declared(self) -> Cursor | None:
        """The variable of that name that the loop uses."""
        name = self.named()
        for node in self.loop.walk():
            if node.kind == CursorKind.DECL_REF_EXPR and node.cursor.spelling == name:
                found = node.cursor.referenced
                return (
                    found if found is not None and found.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL) else None
                )
            if node.kind == CursorKind.VAR_DECL and node.cursor.spelling == name:
                return node.cursor
        return None

    def fix(self, kind: str, title: str, *edits: tuple[Edit, ...] | None, caveat: str = "") -> Iterator[Fix]:
        """Nothing where one of the edits cannot be made; inner ones come first, where several end at one place."""
        if all(part is not None for part in edits):
            whole = tuple(edit for part in edits for edit in part or ())
            yield Fix(kind, title, self.loop.begin, whole, caveat)


Maker = Callable[[Place], Iterator[Fix]]
