"""Fixes that move something in front of the loop: declarations, tables, texts, copies of what the loop only reads.

A declaration is moved where no other thing in the function has its name; what is computed there is computed once, and
has no effects, so that it does no harm where the loop runs no iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.clang.libclang import Cursor, CursorKind, StorageClass
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.place import Place
from scheduler.frontend.fixes.syntax import (
    INTEGERS,
    Node,
    addressed,
    bare,
    calls,
    changes,
    declared_in,
    is_assignment,
    is_local,
    means_another,
    operator,
    outer,
    references,
    targets,
    variables,
)

_JUMPS = (CursorKind.RETURN_STMT, CursorKind.GOTO_STMT)


def _moved_declaration(place: Place, kind: str, title: str) -> Iterator[Fix]:
    """A declaration of one variable with a constant start, in front of the loop."""
    declaration = place.at(CursorKind.DECL_STMT)
    if declaration is None or len(declaration.children) != 1 or declaration.parent is None:
        return
    variable, block, view = declaration.children[0], declaration.parent, place.view
    name, end = variable.cursor.spelling, view.finish(declaration)
    outside = view.named(name, place.function.begin, block.begin) or view.named(name, block.end, place.function.end)
    outside |= means_another(place.function, variable.cursor)
    if outside or block.kind != CursorKind.COMPOUND_STMT or not view.plain(declaration.begin, end):
        return
    named = (CursorKind.DECL_REF_EXPR, CursorKind.CALL_EXPR, CursorKind.TYPE_REF)
    if any(n.kind in named for n in variable.walk()):
        return
    text, away = view.taken(declaration)
    yield from place.fix(kind, title.format(name), view.before(place.loop, text), away)


def static_local(place: Place) -> Iterator[Fix]:
    """A static variable of the body lives as long, and is set once, where it is declared in front of the loop."""
    yield from _moved_declaration(place, "static-local", "'{}' is declared in front of the loop")


def constant_table(place: Place) -> Iterator[Fix]:
    """An array of constants that is only read by subscripts holds the same in every iteration."""
    declaration = place.at(CursorKind.DECL_STMT)
    if declaration is None or len(declaration.children) != 1:
        return
    uses = references(place.loop, declaration.children[0].cursor)
    if all(_is_read(use) for use in uses):
        yield from _moved_declaration(place, "constant-table", "'{}' is declared in front of the loop")


def _is_read(node: Node) -> bool:
    """An array that is subscripted, where no element is changed and none has its address taken."""
    node = outer(node)
    if (
        node.parent is None
        or node.parent.kind != CursorKind.ARRAY_SUBSCRIPT_EXPR
        or node.parent.children[0] is not node
    ):
        return False
    element = node.parent
    while element.parent is not None and outer(element).parent is not None:
        above = outer(element).parent
        if above is None or above.kind != CursorKind.ARRAY_SUBSCRIPT_EXPR or above.children[0] is not outer(element):
            break
        element = above
    user = outer(element).parent
    written = user is not None and is_assignment(user) and user.children[0] is outer(element)
    stepped = user is not None and operator(user) in ("p++", "p--", "++", "--", "&")
    return not written and not stepped and not element.cursor.type.kind.name.endswith("ARRAY")


def text_table(place: Place) -> Iterator[Fix]:
    """`"three"[k]`: an array of these letters, which nothing may write to, stands in front of the loop."""
    node = place.at(CursorKind.STRING_LITERAL)
    if node is None or not _is_read(node) or not place.view.plain(node.begin, node.end):
        return
    text, name = place.view.text(node), place.view.fresh("text")
    if not text.startswith(b'"'):
        return
    edits = place.view.before(place.loop, b"static const char " + name + b"[] = " + text + b";")
    alike = (n for n in place.loop.walk() if n.kind == CursorKind.STRING_LITERAL and place.view.text(n) == text)
    replaced = tuple(Edit(n.begin, n.end, name) for n in alike if _is_read(n) and place.view.plain(n.begin, n.end))
    yield from place.fix("text-table", "the text stands in an array in front of the loop", edits, replaced)


def literal_table(place: Place) -> Iterator[Fix]:
    """`((int[]){1, 2, 3})[k]`, of constants: an array that is never written to, in front of the loop."""
    node = place.at(CursorKind.COMPOUND_LITERAL_EXPR)
    if node is None or not _is_read(node):
        return
    if any(n.kind in (CursorKind.DECL_REF_EXPR, CursorKind.CALL_EXPR, CursorKind.TYPE_REF) for n in node.walk()):
        return
    whole = place.view.text(node)
    match = re.match(rb"\(\s*(?:const\s+)?([A-Za-z_][\w \t]*?)\s*((?:\[[^\]]*\]\s*)+)\)\s*\{", whole)
    if match is None or not place.view.plain(node.begin, node.end):
        return
    name = place.view.fresh("table")
    declaration = b"static const %s %s%s = %s;" % (match[1], name, match[2].strip(), whole[match.end() - 1 :])
    edits = place.view.before(place.loop, declaration)
    replaced = (Edit(node.begin, node.end, name),)
    yield from place.fix("literal-table", "the table stands in front of the loop", edits, replaced)


def _copied(place: Place, variable: Cursor, kind: str, caveat: str) -> Iterator[Fix]:
    """A variable that the loop only reads, as a local copy of it."""
    if changes(place.loop, variable) or declared_in(place.loop, variable):
        return
    uses = references(place.loop, variable)
    spelled = variable.type.get_canonical().spelling.replace("volatile ", "").replace("const ", "")
    if not uses or re.search(r"[*(\[]", spelled) or not all(place.view.plain(u.begin, u.end) for u in uses):
        return
    name = place.view.fresh(f"{variable.spelling}_own")
    text = b"const %s %s = %s;" % (spelled.encode(), name, variable.spelling.encode())
    edits = place.view.before(place.loop, text)
    replaced = tuple(Edit(use.begin, use.end, name) for use in uses)
    title = f"'{variable.spelling}' is copied in front of the loop"
    yield from place.fix(kind, title, edits, replaced, caveat=caveat)


def thread_local_copy(place: Place) -> Iterator[Fix]:
    """A thread-local variable of the file whose address nobody takes, and a loop that calls nothing which could set it:
    a copy has its value."""
    variable = next((v for v in variables(place.loop) if v.tls_kind.name != "NONE" and _is_here(place, v)), None)
    if variable is None or calls(place.loop) or b"ragma" in place.view.text(place.loop):
        return
    if variable.storage_class != StorageClass.STATIC or place.view.shared(variable):
        return
    yield from _copied(place, variable, "thread-local-copy", "")


def _is_here(place: Place, variable: Cursor) -> bool:
    return any(node.begin == place.offset for node in references(place.loop, variable))


def volatile_copy(place: Place) -> Iterator[Fix]:
    """A copy of a volatile variable that the loop only reads."""
    variable = place.declared()
    if variable is None or is_local(variable):
        return
    caveat = f"the loop takes no notice of changes of '{variable.spelling}' while it runs"
    yield from _copied(place, variable, "volatile-copy", caveat)


def volatile_local(place: Place) -> Iterator[Fix]:
    """A volatile local whose address nobody takes, in a function that nothing jumps back into: nobody else can see it.
    Of floating-point numbers it keeps the compiler from fusing what sets it with what reads it."""
    variable = place.declared()
    if variable is None or not is_local(variable) or variable.kind != CursorKind.VAR_DECL:
        return
    trees = [n for n in place.function.walk() if n.kind == CursorKind.DECL_STMT]
    statement = next((s for s in trees if any(c.cursor == variable for c in s.children)), None)
    if statement is None or len(statement.children) != 1:
        return
    view, function = place.view, place.function
    body = view.text(function)
    written = re.search(rb"&\s*\(*\s*" + re.escape(variable.spelling.encode()) + rb"(?!\w)", body)
    taken = written is not None or addressed(function, variable)  # be it by a macro
    called = " ".join(n.cursor.spelling for n in calls(function))
    odd = re.search(rb"setjmp|vfork|getcontext|\basm\b|__asm", body + called.encode())
    match = re.match(rb"(.*?)\bvolatile\s+", view.text(statement), re.DOTALL)
    kind = variable.type.get_canonical().kind
    if taken or odd or match is None or "*" in variable.type.spelling or not view.plain(statement.begin, statement.end):
        return
    caveat = "" if kind in INTEGERS else "the compiler may contract what is computed with it (-ffp-contract)"
    edits = (Edit(statement.begin + match.end(1), statement.begin + match.end(), b""),)
    yield from place.fix("volatile-local", f"'{variable.spelling}' is not volatile", edits, caveat=caveat)


def _limit_call(place: Place) -> tuple[Node, Node] | None:
    """A call that alone is the limit of a `for`, and that loop: its condition is evaluated once, at least."""
    call = place.at(CursorKind.CALL_EXPR)
    loop = next((n for n in call.ancestors() if n.kind == CursorKind.FOR_STMT), None) if call is not None else None
    if call is None or loop is None or len(loop.children) != 4 or not call.within(loop.children[1]):
        return None
    test = bare(loop.children[1])
    alone = operator(test) in ("<", "<=", "!=", ">", ">=") and any(bare(side) is call for side in test.children)
    named = variables(call)
    moving = list(targets(call)) or any(declared_in(loop, v) or changes(loop, v) for v in named)
    return (call, loop) if alone and not moving and place.view.plain(call.begin, call.end) else None


def string_length(place: Place) -> Iterator[Fix]:
    """`i < strlen(s)`: computed once, where the loop neither changes `s` nor stores anything but to local variables and
    arrays of the function, to which the parameter `s` never leads."""
    found = _limit_call(place)
    if found is None or found[0].cursor.spelling != "strlen" or found[0].cursor.referenced.get_definition():
        return
    call, loop = found
    argument = bare(call.children[-1])
    if argument.kind != CursorKind.DECL_REF_EXPR or not is_local(argument.cursor.referenced):
        return
    text = argument.cursor.referenced
    if calls(loop)[1:] or any(n.kind in _JUMPS for n in loop.walk()):
        return
    stored = [_stored(target) for target in targets(loop)]
    apart = all(v is not None and v != text and is_local(v) and v.kind == CursorKind.VAR_DECL for v in stored)
    given = text.type.get_canonical().kind.name == "POINTER" and text.kind == CursorKind.PARM_DECL
    certain = apart and given and not changes(place.function, text)
    name = place.view.fresh("length")
    edits = place.view.before(loop, b"const size_t %s = %s;" % (name, place.view.text(call)))
    caveat = "" if certain else f"the loop does not change the length of '{text.spelling}'"
    replaced = (Edit(call.begin, call.end, name),)
    yield from place.fix("string-length", "strlen is called once, in front of the loop", edits, replaced, caveat=caveat)


def limit_call(place: Place) -> Iterator[Fix]:
    """A call that is the limit of a loop, once and in front of that."""
    found = _limit_call(place)
    kind = found[0].cursor.type.get_canonical().kind if found is not None else None
    if found is None or kind not in INTEGERS or found[0].cursor.spelling == "strlen":
        return
    call, loop = found
    function, name = call.cursor.spelling, place.view.fresh("limit")
    spelled = call.cursor.type.get_canonical().spelling.encode()
    edits = place.view.before(loop, b"const %s %s = %s;" % (spelled, name, place.view.text(call)))
    caveat = f"'{function}' returns the same as long as the loop runs, and need not be called again"
    title = f"'{function}' is called once, in front of the loop"
    yield from place.fix("limit-call", title, edits, (Edit(call.begin, call.end, name),), caveat=caveat)


def _stored(target: Node) -> Cursor | None:
    """The variable or array that is stored to; None where a pointer leads there."""
    whole = target
    while target.kind in (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR) and target.children:
        target = bare(target.children[0])
    if target.kind != CursorKind.DECL_REF_EXPR:
        return None
    found = target.cursor.referenced
    return None if found.type.get_canonical().kind.name == "POINTER" and target is not whole else found


def limit_copy(place: Place) -> Iterator[Fix]:
    """A limit that the loop may change, as it was at the start."""
    for loop in place.loop.walk():
        if loop.kind == CursorKind.FOR_STMT and len(loop.children) == 4:
            yield from _limit_copy(place, loop)


def _limit_copy(place: Place, loop: Node) -> Iterator[Fix]:
    test = bare(loop.children[1])
    if operator(test) not in ("<", "<=", ">", ">="):
        return
    for side in test.children:
        node = bare(side)
        if node.kind in (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.UNARY_OPERATOR):
            spelled = node.cursor.type.get_canonical()
            if spelled.kind not in INTEGERS or not place.view.plain(side.begin, side.end) or list(targets(node)):
                return
            if calls(node, True) or any(declared_in(loop, v) for v in variables(node)):
                return
            name, text = place.view.fresh("limit"), place.view.text(side)
            declared = b"const %s %s = %s;" % (spelled.spelling.replace("const ", "").encode(), name, text)
            edits = place.view.before(loop, declared)
            replaced = (Edit(side.begin, side.end, name),)
            caveat = f"what the loop stores does not change '{text.decode('utf-8', 'replace')}'"
            yield from place.fix(
                "limit-copy", "the limit is copied in front of the loop", edits, replaced, caveat=caveat
            )
            return
