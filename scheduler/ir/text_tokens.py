"""The lexical level of the text form of nests: tokens, names, numbers, C types, affine expressions."""

from __future__ import annotations

import json
import re
from typing import Literal as OneOf
from typing import NoReturn

from scheduler.errors import TextError
from scheduler.ir.affine import Affine, parse_affine
from scheduler.ir.nest import Constraint
from scheduler.ir.types import TYPE_WORDS, scalar_type

MAX_LENGTH = 4_000_000

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-](?=[0-9])|[0-9A-Za-z_.])*)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9.]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>'(?:[^'\\\n]|\\.)+')"
    r"|(?P<op><<=|>>=|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:;,(){}\[\]@$])"
)
_INTEGER = re.compile(r"[0-9]{1,19}")


class Tokens:
    """A cursor over the tokens of one text; every failure is a TextError with line and column."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise TextError(f"nest text: longer than {MAX_LENGTH} characters")
        self.text = text
        self.scope: dict[str, str] = {}  # parameters and the loops around the cursor, with their types
        self._tokens: list[tuple[str, str, int]] = []
        self._next = 0
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail(f"unexpected character {text[position]!r}", position)
            if match.lastgroup != "space":
                self._tokens.append((match.lastgroup or "", match.group(), position))
            position = match.end()
        self._tokens.append(("end", "", len(text)))

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        if position is None:
            position = self._tokens[self._next][2]
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        raise TextError(f"nest text {line}:{column}: {message}")

    def unexpected(self, expected: str) -> NoReturn:
        self.fail(f"expected {expected}, found {self.token[:40] or 'the end'!r}")

    @property
    def kind(self) -> str:
        return self._tokens[self._next][0]

    @property
    def token(self) -> str:
        return self._tokens[self._next][1]

    @property
    def position(self) -> int:
        return self._tokens[self._next][2]

    def peek(self) -> str:
        """The token after this one."""
        return self._tokens[min(self._next + 1, len(self._tokens) - 1)][1]

    def advance(self) -> str:
        token = self.token
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def accept(self, *tokens: str) -> bool:
        """Passes over these tokens if they are the next ones."""
        following = self._tokens[self._next : self._next + len(tokens)]
        if all(k in ("op", "name") for k, _, _ in following) and tuple(t for _, t, _ in following) == tokens:
            self._next += len(tokens)
            return True
        return False

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self.accept(token):
                self.unexpected(repr(token))

    def take(self, kind: str, what: str) -> str:
        if self.kind != kind:
            self.unexpected(what)
        return self.advance()

    def identifier(self) -> str:
        return self.take("name", "a name")

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        if not _INTEGER.fullmatch(self.token):
            self.unexpected("an integer")
        return sign * int(self.advance())

    def string(self) -> str:
        position = self.position
        try:
            return str(json.loads(self.take("string", "a string")))
        except ValueError:
            self.fail("bad string", position)

    def title(self) -> str:
        return self.string() if self.kind == "string" else self.identifier()

    def ctype(self) -> str:
        position, words = self.position, []
        while self.kind == "name" and self.token in TYPE_WORDS:
            words.append(self.advance())
        if scalar_type(" ".join(words)) is None:
            self.fail(f"expected a C type, found {' '.join(words) or self.token[:40]!r}", position)
        return " ".join(words)

    def affine(self, *stops: str, names: bool = True) -> Affine:
        """Up to one of the tokens `stops` outside parentheses. `names`: they must be in scope."""
        begin, nested = self.position, 0
        while nested or self.token not in stops:
            if self.kind not in ("number", "name", "op"):
                self.fail(f"expected {' or '.join(stops)} after an affine expression")
            nested += (self.token == "(") - (self.token == ")")
            if nested < 0:
                self.fail("unbalanced parenthesis")
            self.advance()
        try:
            affine = parse_affine(self.text[begin : self.position])
        except TextError as error:
            self.fail(str(error), begin)
        unknown = affine.names() - self.scope.keys() if names else frozenset()
        if unknown:
            self.fail(f"{min(unknown)} is neither a parameter nor a loop around this", begin)
        return affine

    def constraint(self) -> Constraint:
        affine = self.affine(">=", "==", "%")
        kind: OneOf[">=", "==", "mod"] = "=="
        modulus = 0
        if self.accept("%"):
            kind, modulus = "mod", self.integer()
            if modulus < 1:
                self.fail("a modulus is at least 1")
            self.expect("==")
        elif not self.accept("=="):
            kind = ">="
            self.expect(">=")
        if self.take("number", "0") != "0":
            self.fail("expected 0")
        return Constraint(affine, kind, modulus)
