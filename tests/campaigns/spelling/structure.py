"""Rewrites of statements, functions and expressions: what people write in another way.

Long, because it has one way to spell a thing beside the other.
"""

from __future__ import annotations

import random
import re

from tests.campaigns.spelling.tokens import TYPES, Code, Stmt, Token, line, tokens

_WRAPPED = ("for", "while", "if", "expression", "compound", "do")
_ASSIGNS = ("=", "+=", "-=", "*=", "/=")


def chosen(
    code: Code, rng: random.Random, kinds: tuple[str, ...], lines: bool = False, apart: bool = False
) -> Stmt | None:
    """A statement of these kinds, without preprocessor lines unless they may be there; `apart`: no body of a loop."""
    found = [s for s in code.statements() if s.kind in kinds and (lines or not code.lines_inside(s.begin, s.end))]
    found = [s for s in found if not apart or code.is_apart(s)]
    return rng.choice(found) if found else None


def put(code: Code, place: int, text: str) -> None:
    code.tokens[place:place] = tokens(text)


def _around(code: Code, stmt: Stmt, before: str, behind: str) -> None:
    put(code, stmt.end, behind)
    put(code, stmt.begin, before)


def wrap_statement(code: Code, rng: random.Random) -> bool:
    """Blocks, conditions and loops around a statement that change nothing."""
    stmt = chosen(code, rng, _WRAPPED, lines=True)
    if stmt is None:
        return False
    unsafe = any(t.role in ("break", "continue") for t in code.tokens[stmt.begin : stmt.end])
    shapes = [("{", "}"), ("{ ;", "; }"), ("if (1) {", "}"), ("if (0) ; else {", "}"), ("{ {", "} }")]
    if not unsafe:
        shapes += [("do {", "} while (0);"), ("switch (1) { default :", "}"), ("switch (1) { case 1 : {", "} }")]
    _around(code, stmt, *rng.choice(shapes))
    return True


def label(code: Code, rng: random.Random) -> bool:
    stmt = chosen(code, rng, ("for", "expression"), lines=True)
    if stmt is not None:
        name = code.fresh("label")
        code.tokens[stmt.begin : stmt.begin] = [Token(f"{name} :", "mark", "line")]
    return stmt is not None


def unbrace(code: Code, rng: random.Random) -> bool:
    """Takes the braces off a body of one statement."""
    every = code.statements()
    places = []
    for stmt in every:
        if stmt.kind in ("for", "while") and code.tokens[stmt.inner].role == "{":
            end = code.closing(stmt.inner) + 1
            held = [s for s in every if stmt.inner < s.begin and s.end < end]
            if held and held[0].begin == stmt.inner + 1 and held[0].end == end - 1 and held[0].kind in _WRAPPED[:4]:
                places.append((stmt.inner, end))
    if places:
        begin, end = rng.choice(places)
        del code.tokens[end - 1], code.tokens[begin]
    return bool(places)


def shadow(code: Code, rng: random.Random) -> bool:
    """A block in front of a statement with a variable of a name that means something else there."""
    stmt = chosen(code, rng, ("for", "expression"), lines=True, apart=True)
    names = declared(code)
    if stmt is None or not names:
        return False
    name = rng.choice(names)
    shapes = (f"{{ int {name} = 3; (void){name}; }}", f"{{ typedef int {name}; {name} pz_v = 1; (void)pz_v; }}",
              f"{{ struct {name} {{ int {name}; }}; enum {{ pz_e = sizeof(struct {name}) }}; (void)pz_e; }}",
              f"{{ extern int printf(const char *, ...); int {name}(void); }}",
              f"{{ goto {name}; {name}: ; }}" if name not in code.fresh("") else ";")  # fmt: skip
    put(code, stmt.begin, rng.choice(shapes[:3]))
    return True


