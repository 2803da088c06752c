"""Fixes of arrays that a loop declares: where they stand, how they are set, and how large they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.clang.libclang import CursorKind
from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.place import Place
from scheduler.frontend.fixes.syntax import LOOPS, bare, calls, changes, is_body, means_another, variables


def branch_array(place: Place) -> Iterator[Fix]:
    """An array of a branch is declared at the beginning of the body of the loop around, and set there: to constants,
    which nothing else sees; no other loop is around the branch, and no other thing has the name."""
    declaration = place.at(CursorKind.DECL_STMT)
    if declaration is None or len(declaration.children) != 1:
        return
    variable = declaration.children[0]
    loops = [n for n in declaration.ancestors() if n.kind in LOOPS]
    block = declaration.parent
    loop = loops[0] if loops else None
    if loop is None or loop.kind != CursorKind.FOR_STMT or block is None or variables(variable):
        return
    if calls(variable, True) or any(n.kind == CursorKind.TYPE_REF for n in variable.walk()):
        return
    if any(n.kind == CursorKind.GOTO_STMT for n in place.function.walk()):
        return
    view, name = place.view, variable.cursor.spelling
    outside = view.named(name, loop.begin, block.begin) or view.named(name, block.end, loop.end)
    outside |= means_another(place.function, variable.cursor)
    end = view.finish(declaration)
    if outside or not view.plain(declaration.begin, end) or variable.cursor.storage_class.name not in ("NONE", "AUTO"):
        return
    text, away = view.taken(declaration)
    title = f"'{name}' is declared in the body of the loop"
    yield from place.fix("branch-array", title, away, view.inside(loop, text))


_STRING = re.compile(rb'"([A-Za-z0-9 _.,:;+*/-]*)"')


def array_text(place: Place) -> Iterator[Fix]:
    """`char t[3] = "ab";` element by element, of plain letters, all of them: the same bytes."""
    declaration = place.at(CursorKind.DECL_STMT)
    if declaration is None or len(declaration.children) != 1 or not is_body(declaration):
        return
    variable = declaration.children[0]
    size = variable.cursor.type.element_count if variable.cursor.type.kind.name == "CONSTANTARRAY" else 0
    end = place.view.finish(declaration)
    whole = place.view.content[declaration.begin : end]
    match = re.fullmatch(rb"(\s*char\s+(\w+)\s*\[\s*(\d*)\s*\])\s*=\s*" + _STRING.pattern + rb"\s*;", whole)
    if match is None or not 0 < size <= 64:
        return
    text, name = match[4], match[2]
    head = match[1] if match[3] else match[1].rpartition(b"[")[0] + f"[{size}]".encode()
    values = [b"'%c'" % c for c in text[:size]] + [b"0"] * (size - len(text))
    sets = b" ".join(b"%s[%d] = %s;" % (name, k, v) for k, v in enumerate(values))
    edits = place.view.instead(declaration, [head + b";", sets])
    yield from place.fix("array-text", f"the elements of '{name.decode()}' are assigned", edits)


def vla_sizeof(place: Place) -> Iterator[Fix]:
    """`sizeof t` of `int t[n]` as `sizeof(int) * n`: nothing changes `n`, and nothing has its address."""
    node = place.at(CursorKind.CXX_UNARY_EXPR)
    operand = bare(node.children[0]) if node is not None and node.children else None
    if node is None or operand is None or operand.kind != CursorKind.DECL_REF_EXPR:
        return
    array = operand.cursor.referenced
    trees = [n for n in place.function.walk() if n.kind in (CursorKind.VAR_DECL,) and n.cursor == array]
    element = array.type.get_canonical()
    if not trees or element.kind.name != "VARIABLEARRAY":
        return
    factors = []
    for size in trees[0].children:
        size = bare(size)
        if size.kind == CursorKind.INTEGER_LITERAL or (
            size.kind == CursorKind.DECL_REF_EXPR
            and size.cursor.referenced.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
            and not changes(place.function, size.cursor.referenced)
            and size.cursor.referenced.storage_class.name in ("NONE", "AUTO")
            and size.cursor.referenced.semantic_parent.kind == CursorKind.FUNCTION_DECL
        ):
            factors.append(place.view.text(size))
    count = 0
    while element.kind.name in ("VARIABLEARRAY", "CONSTANTARRAY"):
        element, count = element.element_type.get_canonical(), count + 1
    if len(factors) != count or len(trees[0].children) != count or not place.view.plain(node.begin, node.end):
        return
    named = [n.cursor.spelling for n in place.function.walk() if n.kind.is_declaration()]
    hidden = any(named.count(factor.decode()) > 1 for factor in factors)
    if hidden or re.search(r"[*(\[]", element.spelling):
        return
    text = b"(" + b" * ".join([b"sizeof(" + element.spelling.encode() + b")", *factors]) + b")"
    yield from place.fix("vla-sizeof", "a product in place of sizeof", (Edit(node.begin, node.end, text),))
