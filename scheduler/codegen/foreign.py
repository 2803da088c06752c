"""What functions of included files, whose bodies a nest holds, depend on of the macros."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from scheduler.frontend.clang.lexical import Directive
from scheduler.frontend.clang.preprocessing import Macro, Use, names

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