def right_side(code: Code, rng: random.Random) -> bool:
    """The right side of an assignment as a statement expression, a comma, a _Generic selection and others."""
    places = []
    for stmt in code.statements():
        if stmt.kind == "expression" and not code.lines_inside(stmt.begin, stmt.end):
            depth = 0
            for k in range(stmt.begin, stmt.end):
                role = code.tokens[k].role
                depth += (role in "([{") - (role in ")]}") if len(role) == 1 else 0
                if depth == 0 and role in _ASSIGNS:
                    places.append((k + 1, stmt.end - 1))
                    break
    if not places:
        return False
    begin, end = rng.choice(places)
    before, behind = rng.choice(
        (
            ("({", "; })"), ("(0,", ")"), ("((void)0, (", "))"), ("__extension__ (", ")"), ("((", "))"),
            ("_Generic((1), default: (", "))"), ("(1 ? (", ") : 0)"), ("__builtin_choose_expr(1, (", "), 0)"),
            ("(((", ")))"), ("_Generic((char)1, int: 0, char: (", "), default: 1)"),
            ("__builtin_expect(0, 0) ? 0 : (", ")"),
        )
    )  # fmt: skip
    put(code, end, behind)
    put(code, begin, before)
    return True


def element(code: Code, rng: random.Random) -> bool:
    """An element of an array in another form."""
    places = []
    for k, token in enumerate(code.tokens[:-1]):
        before = code.tokens[k - 1].role if k else ""
        if token.kind == "name" and code.tokens[k + 1].role == "[" and before not in (".", "->", "*", "]"):
            places += [k] * (code.tokens[k - 1].kind != "name")
    every = code.statements()
    places = [k for k in places if any(s.begin <= k < s.end for s in every)]
    declared_at = {s.begin: s.end for s in every if s.kind == "declaration"}
    places = [k for k in places if not any(b <= k < e for b, e in declared_at.items())]
    if not places:
        return False
    k = rng.choice(places)
    name, end = code.tokens[k].text, code.closing(k + 1)
    how = rng.randrange(5)
    if how == 0:
        code.replace(k, k + 1, tokens(f"({name})"))
    elif how == 1:
        code.replace(k, k + 1, tokens(f"(&{name}[0])"))
    elif how == 2:
        put(code, end, ")")
        put(code, k + 2, "0 + (")
    elif how == 3 and "register" not in {token.text for token in code.tokens}:
        code.replace(end, end + 1, tokens("]"))
        code.replace(k, k + 1, tokens(f"(*&{name})"))
    else:
        index = code.tokens[k + 2 : end]
        if code.lines_inside(k, end):
            return False
        code.replace(k, end + 1, [*tokens("(*("), *tokens(f"{name} + ("), *index, *tokens(")))")])
    return True


def header(code: Code, rng: random.Random) -> bool:
    """A loop header with another increment, or a `register` iterator, or more commas."""
    places = []
    for stmt in code.statements():
        if stmt.kind == "for" and stmt.inner - stmt.begin < 60:
            text = code.flat(stmt.begin, stmt.inner)
            match = re.fullmatch(r"for \( (int|long|size_t|unsigned) (\w+) = ([^;]*) ; ([^;]*) ; \2 \+\+ \)", text)
            if match:
                places.append((stmt, match))
    if not places:
        return False
    stmt, match = rng.choice(places)
    kind, name, low, test = match.groups()
    shapes = (
        f"for ({kind} {name} = {low}; {test}; ++{name})", f"for ({kind} {name} = {low}; {test}; {name} += 1)",
        f"for ({kind} {name} = {low}; {test}; {name} = {name} + 1)",
        f"for (register {kind} {name} = {low}; {test}; {name}++)",
        f"for ({kind} {name} = ({low}); ({test}); {name}++)", f"for ({kind} {name} = (0, {low}); {test}; {name}++)",
        f"for ({kind} {name} __attribute__((unused)) = {low}; {test}; {name}++)",
        f"for ({kind} {name} = {low}; {test}; {name}++, (void)0)",
        f"for (auto {kind} {name} = {low}; !!({test}); ({name})++)",
        f"for ({kind} {name} = {low}, pz_two = 2; {test}; {name} += pz_two / 2)",
        f"for ({kind} {name} = {{ {low} }}; {test}; {name}++)",
    )  # fmt: skip
    code.replace(stmt.begin, stmt.inner, tokens(rng.choice(shapes)))
    return True


