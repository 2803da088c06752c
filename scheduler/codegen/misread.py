"""Whether the C parser saw the text that the compiler sees: both have macros of their own (__clang__, __GNUC__)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from scheduler.frontend.clang.preprocessing import Conditional, Macro

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
