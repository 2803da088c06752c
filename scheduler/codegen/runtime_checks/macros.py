"""What the macros say that a nest depends on: whether the C parser saw the text that the compiler sees (both have
macros of their own, __clang__ and __GNUC__), and which ones functions of included files depend on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from scheduler.frontend.clang.lexical import Directive
from scheduler.frontend.clang.preprocessing import Conditional, Macro, Use, names

_ASKS = re.compile(r"#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef|include)\b(?!\s*[<\"])(.*)", re.DOTALL)
_ASKED = frozenset(("defined", "__has_include", "__has_attribute", "__has_builtin"))

Header = tuple[bytes, tuple[Directive, ...]]


def foreign_names(bodies: Iterable[bytes], headers: Iterable[Header], macros: Mapping[str, Macro]) -> Iterator[Use]:
    """All names in the bodies; where there are any, the macros used in the headers, and what conditionals there ask.

    `headers`: the texts of all included files that are not the system's, with their preprocessor lines (of the file
    itself only these): which body a function has, what its enumerators are and how its structures look is said there.
    """
    bodies = tuple(bodies)
    for body in bodies:
        for use in names(body, 0, len(body), ()):
            if not _of_system(use.name, macros):
                yield use
    for text, directives in headers if bodies else ():
        for use in names(text, 0, len(text), directives):
            macro = macros.get(use.name)
            if macro is not None and not macro.system and (macro.parameters is None or use.arguments is not None):
                yield use
        for line in directives:
            match = _ASKS.match(line.text)
            for word in re.findall(r"[^\W\d][\w$]*", match[1]) if match else ():
                if word not in _ASKED:
                    yield Use(word, None, word)


def _of_system(name: str, macros: Mapping[str, Macro]) -> bool:
    return name in macros and macros[name].system


_WORD = re.compile(r"[^\W\d][\w$]*")
_INTEGER = re.compile(r"\(?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)[uUlL]*\)?")


def misread_branch(
    around: Iterable[Conditional], active: set[int], skipped: Iterable[tuple[int, int]]
) -> Conditional | None:
    """The first conditional of which the parser read another branch than is active for the compiler."""
    left_out = tuple(skipped)
    for conditional in around:
        for branch in conditional.branches:
            read = not any(begin <= branch.begin < end for begin, end in left_out)
            if read != (branch.begin in active):
                return conditional
    return None


def misread_macro(
    used: Iterable[str], compiler: Mapping[str, Macro], parser: Mapping[str, str], changed: Counter[str]
) -> str | None:
    """The first name that stands for something else, by itself or by what it is defined as.

    `parser`: what its macros are, token by token; `changed`: how often lines define or undefine a name.
    """
    pending, seen = list(used), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        macro, text = compiler.get(name), parser.get(name)
        if macro is None:
            if text is not None and not changed[name]:
                return name
        elif not macro.system:
            own = re.sub(r"\s", "", (macro.parameters or "") + macro.body)
            text = None if text is None else re.sub(r"\s", "", text)
            if text is None or (text != own and _number(text) != _number(own)):
                return name
            pending += _WORD.findall(macro.body)
    return None


def _number(text: str) -> int | str:
    """Of a number its value."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return text
    return int(match[1], 16 if match[1][:2] in ("0x", "0X") else 8 if match[1].startswith("0") else 10)
