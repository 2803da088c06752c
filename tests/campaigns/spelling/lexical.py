"""Rewrites of the text: digraphs, trigraphs, comments, joined lines, ends of lines, names in UTF-8."""

from __future__ import annotations

import random
import re

from tests.campaigns.spelling.structure import declared
from tests.campaigns.spelling.tokens import Code, Token

_DIGRAPHS = {"[": "<:", "]": ":>", "{": "<%", "}": "%>"}
_TRIGRAPHS = {
    "#": "??=",
    "[": "??(",
    "]": "??)",
    "{": "??<",
    "}": "??>",
    "|": "??!",
    "^": "??'",
    "~": "??-",
    "\\": "??/",
}
_COMMENTS = (
    "/**/", "/* } */", "/* \" */", "/* ' */", "// } for (;;) {\n", "// \"\n", "/* for (int i = 0; i < 9; i++) ; */",
    "/*\n#pragma omp parallel for\n*/", "// it's\n", "/* // */", "/*\\*/", "//\n", "/* é ?? */", "/* ; */",
    "\f", "\v", "\t\t", "\n\n", "/*/ x /*/", "// x /* y\n", "//*/ \n",
)  # fmt: skip
_COMMENTED = ("#if", "#ifdef", "#ifndef", "#include", "#define", "#endif", "#else", "#undef")
_LETTERS = ("é", "ñ", "ß", "α", "Ж", "名", "𝛼", "$", "\\u00e9", "\\u03b1")
_TEXT = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|.""", re.DOTALL)


def digraphs(code: Code, rng: random.Random) -> bool:
    share = rng.choice((0.1, 0.5, 1.0))
    for k, token in enumerate(code.tokens):
        if token.kind == "mark" and token.text in _DIGRAPHS and rng.random() < share:
            code.tokens[k] = Token(_DIGRAPHS[token.text], token.kind, token.role)
        elif token.kind == "directive" and token.text.startswith("#") and rng.random() < share:
            code.tokens[k] = Token("%:" + token.text[1:], token.kind, token.role)
    return True


def comments(code: Code, rng: random.Random) -> bool:
    """Between tokens, in front of preprocessor lines and behind them."""
    share = rng.choice((0.02, 0.1, 0.5))
    for k, token in enumerate(code.tokens):
        if rng.random() >= share:
            continue
        comment = rng.choice(_COMMENTS)
        if token.kind == "directive":
            harmless = comment.startswith("/*") and "\n" not in comment
            if harmless and token.text.split()[0] in _COMMENTED:
                at_end = rng.random() < 0.5
                text = f"{token.text} {comment}" if at_end else f"{comment} {token.text}"
                code.tokens[k] = Token(text, token.kind, token.role)
            continue
        code.tokens[k] = Token(
            f"{token.text} {comment}" if rng.random() < 0.5 else f"{comment} {token.text}", token.kind, token.role
        )
    return True


def utf8_names(code: Code, rng: random.Random) -> bool:
    names = declared(code)
    if not names:
        return False
    ends = {name: rng.choice(_LETTERS) for name in rng.sample(names, rng.randint(1, min(len(names), 12)))}

    def renamed(text: str) -> str:
        def one(match: re.Match[str]) -> str:
            letter = ends.get(match.group())
            if letter is None:
                return match.group()
            if letter == "\\u00e9" and rng.random() < 0.5:
                letter = "é"  # the same name
            return match.group() + letter

        return _TEXT.sub(one, text)

    code.tokens[:] = [t if "include" in t.text else Token(renamed(t.text), t.kind, t.role) for t in code.tokens]
    code.defines[:] = [renamed(d) for d in code.defines]
    for name in code.files:
        held = code.files[name].split("\n")
        code.files[name] = "\n".join(row if "include" in row else renamed(row) for row in held)
    return True


# ------------------------------------------------------------------------------- of the whole text


def splices(text: str, rng: random.Random) -> str:
    """Lines are cut anywhere."""
    count = rng.choice((3, 20, max(1, len(text) // 20)))
    end = rng.choice(("\\\n", "\\\n", "\\ \n", "\\\r\n"))
    places = sorted((rng.randrange(len(text)) for _ in range(count)), reverse=True)
    for place in places:
        if text[max(0, place - 3) : place + 3].count("?") > 1 or text[place - 1 : place + 1] == "\r\n":
            continue  # a trigraph is read first
        if "\\" in text[max(0, place - 10) : place + 10]:
            continue  # a \u00e9 may not be cut
        if any(ord(c) > 127 for c in text[max(0, place - 2) : place + 2]):
            continue
        text = text[:place] + end + text[place:]
    return text


def trigraphs(text: str, rng: random.Random) -> str:
    share = rng.choice((0.1, 0.5, 1.0))

    def one(match: re.Match[str]) -> str:
        found = match.group()
        if found in _TRIGRAPHS and rng.random() < share:
            return _TRIGRAPHS[found]
        return found

    return re.sub(r"\\[uU][0-9a-f]{4}|\\(?!\n)|.", one, text, flags=re.DOTALL)


def line_ends(text: str, rng: random.Random) -> str:
    if rng.random() < 0.7:
        return re.sub("\r?\n", "\r\n", text)
    return "".join(line + rng.choice(("\n", "\r\n")) for line in text.replace("\r", "").split("\n"))


def byte_order_mark(text: str, rng: random.Random) -> str:
    return "\ufeff" + text


def no_last_line(text: str, rng: random.Random) -> str:
    return text.rstrip()


def long_lines(text: str, rng: random.Random) -> str:
    """As few lines as the preprocessor allows."""
    lines: list[str] = []
    for line in text.split("\n"):
        joins = (
            lines
            and not lines[-1].lstrip().startswith(("#", "%:", "/"))
            and not line.lstrip().startswith(("#", "%:", "/"))
        )
        plain = joins and "//" not in lines[-1] and "\\" not in lines[-1] and not {"#", "%:"} & set(lines[-1].split())
        if plain and not line.startswith("this is"):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return "\n".join(lines)
