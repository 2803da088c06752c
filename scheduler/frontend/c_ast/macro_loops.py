"""Whether a range of a file that macros make a loop of is that loop and nothing more: a second parse with braces around
it must find one statement between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.frontend.c_ast.csyntax import CStmt, ForStmt, Unit, inner_statements, loop_of
from scheduler.frontend.clang import libclang
from scheduler.frontend.clang.libclang import Cursor, CursorKind, cindex
from scheduler.frontend.model import Request

_MOST = 400  # loops from macros in one file
_PARSES = 24  # the loops are halved where they do not parse together

Range = tuple[int, int]


def check_macro_loops(index: Any, request: Request, unit: Unit) -> None:
    """Sets `exact` of a unit that has loops from macros."""
    loops = _from_macros(unit)
    ranges = list(loops)[:_MOST]
    if not ranges:
        return
    found: set[Range] = set()
    waiting = [ranges]
    for _ in range(_PARSES):
        if not waiting:
            break
        some = waiting.pop(0)
        confirmed = _confirmed(index, request, some)
        if confirmed is not None:
            found |= confirmed
        elif len(some) > 1:
            waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
    unit.from_macros.exact = {id(loops[r]) for r in found}


def _from_macros(unit: Unit) -> dict[Range, ForStmt]:
    """The loops that begin in a macro, or end in the middle of one; of those that begin at one place the outermost."""
    found: dict[Range, ForStmt] = {}
    begun: set[int] = set()
    for function in unit.functions.values():
        for stmt in _of_the_file(function.body) if function.in_file and not function.part_of else ():
            if isinstance(stmt, ForStmt) and not stmt.foreign and (stmt.macro or stmt.end in unit.from_macros.torn):
                if stmt.begin not in begun and stmt.begin < stmt.end:
                    found[stmt.begin, stmt.end] = stmt
                begun.add(stmt.begin)
    return found


def _of_the_file(body: CStmt) -> Iterable[CStmt]:
    """All statements, of those that stand for a loop the loop."""
    pending = [body]
    while pending:
        stmt = pending.pop()
        stmt = loop_of(stmt) or stmt
        yield stmt
        pending.extend(reversed(inner_statements(stmt)))


def _confirmed(index: Any, request: Request, ranges: list[Range]) -> set[Range] | None:
    """Those ranges that are one loop; None where the file does not parse with braces around them."""
    marks = sorted([(e, 0, b) for b, e in ranges] + [(b, 1, -e) for b, e in ranges])
    pieces, last = [], 0
    for offset, opens, _ in marks:
        pieces += [request.content[last:offset], b"{" if opens else b"}"]
        last = offset
    text = b"".join((*pieces, request.content[last:]))
    wanted = {offset + number: (offset, -end) for number, (offset, opens, end) in enumerate(marks) if opens}
    try:
        tu = index.parse(request.path, args=list(request.arguments), unsaved_files=[(request.path, text)])
    except cindex.TranslationUnitLoadError:
        return None
    if any(_is_error(d, request.path) for d in tu.diagnostics):
        return None
    functions = [c for c in tu.cursor.get_children() if c.kind == CursorKind.FUNCTION_DECL]
    functions = [c for c in functions if c.location.file is not None and c.location.file.name == request.path]
    return set(_single(functions, wanted))


def _is_error(diagnostic: Any, path: str) -> bool:
    file = diagnostic.location.file
    return diagnostic.severity >= cindex.Diagnostic.Error and (file is None or file.name == path)


def _single(functions: list[Cursor], wanted: Mapping[int, Range]) -> Iterable[Range]:
    """The ranges whose braces hold one loop, perhaps in braces or a `do ... while (0)` of the macro."""
    pending = functions
    while pending:
        cursor = pending.pop()
        children = list(cursor.get_children())
        pending.extend(children)
        if cursor.kind != CursorKind.COMPOUND_STMT or libclang.in_macro(cursor.extent.start):
            continue
        found = wanted.get(int(cursor.extent.start.offset))
        while found is not None and len(children) == 1 and _is_wrapper(children[0]):
            children = _held(children[0])
        if found is not None and len(children) == 1 and children[0].kind == CursorKind.FOR_STMT:
            yield found


def _is_wrapper(cursor: Cursor) -> bool:
    return cursor.kind == CursorKind.COMPOUND_STMT or once(cursor)


def _held(cursor: Cursor) -> list[Cursor]:
    """The statements in braces, or in a loop that runs once."""
    inner = list(cursor.get_children())
    if cursor.kind == CursorKind.DO_STMT:
        inner = inner[:1]
    return [c for c in inner if c.kind != CursorKind.NULL_STMT]


def once(cursor: Cursor) -> bool:
    """`do ... while (0)` that nothing jumps out of."""
    if cursor.kind != CursorKind.DO_STMT:
        return False
    body, condition = list(cursor.get_children())
    return libclang.evaluate(condition) == 0 and not _leaves(body)


def _leaves(body: Cursor) -> bool:
    """A `break` or `continue` of the loop around, not of one inside."""
    pending = [(body, True, True)]
    while pending:
        cursor, breaks, continues = pending.pop()
        if (breaks and cursor.kind == CursorKind.BREAK_STMT) or (continues and cursor.kind == CursorKind.CONTINUE_STMT):
            return True
        if cursor.kind in (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT):
            breaks = continues = False
        elif cursor.kind == CursorKind.SWITCH_STMT:
            breaks = False
        pending.extend((child, breaks, continues) for child in cursor.get_children())
    return False