def old_definition(code: Code, rng: random.Random) -> bool:
    """A function whose parameters are declared behind its head."""
    places = []
    for begin, opening, _ in code.functions():
        close = opening - 1
        if code.tokens[close].role != ")" or code.lines_inside(begin, opening):
            continue
        start = next((k for k in range(begin, opening) if code.tokens[k].role == "("), -1)
        if start < 0 or code.closing(start) != close or close - start < 3 or code.tokens[start - 1].kind != "name":
            continue
        parts = parts_of(code, start + 1, close)
        names = [parameter_name(part) for part in parts]
        if all(names) and not any(
            p[0].role in ("float", "short", "char") and "*" not in _roles(p) and "[" not in _roles(p) for p in parts
        ):
            places.append((start, close, parts, names))
    if not places:
        return False
    start, close, parts, names = rng.choice(places)
    new = [t for part in parts for t in (*part, *tokens(";"))]
    code.replace(start + 1, close + 1, [*tokens(", ".join(str(n) for n in names) + ")"), *new])
    return True


def _roles(part: list[Token]) -> list[str]:
    return [t.role for t in part]


def parts_of(code: Code, begin: int, end: int) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in code.tokens[begin:end]:
        depth += (token.role in ("(", "[")) - (token.role in (")", "]"))
        if token.role == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def parameter_name(part: list[Token]) -> str | None:
    """The name a parameter declares, where that is its last one in front of brackets."""
    roles = _roles(part)
    if "(" in roles or "static" in roles:
        return None
    stop = roles.index("[") if "[" in roles else len(roles)
    token = part[stop - 1] if stop else None
    return (
        token.text if token is not None and token.kind == "name" and len(part) > 1 and token.role not in TYPES else None
    )


def pointer_parameter(code: Code, rng: random.Random) -> bool:
    """`T *restrict A` as `T A[restrict]` and the like."""
    places = []
    for begin, opening, _ in code.functions():
        text = code.flat(begin, opening)
        for match in re.finditer(r"(double|float|int|long) \* (restrict )?(\w+) (?=[,)])", text):
            places.append((begin, opening, match))
    if not places:
        return False
    begin, opening, match = rng.choice(places)
    if code.lines_inside(begin, opening):
        return False
    kind, restrict, name = match[1], (match[2] or "").strip(), match[3]
    plain = "register" not in code.flat(begin, opening) and not re.search(
        rf"& (\( )?{name}\b", code.flat(0, len(code.tokens))
    )
    new = rng.choice((f"{kind} {name}[{restrict}]", f"{kind} {name}[const {restrict}]",
                      f"{kind} *{'__restrict__' if restrict else ''} const {name}",
                      f"{kind} *{restrict} {name} __attribute__((unused))",
                      *([f"register {kind} *{restrict} {name}"] if plain else [])))  # fmt: skip
    text = code.flat(begin, opening)
    code.replace(begin, opening, tokens(text[: match.start()] + new + " " + text[match.end() :]))
    return True


def attribute(code: Code, rng: random.Random) -> bool:
    heads = [begin for begin, opening, _ in code.functions() if not code.lines_inside(begin, opening)]
    if heads:
        new = ("unused", "hot, unused", '__optimize__("O1")')
        begin = rng.choice(heads)
        first = code.tokens[begin].text == "__extension__"  # nothing may stand in front of that
        put(
            code,
            begin + first,
            rng.choice((*(f"__attribute__(({a}))" for a in new), *(() if first else ("__extension__",)))),
        )
    return bool(heads)


