"""`restrict` on the pointers that a function gets, where its loops would test at run time that they lead apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scheduler.frontend.clang.libclang import CursorKind
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.syntax import View, changes
from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.walk import assignments, placed_statements


def restricted(view: View, nests: Sequence[LoopNest]) -> Iterator[Fix]:
    """One for each function with such a nest: of all parameters that its nests name."""
    for function in view.functions:
        named: set[str] = set()
        first: LoopNest | None = None
        for nest in nests:
            inside = nest.span is not None and function.begin <= nest.span.begin < function.end
            pointers = {a.name for a in nest.arrays if a.storage == Storage.POINTER}
            written = {a.target.array for p in placed_statements(nest) for a in assignments(p.statement.body)}
            if inside and len(pointers) > 1 and pointers & written:
                named |= pointers
                first = first or nest
        edits = []
        for child in function.children:
            name = child.cursor.spelling
            if child.kind != CursorKind.PARM_DECL or name not in named or not view.plain(child.begin, child.end):
                continue
            if changes(function, child.cursor):
                continue
            match = re.fullmatch(rb"[\w\s]+\*\s*(" + re.escape(name.encode()) + rb")", view.text(child))
            if match is not None:
                edits.append(Edit(child.begin + match.start(1), child.begin + match.start(1), b"restrict "))
        if first is not None and first.span is not None and len(edits) > 1:
            names = ", ".join(f"'{n}'" for n in sorted(named))
            caveat = f"no call passes arrays that overlap where one of them is written: {names}"
            title = f"the pointers of '{function.cursor.spelling}' are restrict"
            yield Fix("restrict", title, first.span.begin, tuple(edits), caveat, nest=True)
