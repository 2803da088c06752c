"""Fixes of the header of a loop: of its iterator, its limit and its step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.clang.libclang import Cursor, CursorKind, StorageClass, TypeKind
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.place import Place
from scheduler.frontend.fixes.syntax import (
    INTEGERS,
    SIGNED,
    Node,
    addressed,
    bare,
    calls,
    changes,
    is_const_number,
    is_local,
    is_steady,
    operator,
    references,
    refers,
    variables,
)

_LEAVE = (CursorKind.BREAK_STMT, CursorKind.RETURN_STMT, CursorKind.GOTO_STMT, CursorKind.ASM_STMT)
_FAST = 1 << 24  # from here on a float leaves out whole numbers


def _header(loop: Node) -> tuple[Node, Node, Node, Node] | None:
    """Start, condition, step and body of a `for` that has all of them."""
    if loop.kind != CursorKind.FOR_STMT or len(loop.children) != 4:
        return None
    init, test, step, body = loop.children
    return init, test, step, body


def _amount(step: Node, iterator: Cursor) -> int | None:
    """The whole number that a header adds to its iterator."""
    step = bare(step)
    target = bare(step.children[0]) if step.children else step
    if not refers(target, iterator):
        return None
    op = operator(step)
    if op in ("p++", "++", "p--", "--"):
        return 1 if op.endswith("++") else -1
    if op not in ("+=", "-="):
        return None
    amount = is_const_number(step.children[1])
    return None if amount is None else amount if op == "+=" else -amount


def _names(node: Node, variable: Cursor) -> bool:
    return any(v == variable for v in variables(node))


def not_equal(place: Place) -> Iterator[Fix]:
    """`i != n` as `i < n`: the loop ends where `i` is `n`, or `i` overflows, which C gives no meaning: `i` is a signed
    integer that nothing else changes, `n` stays what it is, and nothing else leaves the loop or ends the program."""
    parts = _header(place.loop)
    test = bare(parts[1]) if parts else None
    if parts is None or test is None or operator(test) != "!=" or place.view.wraps:
        return
    _, _, step, body = parts
    for side, other, below in ((0, 1, b"<"), (1, 0, b">")):
        own, limit = bare(test.children[side]), test.children[other]
        if own.kind != CursorKind.DECL_REF_EXPR:
            continue
        iterator = own.cursor.referenced
        amount = _amount(step, iterator)
        signed = iterator.type.get_canonical().kind in SIGNED and not iterator.type.is_volatile_qualified()
        compared = all(part.cursor.type.get_canonical().kind in SIGNED for part in test.children)
        if amount is None or not signed or not compared or not is_steady(limit, place.loop, place.function):
            continue
        if not _changed_only_by(place, iterator) or any(n.kind in _LEAVE for n in body.walk()) or calls(body):
            continue
        up = below if amount > 0 else {b"<": b">", b">": b"<"}[below]
        begin, end = test.children[0].end, test.children[1].begin
        at = place.view.content.find(b"!=", begin, end)
        if at < 0 or not place.view.plain(begin, end):
            return
        sign = up.decode()
        yield from place.fix("not-equal", f"the loop ends by {sign} instead of !=", (Edit(at, at + 2, up),))
        return


def _changed_only_by(place: Place, iterator: Cursor) -> bool:
    """That the body leaves a local iterator alone, whose address nobody takes."""
    parts = _header(place.loop)
    return (
        parts is not None
        and is_local(iterator)
        and not changes(parts[3], iterator)
        and not addressed(place.function, iterator)
    )


def _declared(init: Node) -> Node | None:
    """The only variable that a header declares."""
    one = init.kind == CursorKind.DECL_STMT and len(init.children) == 1
    return init.children[0] if one and init.children[0].kind == CursorKind.VAR_DECL else None


def float_iterator(place: Place) -> Iterator[Fix]:
    """`for (double t = 0; t < n; t += 2)`: all values are whole numbers, smaller than those that the type leaves out.
    The limit is an int that stays what it is (of a float a constant), so that an integer takes the same values."""
    parts = _header(place.loop)
    variable = _declared(parts[0]) if parts else None
    if parts is None or variable is None:
        return
    init, test, step, body = parts
    name, kind = variable.cursor.spelling, variable.cursor.type.get_canonical().kind.name
    start = is_const_number(variable.children[-1]) if variable.children else None
    test = bare(test)
    amount = _amount(step, variable.cursor)
    if (
        start is None
        or amount is None
        or not 0 < amount <= 1024
        or abs(start) > 1024
        or kind not in ("DOUBLE", "FLOAT")
    ):
        return
    if operator(test) not in ("<", "<=") or not refers(bare(test.children[0]), variable.cursor):
        return
    limit = test.children[1]
    inner, constant = bare(limit), is_const_number(limit)
    small = inner.cursor.type.get_canonical().kind in INTEGERS - {TypeKind.UINT} and inner.cursor.type.get_size() <= 4
    exact = constant is not None and abs(constant) < _FAST - 2048
    steady = is_steady(limit, place.loop, place.function) and small and kind == "DOUBLE"
    if (
        not ((exact and small) or steady)
        or changes(body, variable.cursor)
        or addressed(place.function, variable.cursor)
    ):
        return
    view = place.view
    end = step.end
    if not view.plain(init.begin, end):
        return
    own = view.fresh(f"{name}_count")
    op = operator(test).encode()
    text = b"long long %s = %d; %s %s %s; %s += %d" % (own, start, own, op, view.text(limit), own, amount)
    edits = (Edit(init.begin, end, text),)
    used = references(body, variable.cursor)
    declared = b"%s %s = %s;" % (kind.lower().encode(), name.encode(), own)
    inside = view.inside(place.loop, declared) if used else ()
    yield from place.fix("float-iterator", f"an integer counts what '{name}' is made of", edits, inside)


def shared_iterator(place: Place) -> Iterator[Fix]:
    """A static variable of the file that counts a loop which calls nothing, and whose address nobody takes: a local
    variable counts, and the other one gets its last value behind the loop, which nothing jumps out of."""
    parts, variable = _header(place.loop), place.declared()
    if parts is None or variable is None or variable.type.is_volatile_qualified():
        return
    init = bare(parts[0])
    set_here = (
        operator(init) == "=" and refers(bare(init.children[0]), variable) and not _names(init.children[1], variable)
    )
    view, name = place.view, variable.spelling
    if not set_here or variable.storage_class != StorageClass.STATIC or variable.linkage.name != "INTERNAL":
        return
    jumps = (CursorKind.RETURN_STMT, CursorKind.GOTO_STMT, CursorKind.LABEL_STMT, CursorKind.ASM_STMT)
    if view.shared(variable) or calls(place.loop) or any(n.kind in jumps for n in place.loop.walk()):
        return
    uses = references(place.loop, variable)
    if variable.type.get_canonical().kind not in INTEGERS or not all(view.plain(u.begin, u.end) for u in uses):
        return
    own = view.fresh(f"{name}_own")
    spelled = variable.type.get_canonical().spelling.encode()
    around = view.before(place.loop, b"%s %s;" % (spelled, own), b"%s = %s;" % (name.encode(), own))
    replaced = tuple(Edit(use.begin, use.end, own) for use in uses)
    yield from place.fix("shared-iterator", f"a local variable counts instead of '{name}'", around, replaced)


def _parts(node: Node) -> list[Node]:
    """The parts of comma operators."""
    node = bare(node)
    return [*_parts(node.children[0]), node.children[1]] if operator(node) == "," else [node]


def wide_iterator(place: Place) -> Iterator[Fix]:
    """An iterator of a narrow or unsigned type becomes a `long`."""
    parts = _header(place.loop)
    variable = _declared(parts[0]) if parts else None
    if parts is None or variable is None or variable.cursor.type.get_canonical().kind not in INTEGERS:
        return
    text = place.view.text(variable)
    name = variable.cursor.spelling.encode()
    match = re.match(rb"[A-Za-z_][\w \t]*?\b(?=" + re.escape(name) + rb"\b)", text)
    if match is None or not place.view.plain(variable.begin, variable.end):
        return
    spelled = variable.cursor.type.spelling
    begin = variable.begin
    edits = (Edit(begin, begin + match.end(), b"long "),)
    caveat = f"'{name.decode()}' does not leave the range of {spelled}"
    yield from place.fix("wide-iterator", f"'{name.decode()}' counts as long", edits, caveat=caveat)
