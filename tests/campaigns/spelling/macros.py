"""Rewrites by macros and included files: for statements, ends, types, subscripts, headers and everything else.

Long, because it has one way to use a macro beside the other.
"""

from __future__ import annotations

import random

from tests.campaigns.spelling.structure import chosen
from tests.campaigns.spelling.tokens import Code, Token, joined, line, tokens

_WHOLE = ("for", "expression", "compound", "if", "while", "declaration", "return")
_WORDS = (
    "for",
    "if",
    "else",
    "while",
    "return",
    "int",
    "double",
    "float",
    "static",
    "const",
    "void",
    "restrict",
    "long",
    "sizeof",
)


def statement(code: Code, rng: random.Random) -> bool:
    """A whole statement, with its end or without."""
    stmt = chosen(code, rng, _WHOLE)
    if stmt is None:
        return False
    name = code.fresh("STMT")
    keep = code.tokens[stmt.end - 1].role == ";" and rng.random() < 0.5
    end = stmt.end - keep
    call = rng.random() < 0.3
    code.defines.append(f"#define {name}{'()' if call else ''} {code.flat(stmt.begin, end)}")
    role = ("pz_declaration" if stmt.kind == "declaration" else "pz_expression") if keep else "stmt"
    code.replace(stmt.begin, end, [Token(name + (" ( )" if call else ""), "name", role)])
    return True


def statements(code: Code, rng: random.Random) -> bool:
    """Two statements that follow each other, or half of a loop and what comes before it."""
    every = code.statements()
    pairs = [(a, b) for a in every for b in every if a.end == b.begin and not code.lines_inside(a.begin, b.end)]
    pairs = [(a, b) for a, b in pairs if b.end > a.end and a.kind != "other" and b.kind != "other"]
    # Not the end of a loop and what is behind the loop: the next rewrite would take the macro for the loop's body.
    pairs = [(a, b) for a, b in pairs if not any(c.end == a.end and c.begin < a.begin for c in every)]
    if not pairs:
        return False
    a, b = rng.choice(pairs)
    name = code.fresh("TWO")
    if b.kind == "for" and rng.random() < 0.5:  # the header of the loop, whose body stays behind the macro
        code.defines.append(f"#define {name} {code.flat(a.begin, b.inner)}")
        code.replace(a.begin, b.inner, [Token(name, "name", "line")])
    else:
        code.defines.append(f"#define {name} {code.flat(a.begin, b.end)}")
        code.replace(a.begin, b.end, [Token(name, "name", "stmt")])
    return True


