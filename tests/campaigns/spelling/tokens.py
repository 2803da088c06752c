"""C programs as tokens that keep their meaning when macros stand for them, and just enough grammar to rewrite them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)|(?P<blank>\s+|/\*.*?\*/|//[^\n]*)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.DOTALL | re.MULTILINE,
)
TYPES = frozenset(("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "size_t"))
_SPECIFIERS = TYPES | {
    "const",
    "static",
    "register",
    "volatile",
    "struct",
    "union",
    "enum",
    "extern",
    "typedef",
    "auto",
}
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass(slots=True)
class Token:
    """`role` is the text it stands for, or `stmt` for a whole statement, `line` for a preprocessor line."""

    text: str
    kind: str
    role: str


@dataclass(frozen=True, slots=True)
class Stmt:
    """Tokens [begin, end) of a function body; `inner`: where the body of a loop or an `if` begins."""

    kind: str  # for, while, do, if, compound, declaration, expression, return, other
    begin: int
    end: int
    inner: int = -1


@dataclass(slots=True)
class Code:
    """A program that is being respelled: `defines` go in front of it, `files` beside it, `flags` to the compiler."""

    tokens: list[Token]
    defines: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    number: int = 0

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"pz_{prefix}{self.number}"

    # ------------------------------------------------------------------------------------ structure

    def closing(self, opening: int) -> int:
        """The place of the bracket that closes the one at `opening`. Raises ValueError."""
        depth = 0
        for place in range(opening, len(self.tokens)):
            role = self.tokens[place].role
            depth += (role in _OPEN) - (role in _CLOSE)
            if depth == 0:
                return place
        raise ValueError("a bracket is not closed")

    def functions(self) -> Iterator[tuple[int, int, int]]:
        """(first token of the definition, its `{`, behind its `}`)."""
        place = begin = 0
        while place < len(self.tokens):
            role = self.tokens[place].role
            if role == "{":
                end = self.closing(place) + 1
                if self._before(place) == ")":
                    yield begin, place, end
                    begin = end
                elif self._before(place) == ";":  # parameters are declared in front of it
                    begin = end
                place = end
                continue
            if role in (";", "line"):
                begin = place + 1
            elif role in _OPEN:
                place = self.closing(place)
            place += 1

    def _before(self, place: int) -> str:
        while place > 0 and self.tokens[place - 1].role == "line":
            place -= 1
        return self.tokens[place - 1].role if place else ""

    def statements(self) -> list[Stmt]:
        """All statements of all functions, outer ones first; of functions that are not understood none."""
        found: list[Stmt] = []
        for _, opening, end in self.functions():
            here: list[Stmt] = []
            try:
                self._compound(opening, end, here)
            except (ValueError, IndexError):
                continue
            found += here
        return found

    def _compound(self, opening: int, end: int, found: list[Stmt]) -> None:
        place = opening + 1
        while place < end - 1:
            place = self._statement(place, found)

    def _statement(self, place: int, found: list[Stmt]) -> int:
        """Notes the statement at `place` and returns where the next one begins."""
        while self.tokens[place].role == "line":
            place += 1
        role, slot = self.tokens[place].role, len(found)
        found.append(Stmt("other", place, place))
        inner = -1
        if role == "{":
            end, kind = self.closing(place) + 1, "compound"
            self._compound(place, end, found)
        elif role in ("for", "while", "if", "switch"):
            opening = place + 1
            while self.tokens[opening].role == "line":  # a macro that gives back what is in the parentheses
                opening += 1
            inner = self.closing(opening) + 1
            end, kind = self._statement(inner, found), role
            if role == "if" and end < len(self.tokens) and self.tokens[end].role == "else":
                end = self._statement(end + 1, found)
        elif role == "do":
            inner = place + 1
            end, kind = self._until(self._statement(inner, found)), role
        elif role == "stmt":
            end, kind = place + 1, "other"
        elif role == "}" or role == "else":
            raise ValueError("not a statement")
        else:
            end, kind = self._until(place), self._simple(place, role)
        found[slot] = Stmt(kind, place, end, inner)
        return end

    def _until(self, place: int) -> int:
        """Behind the next `;`."""
        while self.tokens[place].role != ";":
            if self.tokens[place].role in _OPEN:
                place = self.closing(place)
            elif self.tokens[place].role in _CLOSE:
                raise ValueError("no end of a statement")
            place += 1
        return place + 1

    def _simple(self, place: int, role: str) -> str:
        if role in ("return", "break", "continue", "goto", "case", "default"):
            return "return"
        following = self.tokens[place + 1]
        if (
            role in _SPECIFIERS
            or role in ("typeof", "__auto_type", "_Static_assert", "pz_declaration")
            or (self.tokens[place].kind == "name" and following.kind == "name")
        ):
            return "declaration"
        return "expression" if self.tokens[place].kind in ("name", "mark") and role != ";" else "other"

    def is_apart(self, stmt: Stmt) -> bool:
        """Whether something can stand in front of it: it is no body of a loop or a condition."""
        place = stmt.begin
        while place > 0 and self.tokens[place - 1].kind == "directive" and self.tokens[place - 1].role == "line":
            place -= 1
        return self.tokens[place - 1].role in (";", "{", "}", "stmt")

    def lines_inside(self, begin: int, end: int) -> bool:
        """Whether there are preprocessor lines, which macros cannot hold."""
        return any(t.kind == "directive" for t in self.tokens[begin:end])

    # -------------------------------------------------------------------------------------- changes

    def replace(self, begin: int, end: int, new: Iterable[Token]) -> None:
        self.tokens[begin:end] = list(new)

    def text(self, begin: int, end: int) -> str:
        return joined(self.tokens[begin:end])

    def flat(self, begin: int, end: int) -> str:
        """On one line, as in a #define."""
        return " ".join(t.text for t in self.tokens[begin:end])


def tokens(text: str) -> list[Token]:
    """Without white space and comments."""
    found = []
    for match in _TOKEN.finditer(text.replace("\\\n", " ")):
        kind = str(match.lastgroup)
        if kind == "directive":
            found.append(line(re.sub(r"/\*.*?\*/", " ", match.group()).strip()))
        elif kind != "blank":
            found.append(Token(match.group(), kind, match.group()))
    return found


def line(text: str, role: str = "line") -> Token:
    return Token(text, "directive", role)


def joined(found: Iterable[Token]) -> str:
    """As a text of short lines, each preprocessor line on one of its own."""
    pieces: list[str] = []
    for token in found:
        if token.kind == "directive":
            if pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")
            pieces.append(token.text + "\n")
        else:
            pieces.append(token.text)
            pieces.append("\n" if token.role in (";", "{", "}", "stmt") else " ")
    return "".join(pieces)
