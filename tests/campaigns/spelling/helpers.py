"""Statements and values moved to functions of their own, which are called where they stood."""

from __future__ import annotations

import random
import re

from tests.campaigns.spelling.structure import parameter_name, parts_of
from tests.campaigns.spelling.tokens import Code, Stmt, Token, tokens

_DECLARED = r"(?:const )?(unsigned long long|unsigned|int|long|size_t|double|float) (\w+) (?==|;|,)"
_SETS = ("=", "+=", "-=", "*=", "/=", "^=", "&=", "|=", "<<=", ">>=", "%=", "++", "--")
_LEAVES = frozenset(("return", "break", "continue", "goto", "case", "default", "line", "#", "stmt", ":", "asm"))
_KINDS = ("for", "expression", "compound", "if")


def outlined(code: Code, rng: random.Random) -> bool:
    """A statement becomes a function; scalars that it sets are passed by their addresses."""
    places = [(f, s) for f in code.functions() for s in code.statements() if _fits(code, f, s)]
    rng.shuffle(places)
    for (begin, opening, _), stmt in places[:8]:
        needed = _needed(code, begin, opening, stmt)
        if needed is None:
            continue
        name = code.fresh("call")
        static = rng.choice(("static", "static inline", "static inline __attribute__((always_inline))"))
        body = [Token(t.text, t.kind, t.role) for t in code.tokens[stmt.begin : stmt.end]]
        value = _value(body, needed) if rng.random() < 0.6 else None
        if value is not None:
            kind, target = value
            needed.pop(target, None) if target not in _names(body[2:]) else needed.update({target: f"{kind} {target}"})
            call = f"{target} = {name}({', '.join(needed)});"
            text = [*tokens("{ return "), *body[2:], *tokens("}")]
        else:
            kind = "void"
            given, text = [], body
            for one, declared in needed.items():
                sets = not _is_pointer(declared) and _is_set(body, one)
                given.append(f"&{one}" if sets else one)
                if sets:
                    needed[one] = re.sub(rf"\b{one}$", f"*{one}", declared.replace("const ", ""))
                    text = [t for b in text for t in (tokens(f"(*{one})") if _is_name(b, one) else [b])]
            call = f"{name}({', '.join(given)});"
            text = [*tokens("{"), *text, *tokens("}")]
        code.replace(stmt.begin, stmt.end, tokens(call))
        head = f"{static} {kind} {name}({', '.join(needed.values()) or 'void'})"
        code.replace(begin, begin, [*tokens(head), *text])
        return True
    return False


def _fits(code: Code, function: tuple[int, int, int], stmt: Stmt) -> bool:
    begin, opening, end = function
    inside = opening < stmt.begin and stmt.end < end and not code.lines_inside(begin, end)
    return inside and stmt.kind in _KINDS and not any(t.role in _LEAVES for t in code.tokens[stmt.begin : stmt.end])


def _needed(code: Code, begin: int, opening: int, stmt: Stmt) -> dict[str, str] | None:
    """The variables of the function that a statement uses, by name, as parameters; None where that is not clear."""
    start = next((k for k in range(begin, opening) if code.tokens[k].role == "("), -1)
    if start < 0 or code.closing(start) != opening - 1:
        return None
    known: dict[str, str] = {}
    for part in parts_of(code, start + 1, opening - 1):
        name, text = parameter_name(part), " ".join(t.text for t in part)
        if name is not None and "register" not in text and "volatile" not in text:
            known[name] = re.sub(r"\s+", " ", text)
        elif text not in ("", "void"):
            return None
    found = re.findall(_DECLARED, " ".join(t.text for t in code.tokens[opening : stmt.begin]))
    inside = {n for _, n in re.findall(_DECLARED, " ".join(t.text for t in code.tokens[stmt.begin : stmt.end]))}
    text = code.flat(opening, stmt.begin)
    for kind, name in found:
        if name in known or len(re.findall(rf"[a-z*] {name} [=;,\[]", text)) != 1:
            return None  # declared twice: which one it is, nobody knows
        known[name] = f"{kind} {name}"
    if inside & known.keys() or re.search(r"[a-z] (\* (const |restrict )*)?\w+ \[", text) or "static" in text:
        return None
    if re.search(r"\b(void|char|short|int|long|float|double|unsigned|size_t) \* (const |restrict )*\w+ [=;,]", text):
        return None  # pointers of the function's own
    wanted = [n for n in known if n in _names(code.tokens[stmt.begin : stmt.end])]
    for name in wanted:  # sizes of arrays, too
        wanted += [n for n in re.findall(r"\w+", known[name]) if n in known and n not in wanted]
    return {name: declared for name, declared in known.items() if name in wanted}


def _names(found: list[Token]) -> set[str]:
    return {t.text for k, t in enumerate(found) if t.kind == "name" and (not k or found[k - 1].role not in (".", "->"))}


def _is_name(token: Token, name: str) -> bool:
    return token.kind == "name" and token.text == name


def _is_pointer(declared: str) -> bool:
    return "*" in declared or "[" in declared


def _is_set(body: list[Token], name: str) -> bool:
    around = ((body[k - 1].role if k else "", body[k + 1].role) for k, t in enumerate(body[:-1]) if _is_name(t, name))
    return any(after in _SETS or before in ("++", "--", "&") for before, after in around)


def _value(body: list[Token], needed: dict[str, str]) -> tuple[str, str] | None:
    """Type and name of a scalar that the statement sets to something without effects."""
    if len(body) < 4 or body[0].text not in needed or body[1].role != "=" or body[-1].role != ";":
        return None
    declared = needed[body[0].text]
    if _is_pointer(declared) or any(t.role in _SETS or t.role == "," for t in body[2:]):
        return None
    return declared.rpartition(" ")[0].replace("const ", ""), body[0].text