def nested_function(code: Code, rng: random.Random) -> bool:
    bodies = [opening for _, opening, _ in code.functions()]
    if bodies:
        put(code, rng.choice(bodies) + 1, "auto int pz_nested(int); int pz_nested(int x) { return x + 1; }")
    return bool(bodies)


def initializer(code: Code, rng: random.Random) -> bool:
    """Designated initializers, compound literals and flexible sizes in a block of their own."""
    stmt = chosen(code, rng, ("for", "expression"), lines=True, apart=True)
    if stmt is None:
        return False
    put(code, stmt.begin, rng.choice((
        "{ int pz_a[9] = { [3] = 1, [5 ... 7] = 2 }; for (int pz_i = 0; pz_i < 9; pz_i++) pz_a[pz_i] += 1; }",
        "{ struct { int x, y[4]; } pz_s = { .y[2] = 4, .x = 1 }; for (int z = 0; z < 4; z++) pz_s.y[z]++; }",
        "{ double *pz_p = (double[]){ 1, 2, 3 }; for (int pz_i = 0; pz_i < 3; pz_i++) pz_p[pz_i] *= 2; }",
        "{ int pz_n = 5; double pz_v[pz_n]; for (int pz_i = 0; pz_i < pz_n; pz_i++) pz_v[pz_i] = pz_i; (void)pz_v; }",
        "{ static _Thread_local int pz_t; _Static_assert(sizeof(pz_t) == 4, \"\\\"}{\"); pz_t++; }",
        "{ __auto_type pz_u = 3; typeof(pz_u) pz_w[4]; for (int z = 0; z < 4; z++) pz_w[z] = pz_u; (void)pz_w; }",
    )))  # fmt: skip
    return True


def conditional(code: Code, rng: random.Random) -> bool:
    """Preprocessor conditionals around a statement, and lines that name another place."""
    stmt = chosen(code, rng, ("for", "while", "if", "expression", "declaration", "compound"), lines=True)
    if stmt is None:
        return False
    how = rng.randrange(5)
    if how == 0:
        code.tokens[stmt.end : stmt.end] = [line("#endif")]
        code.tokens[stmt.begin : stmt.begin] = [
            line(rng.choice(("#if 1", "#ifndef PZ_NO", "#if !defined(PZ_NO) && 1")))
        ]
    elif how == 1:
        code.tokens[stmt.end : stmt.end] = [line("#else"), line("this is ( not C '"), line("#endif")]
        code.tokens[stmt.begin : stmt.begin] = [line("#if 1")]
    elif how == 2:
        code.tokens[stmt.begin : stmt.begin] = [line("#ifdef PZ_NO"), line('} for ( } " not C'), line("#endif")]
    elif how == 3:
        code.tokens[stmt.begin : stmt.begin] = [
            line(rng.choice(('#line 7 "other.c"', "#line 100000", '# 12 "x\\"y.h"')))
        ]
    else:
        code.tokens[stmt.begin : stmt.begin] = [
            line(
                rng.choice(
                    ("#", "#pragma STDC FP_CONTRACT OFF", "#undef PZ_NO", '#ident "x"', "#define PZ_OTHER(for) for } {")
                )
            )
        ]
    return True


_NO_NAMES = frozenset(("main", "printf", "restrict", "const", "static", "sizeof", "return", "for", "if", "else", "x"))


def declared(code: Code) -> list[str]:
    """Names that the program itself declares."""
    found = set()
    for k in range(2, len(code.tokens) - 1):
        token, before, after = code.tokens[k], code.tokens[k - 1].role, code.tokens[k + 1]
        pointer = before == "*" and code.tokens[k - 2].role in (*TYPES, "const")
        typed = before in TYPES or before == "restrict" or pointer
        named = token.kind == "name" and token.text not in _NO_NAMES and token.role not in TYPES
        if named and typed and after.role in ("[", ";", ",", "=", ")", "("):
            found.add(token.text)
    return sorted(found)