def mark(code: Code, rng: random.Random) -> bool:
    """`;`, braces, brackets, commas, operators as macros."""
    calls = any("(" in define.split()[1] for define in code.defines)  # their parentheses and commas must stay
    marks = ";{}[]=+*<" if calls else ";{}()[],=+*<"
    places = [k for k, t in enumerate(code.tokens) if t.kind == "mark" and t.role in marks]
    if not places:
        return False
    name = code.fresh("MARK")
    first = code.tokens[rng.choice(places)]
    role = first.role
    code.defines.append(f"#define {name} {first.text}")
    for k in rng.sample(places, max(1, len(places) // rng.choice((2, 8, 50)))):
        if code.tokens[k].role == role and code.tokens[k].text == role:
            code.tokens[k] = Token(name, "mark", role)
    return True


def word(code: Code, rng: random.Random) -> bool:
    """Keywords and types as macros."""
    role = rng.choice(_WORDS)
    places = [k for k, t in enumerate(code.tokens) if t.text == role]
    if not places:
        return False
    name = code.fresh("WORD")
    code.defines.append(f"#define {name} {role}")
    for k in rng.sample(places, max(1, len(places) // rng.choice((1, 2, 10)))):
        code.tokens[k] = Token(name, code.tokens[k].kind, role)
    return True


def type_name(code: Code, rng: random.Random) -> bool:
    """A typedef for a type of one word."""
    kind = rng.choice(("double", "float", "int", "long"))
    places = [
        k
        for k, t in enumerate(code.tokens)
        if t.text == kind
        and not any(
            code.tokens[n].role in ("unsigned", "long", "short", "signed", "int", "char", "double")
            for n in (k - 1, k + 1)
            if 0 <= n < len(code.tokens)
        )
    ]
    if not places:
        return False
    name = code.fresh("type")
    code.defines.append(f"typedef {kind} {name};")
    for k in places:
        code.tokens[k] = Token(name, "name", kind)
    return True


def identity(code: Code, rng: random.Random) -> bool:
    """`#define S(x) x` around names, numbers, elements and what stands in parentheses; often the last one."""
    name = code.fresh("S")
    shape = rng.choice((f"{name}(x) x", f"{name}(...) __VA_ARGS__", f"{name}(x) (x)", f"{name}(x) +x"))
    weak = shape.endswith(" x") or "VA_ARGS" in shape
    places = []
    for stmt in code.statements():
        if stmt.kind != "expression" or code.lines_inside(stmt.begin, stmt.end):
            continue
        equals = next(
            (
                k
                for k in range(stmt.begin, stmt.end)
                if code.tokens[k].role.endswith("=") and len(code.tokens[k].role) <= 2
            ),
            -1,
        )
        if equals < 0:
            continue
        for k in range(equals + 1, stmt.end):
            token = code.tokens[k]
            before = code.tokens[k - 1].role
            if token.kind == "number" or (token.kind == "name" and weak and code.tokens[k + 1].role != "("):
                places += [(k, k + 1)] * (4 if k == stmt.end - 2 else 1)
            elif token.role == "(" and weak and (code.tokens[k - 1].kind == "mark" and before not in ")]"):
                end = code.closing(k) + 1
                places += [(k, end)] * (4 if end == stmt.end - 1 else 1)
            elif token.kind == "name" and weak and code.tokens[k + 1].role == "[" and before not in (".", "->"):
                end = code.closing(k + 1) + 1
                places += [(k, end)] * (4 if end == stmt.end - 1 else 1)
        if weak:
            places += [(stmt.begin, stmt.end - 1), (equals + 1, stmt.end - 1), (stmt.begin, equals)]
    places = [(b, e) for b, e in places if not shape.endswith("(x)") or all(t.role != "," for t in code.tokens[b:e])]
    if not shape.endswith("__VA_ARGS__"):
        places = [(b, e) for b, e in places if _no_comma(code, b, e)]
    if not places:
        return False
    code.defines.append(f"#define {shape}")
    begin, end = rng.choice(places)
    code.replace(end, end, tokens(")"))
    code.replace(begin, begin, tokens(f"{name} ("))
    return True


def _no_comma(code: Code, begin: int, end: int) -> bool:
    """No comma outside parentheses, which are all that keeps a macro's arguments together."""
    depth = 0
    for token in code.tokens[begin:end]:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            return False
    return True


def subscript(code: Code, rng: random.Random) -> bool:
    name = code.fresh("AT")
    inside = [s for s in code.statements() if s.kind in ("expression",)]
    places = [
        k
        for s in inside
        for k in range(s.begin, s.end - 1)
        if code.tokens[k].kind == "name" and code.tokens[k + 1].text == "[" and not code.lines_inside(s.begin, s.end)
    ]
    places = [k for k in places if _no_comma(code, k, code.closing(k + 1))]
    if not places:
        return False
    code.defines.append(f"#define {name}(a, i) {rng.choice(('a[i]', '(a)[i]', 'a[(i)]', '(*(a + (i)))', '(a[i])'))}")
    k = rng.choice(places)
    if k and code.tokens[k - 1].role in (".", "->"):
        return False
    end = code.closing(k + 1)
    code.replace(end, end + 1, tokens(")"))
    code.replace(k + 1, k + 2, tokens(","))
    code.replace(k, k, tokens(f"{name} ("))
    return True


def header(code: Code, rng: random.Random) -> bool:
    """`FOR(i, 0, n)`, or the whole header, or the beginning of one."""
    loops = [s for s in code.statements() if s.kind == "for" and not code.lines_inside(s.begin, s.inner)]
    if not loops:
        return False
    stmt = rng.choice(loops)
    name, how = code.fresh("FOR"), rng.randrange(4)
    head = code.tokens[stmt.begin : stmt.inner]
    marks = [k for k, t in enumerate(head) if t.role == ";"]
    if len(marks) != 2:
        return False
    a, b, c = head[2 : marks[0]], head[marks[0] + 1 : marks[1]], head[marks[1] + 1 : -1]
    if how == 0 and all(_no_comma(code, stmt.begin + 2, stmt.inner - 1) for _ in "x"):
        code.defines.append(f"#define {name}(a, b, c) for (a; b; c)")
        comma = tokens(",")
        new = [Token(f"{name} (", "name", "line"), *_flat(a + comma + b + comma + c), Token(")", "mark", "line")]
        code.replace(stmt.begin, stmt.inner, new)
    elif how == 1:
        code.defines.append(f"#define {name} {code.flat(stmt.begin, stmt.inner)}")
        code.replace(stmt.begin, stmt.inner, [Token(name, "name", "line")])
    elif how == 2:
        place = stmt.begin + marks[rng.randrange(2)]
        code.defines.append(f"#define {name} {code.flat(stmt.begin + 2, place + 1)}")
        inner = (
            [Token(name, "name", ";")]
            if place == stmt.begin + marks[0]
            else [Token(name, "name", ";"), Token("", "mark", ";")]
        )
        code.replace(stmt.begin + 2, place + 1, inner)
    else:
        code.defines.append(f"#define {name}(...) (__VA_ARGS__)")
        code.replace(stmt.begin + 1, stmt.begin + 1, [Token(name, "name", "line")])
        return _no_lines(code, stmt.begin, stmt.inner)
    return True


def _flat(found: list[Token]) -> list[Token]:
    return [Token(t.text, t.kind, "line") for t in found]


def _no_lines(code: Code, begin: int, end: int) -> bool:
    return not code.lines_inside(begin, end)


def headers(code: Code, rng: random.Random) -> bool:
    """Two headers in one macro, or a header and its brace in one and the closing brace in another."""
    every = [s for s in code.statements() if s.kind == "for"]
    inner = {s.begin: s for s in every}
    pairs = [(s, inner[s.inner]) for s in every if s.inner in inner]
    pairs = [(a, b) for a, b in pairs if _no_lines(code, a.begin, b.inner)]
    braced = [s for s in every if code.tokens[s.inner].role == "{" and _no_lines(code, s.begin, s.inner)]
    if pairs and (not braced or rng.random() < 0.7):
        first, second = rng.choice(pairs)
        name = code.fresh("EACH")
        code.defines.append(f"#define {name} {code.flat(first.begin, second.inner)}")
        code.replace(first.begin, second.inner, [Token(name, "name", "line")])
    elif braced:
        stmt = rng.choice(braced)
        end, name, last = code.closing(stmt.inner), code.fresh("OPEN"), code.fresh("CLOSE")
        code.defines += [f"#define {name} {code.flat(stmt.begin, stmt.inner)} {{", f"#define {last} }}"]
        code.replace(end, end + 1, [Token(last, "mark", "}")])
        code.replace(stmt.begin, stmt.inner + 1, [Token(name, "mark", "{")])
    return bool(pairs or braced)


def once(code: Code, rng: random.Random) -> bool:
    """A statement, or a block, in a macro that runs it in `do ... while (0)`."""
    stmt = chosen(code, rng, ("for", "compound", "expression", "if"))
    if stmt is None or any(t.role in ("line", "#", "break", "continue") for t in code.tokens[stmt.begin : stmt.end]):
        return False
    name = code.fresh("ONCE")
    text = code.flat(stmt.begin, stmt.end)
    if rng.random() < 0.5:
        code.defines.append(f"#define {name}(...) do {{ __VA_ARGS__ }} while (0)")
        text = f"{name} ( {text} ) ;"
    else:
        code.defines.append(f"#define {name} do {rng.choice((text, f'{{ {text} }}'))} while (0)")
        text = f"{name} ;"
    code.replace(stmt.begin, stmt.end, [Token(text, "name", "stmt")])
    return True


def around(code: Code, rng: random.Random) -> bool:
    """A statement, or a block, inside a macro that gives it back."""
    stmt = chosen(code, rng, ("for", "compound", "expression", "if"))
    if stmt is None or any(t.role in ("line", "#") for t in code.tokens[stmt.begin : stmt.end]):
        return False
    name = code.fresh("ALL")
    code.defines.append(
        f"#define {name}(...) {rng.choice(('__VA_ARGS__', '{ __VA_ARGS__ }', 'if (1) { __VA_ARGS__ }'))}"
    )
    text = f"{name} ( {code.flat(stmt.begin, stmt.end)} )"
    code.replace(stmt.begin, stmt.end, [Token(text, "name", "stmt")])
    return True


def before_or_behind(code: Code, rng: random.Random) -> bool:
    """An empty macro, or one that is a statement, next to a loop."""
    stmt = chosen(code, rng, ("for", "expression"), lines=True)
    if stmt is None:
        return False
    name = code.fresh("NEAR")
    shapes = ("", ";", "(void)0;", '_Pragma("GCC unroll 1")', "if (1)", "{ int z = 1; (void)z; }")
    code.defines.append(f"#define {name} {rng.choice(shapes)}")
    pragma = code.defines[-1].endswith('1")') and stmt.kind != "for"
    if pragma:
        code.defines[-1] = f"#define {name}"
    statement_like = code.defines[-1].endswith((";", "}")) and not code.defines[-1].endswith("if (1)")
    code.replace(stmt.begin, stmt.begin, tokens("{"))
    end = stmt.end + 1
    if statement_like and rng.random() < 0.5:
        code.replace(end, end, [Token(name, "name", "line")])
        code.replace(end + 1, end + 1, tokens("}"))
    else:
        code.replace(end, end, tokens("}"))
        code.replace(stmt.begin + 1, stmt.begin + 1, [Token(name, "name", "line")])
    return True


def included(code: Code, rng: random.Random) -> bool:
    """A statement, a body, a function or a part of an initializer from another file."""
    stmt = chosen(code, rng, (*_WHOLE, "other"), lines=True)
    functions = list(code.functions())
    ranges = [(stmt.begin, stmt.end)] if stmt is not None else []
    if stmt is not None and stmt.inner > 0 and stmt.kind == "for":
        ranges += [(stmt.inner, stmt.end), (stmt.begin, stmt.inner)]
    if functions:
        begin, opening, end = rng.choice(functions)
        ranges += [(begin, end), (opening, end), (opening + 1, end - 1)]
    if not ranges:
        return False
    begin, end = rng.choice(ranges)
    if any(t.role == "stmt" and t.kind == "directive" for t in code.tokens[begin:end]) and rng.random() < 0.7:
        return False
    conditionals = [
        t.text.lstrip("# ").split(" ")[0] for t in code.tokens[begin:end] if t.kind == "directive" and t.role == "line"
    ]
    opened = sum(c.startswith("if") for c in conditionals) - conditionals.count("endif")
    if begin >= end or opened or "else" in conditionals:
        return False
    name = code.fresh("part") + ".h"
    code.files[name] = joined(code.tokens[begin:end])
    whole = stmt is not None and (begin, end) == (stmt.begin, stmt.end)
    code.replace(begin, end, [line(f'#include "{name}"', "stmt" if whole else "pz_included")])
    return True
