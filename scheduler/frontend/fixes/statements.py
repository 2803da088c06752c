"""Fixes of statements inside of a loop: taken apart, written otherwise, or away.

Each says under which conditions it is offered, from which it follows that the program computes the same. That C leaves
open in which order the parts of an expression are evaluated is made use of: an order that is allowed is chosen, where
no call could make it matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.clang.libclang import CursorKind
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.place import Place
from scheduler.frontend.fixes.syntax import (
    Node,
    bare,
    calls,
    changes,
    is_assignment,
    is_fixed_place,
    operator,
    targets,
)

_SIMPLE = (
    CursorKind.DECL_REF_EXPR,
    CursorKind.ARRAY_SUBSCRIPT_EXPR,
    CursorKind.MEMBER_REF_EXPR,
    CursorKind.INTEGER_LITERAL,
    CursorKind.BINARY_OPERATOR,
    CursorKind.UNARY_OPERATOR,
    CursorKind.PAREN_EXPR,
    CursorKind.UNEXPOSED_EXPR,
)


def _is_simple(node: Node) -> bool:
    """An expression without effects, calls or volatile parts: it may be written twice."""
    return (
        all(n.kind in _SIMPLE and not is_assignment(n) for n in node.walk())
        and not list(targets(node))
        and not any(n.cursor.type.is_volatile_qualified() for n in node.walk())
    )


def _assignment(place: Place) -> Node | None:
    """The statement around the offset, where that is an assignment to what has no effects."""
    statement = place.statement()
    if statement is None or not is_assignment(statement) or not _is_simple(statement.children[0]):
        return None
    return statement


def _has_comments(place: Place, node: Node) -> bool:
    """Which would be lost where its parts are put together anew."""
    text = place.view.text(node)
    return b"/*" in text or b"//" in text


def comma(place: Place) -> Iterator[Fix]:
    """`a = (b, c);` as `b; a = c;`, where neither `a` nor `b` calls anything: what C says of their order, which is
    nothing, is kept."""
    statement = _assignment(place)
    if statement is None:
        return
    parts: list[Node] = []
    node = bare(statement.children[1])
    while operator(node) == ",":
        parts.insert(0, node.children[1])
        node = bare(node.children[0])
    if not parts:
        return
    parts.insert(0, node)
    if any(calls(part, True) for part in parts[:-1]) or _has_comments(place, statement):
        return
    head = place.view.content[statement.begin : statement.children[1].begin]
    texts = [place.view.text(part) + b";" for part in parts[:-1]]
    texts.append(head + place.view.text(parts[-1]) + b";")
    yield from place.fix("comma", "a statement for each part of a comma operator", place.view.instead(statement, texts))


def chained(place: Place) -> Iterator[Fix]:
    """`a += b = c;` as `b = c; a += b;`: the value of an assignment is what its left side holds then, which is not
    volatile, and whose place does not depend on what is stored; nothing calls anything."""
    statement = _assignment(place)
    inner = bare(statement.children[1]) if statement is not None else None
    if statement is None or inner is None or not is_assignment(inner) or calls(statement, True):
        return
    left_side = inner.children[0]
    if (
        _has_comments(place, statement)
        or not _is_simple(left_side)
        or not is_fixed_place(left_side, statement, place.function)
    ):
        return
    left = place.view.text(left_side)
    head = place.view.content[statement.begin : statement.children[1].begin]
    texts = [place.view.text(inner) + b";", head + left + b";"]
    yield from place.fix("chained-assignment", "an assignment in each statement", place.view.instead(statement, texts))


def without_effect(place: Place) -> Iterator[Fix]:
    """An expression whose value nobody uses, without effects and calls."""
    statement = place.statement()
    if statement is not None and statement.kind.is_expression() and _is_simple(statement):
        yield from place.fix("no-effect", "a statement without effect is removed", place.view.remove(statement))


def unused_call(place: Place) -> Iterator[Fix]:
    """A call of a mathematical function whose value nobody uses."""
    statement = place.statement()
    call = bare(statement) if statement is not None else None
    if statement is None or call is None or call.kind != CursorKind.CALL_EXPR or calls(call):
        return
    if list(targets(call)):
        return
    yield from place.fix(
        "unused-call",
        "a call whose value is not used is removed",
        place.view.remove(statement),
        caveat="errno and the flags of floating-point arithmetic are not looked at afterwards",
    )


def statement_expression(place: Place) -> Iterator[Fix]:
    """`a = ({ …; b; });` as `{ …; a = b; }`: the block changes only variables of its own and calls nothing, so that
    the place `a` is the same before and behind it, and none of its names hides one of `a`."""
    statement = _assignment(place)
    value = bare(statement.children[1]) if statement is not None else None
    if statement is None or value is None or value.kind != CursorKind.StmtExpr or not value.children:
        return
    block = value.children[0]
    own = [n.cursor for n in block.walk() if n.kind == CursorKind.VAR_DECL]
    changed = list(targets(block))
    if not all(t.kind == CursorKind.DECL_REF_EXPR and t.cursor.referenced in own for t in changed):
        return
    left = statement.children[0]
    names = [n.cursor.spelling for n in block.walk() if n.kind.is_declaration() and n.cursor.spelling]
    hidden = any(place.view.named(name, left.begin, left.end) for name in names)
    last = block.children[-1] if block.children else None
    whole = statement.begin, place.view.finish(statement)
    if calls(block) or hidden or last is None or not last.kind.is_expression() or not place.view.plain(*whole):
        return
    if operator(last) == ",":  # it binds weaker than the assignment
        return
    if any(n.kind in (CursorKind.GOTO_STMT, CursorKind.RETURN_STMT) for n in block.walk()):
        return
    head = place.view.content[statement.begin : statement.children[1].begin]
    content = place.view.content
    text = content[block.begin : last.begin] + head + content[last.begin : block.end]
    yield from place.fix("statement-expression", "a block in place of an expression", (Edit(*whole, text),))


def forward_goto(place: Place) -> Iterator[Fix]:
    """`if (c) goto next; …; next:` as `if (!(c)) { … }`: the label stands behind it in the same list; between them
    nothing is declared, and there is nothing that other jumps go to. The same with several jumps to one label."""
    jump = place.at(CursorKind.GOTO_STMT)
    name = jump.children[0].cursor.spelling if jump is not None and jump.children else ""
    first = next((a for a in jump.ancestors() if a.kind == CursorKind.IF_STMT), None) if jump is not None else None
    listed = first.parent if first is not None else None
    if first is None or listed is None or listed.kind != CursorKind.COMPOUND_STMT or not _passes_over(first, name):
        return
    behind = listed.children[listed.children.index(first) :]
    label = next((s for s in behind if _is_label(s, name)), None)
    if label is None:
        return
    between = behind[: behind.index(label)]
    branches = [s for s in between if _passes_over(s, name)]
    if any(n.kind in _TARGETS for s in between for n in s.walk()) or between[-1] in branches:
        return
    view, indent = place.view, place.view.indent(first.begin)
    stop = view.behind_comment(view.finish(between[-1]))
    if not view.plain(first.begin, stop):
        return
    text, ends = b"", [b.begin for b in branches[1:]] + [stop]
    for depth, (branch, end) in enumerate(zip(branches, ends, strict=True)):
        inner = view.content[view.finish(branch) : end].replace(b"\n", b"\n" + b"    " * (depth + 1))
        text += b"if (!(" + view.text(branch.children[0]) + b")) {" + inner
    for depth in reversed(range(len(branches))):
        text += b"\n" + indent + b"    " * depth + b"}"
    edits = [Edit(first.begin, stop, text)]
    jumps = [n for n in place.function.walk() if n.kind == CursorKind.GOTO_STMT and _goes_to(n, name)]
    if len(jumps) == len(branches):
        match = re.match(rb"\s*\w+\s*:\s*;?\s*", view.text(label))
        if match is None or not view.plain(label.begin, label.begin + match.end()):
            return
        line = view.content.rfind(b"\n", 0, label.begin) + 1
        alone = re.compile(rb"[ \t]*\w+[ \t]*:[ \t]*;?[ \t]*\r?\n").match(view.content, line)
        away = alone.span() if alone is not None else (label.begin, label.begin + match.end())
        edits.append(Edit(*away, b""))
    yield from place.fix("forward-goto", "a condition around what a goto passes over", tuple(edits))


def _passes_over(statement: Node, name: str) -> bool:
    """`if (c) goto name;`, with braces or without."""
    if statement.kind != CursorKind.IF_STMT or len(statement.children) != 2:
        return False
    then = statement.children[1]
    if then.kind == CursorKind.COMPOUND_STMT and len(then.children) == 1:
        then = then.children[0]
    return then.kind == CursorKind.GOTO_STMT and _goes_to(then, name)


_TARGETS = (CursorKind.DECL_STMT, CursorKind.LABEL_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT)


def _is_label(node: Node, name: str) -> bool:
    return node.kind == CursorKind.LABEL_STMT and str(node.cursor.spelling) == name


def _goes_to(node: Node, name: str) -> bool:
    return bool(node.children) and node.children[0].cursor.spelling == name


def by_name(place: Place) -> Iterator[Fix]:
    """A function is called by its name where a pointer of the file that nothing sets again leads to it."""
    call = place.at(CursorKind.CALL_EXPR)
    callee = call.children[0] if call is not None and call.children else None
    node = callee
    while node is not None and node.kind in (
        CursorKind.UNEXPOSED_EXPR,
        CursorKind.PAREN_EXPR,
        CursorKind.UNARY_OPERATOR,
    ):
        node = node.children[0]
    if callee is None or node is None or node.kind != CursorKind.DECL_REF_EXPR:
        return
    pointer = node.cursor.referenced
    if pointer.kind != CursorKind.VAR_DECL or pointer.linkage.name not in ("INTERNAL", "NO_LINKAGE"):
        return
    target = [c for c in pointer.walk_preorder() if c.kind == CursorKind.DECL_REF_EXPR]
    plain = [c for c in pointer.get_children() if c.kind.is_expression()]
    if len(target) != 1 or len(plain) != 1 or target[0].referenced.kind != CursorKind.FUNCTION_DECL:
        return
    name, function = pointer.spelling, target[0].referenced.spelling
    text = re.escape(name.encode())
    sets = re.findall(rb"(?<!\w)" + text + rb"\s*\)*\s*(?:\([^;{}]*\)\s*)?=(?!=)", place.view.content)
    shadowed = any(n.kind.is_declaration() and n.cursor.spelling == function for n in place.function.walk())
    macro = re.search(rb"#\s*define\s+" + re.escape(function.encode()) + rb"\b", place.view.content) is not None
    heads = [
        place.view.content[f.begin : f.children[-1].begin]
        for f in place.view.functions
        if f.cursor.spelling == function
    ]
    shadowed |= macro or any(b";" in head for head in heads)  # parameters declared behind the list convert no arguments
    changed = len(sets) != 1 or any(changes(f, pointer) for f in place.view.functions) or place.view.shared(pointer)
    if changed or shadowed or not place.view.plain(callee.begin, callee.end):
        return
    edits = [Edit(callee.begin, callee.end, function.encode())]
    if len(re.findall(rb"(?<!\w)" + text + rb"(?!\w)", place.view.content)) == 2:  # nobody would use it any more
        begin, end = pointer.extent.start.offset, pointer.extent.end.offset
        if b"," in place.view.content[begin : pointer.location.offset]:  # others are declared with it
            return
        alone = re.compile(rb"[ \t]*\r?\n").match(place.view.content, end + 1)
        whole = alone is not None and place.view.content[begin - 1 : begin] in (b"", b"\n")
        if place.view.content[end : end + 1] != b";" or not place.view.plain(begin, end):
            return
        edits.append(Edit(begin, alone.end() if alone is not None and whole else end + 1, b""))
    yield from place.fix("call-by-name", f"'{function}' is called by its name", tuple(edits))


def top_test(place: Place) -> Iterator[Fix]:
    """`do { … } while (c);` as `while (c) { … }`."""
    loop = place.loop
    if loop.kind != CursorKind.DO_STMT or len(loop.children) != 2:
        return
    body, test = loop.children
    view = place.view
    end = view.finish(loop)
    tail = view.content[body.end : end]
    plain = view.plain(loop.begin, body.begin + 1) and view.plain(body.end - 1, end) and b"/*" not in tail
    if not plain or body.kind != CursorKind.COMPOUND_STMT or b"//" in tail:
        return
    head = b"while (" + view.text(test) + b") "
    edits = (Edit(loop.begin, body.begin, head), Edit(body.end, end, b""))
    caveat = "the condition holds at first"
    yield from place.fix("test-at-the-top", "the condition is tested at the top", edits, caveat=caveat)
