"""What the preprocessor looks at in a C text: the names in it, the conditionals around it, the macros in force."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler.frontend.clang.lexical import Directive, Text

_TOKEN = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\.?\d(?:[eEpP][+-]|[\w.])*"""
    rb"""|(?P<name>(?:[A-Za-z_$\x80-\xff]|\\[uU][0-9a-fA-F]{4})(?:[\w$\x80-\xff]|\\[uU][0-9a-fA-F]{4})*)|\s+|.""",
    re.DOTALL,
)
_DEFINED = re.compile(r"#define (?P<name>[^\W\d][\w$]*)(?P<parameters>\([^)]*\))? ?(?P<body>.*)")
_MARKER = re.compile(r'# \d+ "(?:[^"\\]|\\.)*"(?P<flags>[ \d]*)')
_NUMBER = re.compile(r"\.?\d(?:[eEpP][+-]|[\w.])*")


@dataclass(frozen=True, slots=True)
class Use:
    """A name in a text. `arguments`: how many it has as a call, None without parentheses; `text`: with them."""

    name: str
    arguments: int | None
    text: str


def names(
    content: bytes, begin: int, end: int, directives: Iterable[Directive], trigraphs: bool = False
) -> Iterator[Use]:
    """The names in content[begin:end], without comments, literals and preprocessor lines."""
    pieces, position = [], begin
    for directive in directives:
        if begin <= directive.begin < end:
            pieces.append(content[position : directive.begin])
            position = directive.end
    text = Text(b"\n".join([*pieces, content[position:end]]), trigraphs).clean
    tokens = [m for m in _TOKEN.finditer(text) if not m.group().isspace() and not m.group().startswith((b"//", b"/*"))]
    for number, token in enumerate(tokens):
        name = token["name"]
        if name is None:
            continue
        closed = _closing(tokens, number + 1)
        if closed is None:
            yield Use(name.decode("utf-8", "replace"), None, name.decode("utf-8", "replace"))
        else:
            last, arguments = closed
            spelled = b" ".join(t.group() for t in tokens[number + 1 : last + 1])
            spelling = (name + spelled).decode("utf-8", "replace")
            yield Use(name.decode("utf-8", "replace"), arguments, spelling)


def _closing(tokens: list[re.Match[bytes]], opening: int) -> tuple[int, int] | None:
    """The place of the `)` that closes the `(` at `opening`, and how many arguments stand between them."""
    if opening >= len(tokens) or tokens[opening].group() != b"(":
        return None
    depth = commas = 0
    for place in range(opening, len(tokens)):
        token = tokens[place].group()
        depth += (token == b"(") - (token == b")")
        commas += token == b"," and depth == 1
        if depth == 0:
            return place, commas + 1 if place > opening + 1 else 0
    return None


# ----------------------------------------------------------------------------------------- macros


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro in force. `system`: a header of the system defines it; `parameters` None: it takes none."""

    name: str
    parameters: str | None
    body: str
    system: bool

    @property
    def pastes(self) -> bool:
        return "#" in self.body


def macros(preprocessed: str) -> dict[str, Macro]:
    """The macros in force at the end of what `cc -E -dD` printed."""
    found: dict[str, Macro] = {}
    system = False
    for line in preprocessed.splitlines():
        if not line.startswith("#"):
            continue
        marker = _MARKER.match(line)
        if marker is not None:
            system = "3" in marker["flags"].split()
        elif match := _DEFINED.match(line):
            found[match["name"]] = Macro(match["name"], match["parameters"], match["body"], system)
        elif line.startswith("#undef "):
            found.pop(line[len("#undef ") :].strip(), None)
    return found


def is_constant(macro: Macro, known: dict[str, Macro], depth: int = 8) -> bool:
    """A macro that stands for a number, directly or by other such macros."""
    if macro.parameters is not None or depth == 0:
        return False
    words = re.findall(r"[^\W\d][\w$]*", _NUMBER.sub("", macro.body))
    return all(word in known and is_constant(known[word], known, depth - 1) for word in words)


def unbalanced(known: dict[str, Macro]) -> frozenset[str]:
    """Macros with a parenthesis that is not closed, or not opened, and all that use them."""
    words = {name: set(re.findall(r"[^\W\d][\w$]*", m.body)) for name, m in known.items() if not m.system}
    found = {name for name in words if not _balanced(known[name].body)}
    while more := {name for name, used in words.items() if name not in found and used & found}:
        found |= more
    return frozenset(found)


def _balanced(body: str) -> bool:
    depth = 0
    for match in re.finditer(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()]""", body):
        depth += (match.group() == "(") - (match.group() == ")")
        if depth < 0:
            return False
    return depth == 0


def changed_between(
    texts: tuple[tuple[int, int], ...],
    used: set[str],
    directives: Iterable[Directive],
    known: Mapping[str, Macro],
    other: str = "a function that it calls",
) -> str | None:
    """Why names of several texts may stand for other things in one than in the first; None where they do not.

    `used`: the names; those that macros make of them count, too. `other`: what the texts are besides the nest's.
    """
    begin, end = min(b for b, _ in texts), max(e for _, e in texts)
    lines = [d.text[1:].strip() for d in directives if begin <= d.begin < end]
    if any(re.match(r"(?:include|import)", line) for line in lines):
        return f"a file is included between it and {other} (include it above both)"
    changed = {match[1] for line in lines if (match := re.match(r"(?:define|undef)\s+([\w$]+)", line))}
    if not changed:
        return None
    bodies = {name: set(re.findall(r"[\w$]+", macro.body)) for name, macro in known.items()}
    for directive in directives:
        if (match := _DEFINED.match(directive.text)) is not None:
            bodies.setdefault(match["name"], set()).update(re.findall(r"[\w$]+", match["body"]))
    found, pending = set(used), list(used)
    while pending:
        more = bodies.get(pending.pop(), set()) - found
        found |= more
        pending += more
    names_ = sorted(found & changed)
    return f"'{names_[0]}' changes between it and {other} (define it once, above both)" if names_ else None


# ------------------------------------------------------------------------------------ conditionals


@dataclass(frozen=True, slots=True)
class Branch:
    """One part of a conditional: its condition as C, and the bytes [begin, end) it holds or leaves out."""

    condition: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """`#if` to `#endif`. `includes`: all that matters in it are included files, and these in functions only."""

    begin: int
    end: int
    branches: tuple[Branch, ...]
    includes: bool = False


def conditionals(content: bytes, directives: tuple[Directive, ...]) -> tuple[Conditional, ...]:
    """Those of a file that hold code, pragmas or included files, in the order of their ends.

    Left out are include guards and pragmas under `_OPENMP`, which mean nothing where there is no OpenMP.
    """
    found: list[Conditional] = []
    opened: list[list[tuple[str, Directive]]] = []
    for directive in directives:
        word, _, rest = directive.text[1:].strip().partition(" ")
        rest = rest.strip()
        if word in ("if", "ifdef", "ifndef"):
            opened.append([(_condition(word, rest), directive)])
        elif word in ("elif", "elifdef", "elifndef", "else") and opened:
            kind = "else" if word == "else" else word.removeprefix("el")
            opened[-1].append((_condition(kind, rest), directive))
        elif word == "endif" and opened:
            parts = opened.pop()
            ends = [d.begin for _, d in parts[1:]] + [directive.begin]
            branches = tuple(Branch(c, d.end, e) for (c, d), e in zip(parts, ends, strict=True))
            whole = Conditional(parts[0][1].begin, directive.end, branches)
            if _is_guard(content, whole, directives):
                continue
            if _holds_code(content, whole, directives) or _holds_pragma(whole, directives):
                found.append(whole)
            elif any(d.text.startswith("#include") for d in directives if whole.begin <= d.begin < whole.end):
                found.append(replace(whole, includes=True))
    return tuple(found)


def _condition(word: str, rest: str) -> str:
    if word == "else":
        return "1"
    if word in ("ifdef", "ifndef"):
        return f"{'!' if word == 'ifndef' else ''}defined {rest.split()[0] if rest else '0'}"
    return f"({rest})"


def _holds_code(content: bytes, whole: Conditional, directives: tuple[Directive, ...]) -> bool:
    position = whole.begin
    for directive in directives:
        if whole.begin <= directive.begin < whole.end:
            if _has_tokens(content[position : directive.begin]):
                return True
            position = directive.end
    return False


def _holds_pragma(whole: Conditional, directives: tuple[Directive, ...]) -> bool:
    if re.sub(r"[()\s]|defined", "", whole.branches[0].condition) == "_OPENMP" and len(whole.branches) == 1:
        return False
    return any(d.text.startswith("#pragma") for d in directives if whole.begin <= d.begin < whole.end)


def _has_tokens(text: bytes) -> bool:
    return any(
        not m.group().isspace() and not m.group().startswith((b"//", b"/*")) and m.group() != b"\\"
        for m in _TOKEN.finditer(text)
    )


def _is_guard(content: bytes, whole: Conditional, directives: tuple[Directive, ...]) -> bool:
    """`#ifndef X` whose first line is `#define X`."""
    first = whole.branches[0]
    inside = next((d for d in directives if first.begin <= d.begin < first.end), None)
    if inside is None or _has_tokens(content[first.begin : inside.begin]):
        return False
    words = inside.text[1:].split()
    return words[:1] == ["define"] and len(words) > 1 and first.condition == f"!defined {words[1]}"
