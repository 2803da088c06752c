"""What is read from the text itself: ends of statements, loop headers, directives, lines and columns."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_STRINGS = rb""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_BLANKS = rb"(?:\s|//[^\n]*|/\*.*?\*/)*"
_SKIP = re.compile(_BLANKS, re.DOTALL)
_TOKEN = re.compile(
    rb"//[^\n]*|/\*.*?\*/|" + _STRINGS + rb"""|<[:%]|[:%]>|[()\[\]{};]|[^\s"'/()\[\]{};<:%]+|[^\s]""", re.DOTALL
)
_SPLICE = re.compile(rb"\\[ \t\v\f]*\r?\n")
_SPLICE_OR_TRIGRAPH = re.compile(rb"(?:\\|\?\?/)[ \t\v\f]*\r?\n|\?\?[=/'()!<>-]")
_TRIGRAPHS = {bytes([a]): bytes([b]) for a, b in zip(b"=/'()!<>-", b"#\\^[]|{}~", strict=True)}
_LEFT = {b"(": 1, b"[": 1, b"{": 1, b"<:": 1, b"<%": 1, b")": -1, b"]": -1, b"}": -1, b":>": -1, b"%>": -1}
_LOOKED_AT = 400  # bytes in front of a statement
_NAME = re.compile(rb"[\w$\\\x80-\xff]+")
_LAST_NAME = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*$")
_LAST_CALL = re.compile(rb"""\b([A-Za-z_]\w*)\s*+\((?:[^()"]|"(?:\\.|[^"\\])*"|\([^()"]*\))*+\)\Z""", re.DOTALL)
_DIRECTIVE = re.compile(
    rb"^[ \t\v\f]*+(?:(?>/\*.*?\*/)[ \t\v\f]*+)*+(?P<hash>\#|%:)"
    rb"|(?<![\w$])(?P<operator>_Pragma)"
    + _BLANKS
    + rb"\("
    + _BLANKS
    + rb"""(?:L|u8?|U)?"(?P<text>(?:\\.|[^"\\\n])*)\""""
    + _BLANKS
    + rb"\)|//[^\n]*|/\*.*?\*/|"
    + _STRINGS,
    re.DOTALL | re.MULTILINE,
)
_LINE = re.compile(rb"(?:/\*.*?\*/|//[^\n]*|" + _STRINGS + rb"|[^\n])*", re.DOTALL)
_STRING_OR_BLANK = re.compile(rb"(" + _STRINGS + rb")|(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_GNU_NAMES = re.compile(r"-std=(gnu|c2[3x]|iso9899:2024)")


def uses_trigraphs(arguments: Iterable[str]) -> bool:
    """Whether a compiler with these flags reads `??=` as `#`."""
    standard, explicit = False, False
    for argument in arguments:
        explicit = explicit or argument == "-trigraphs"
        if argument == "-ansi" or argument.startswith("-std="):
            standard = _GNU_NAMES.match(argument) is None
    return standard or explicit


@dataclass(frozen=True, slots=True)
class Directive:
    """A preprocessor line, or `_Pragma` as one: its offsets, its text without comments, and where the next token
    behind it starts.
    """

    begin: int
    end: int
    text: str
    target: int


class Text:
    """A C file as the preprocessor first sees it: lines joined, trigraphs replaced. Offsets are those of the file."""

    def __init__(self, content: bytes, trigraphs: bool = False) -> None:
        self.content = content
        self._theirs = [0]  # at each cut: the offset behind it in the file,
        self._ours = [0]  # and the offset of the same character in `clean`
        parts: list[bytes] = []
        last = length = 0
        for match in (_SPLICE_OR_TRIGRAPH if trigraphs and b"??" in content else _SPLICE).finditer(content):
            found = match.group()
            kept = content[last : match.start()] + (b"" if found.endswith(b"\n") else _TRIGRAPHS[found[2:]])
            parts.append(kept)
            length += len(kept)
            last = match.end()
            self._theirs.append(last)
            self._ours.append(length)
        self.clean = b"".join((*parts, content[last:])) if parts else content

    def inside(self, offset: int) -> int:
        """The offset in `clean` of the first character at or behind `offset` of the file."""
        k = bisect.bisect_right(self._theirs, offset) - 1
        ours = self._ours[k] + offset - self._theirs[k]
        return min(ours, self._ours[k + 1]) if k + 1 < len(self._ours) else ours

    def outside(self, position: int) -> int:
        """The offset in the file of the character at `position` of `clean`."""
        k = bisect.bisect_right(self._ours, position) - 1
        return self._theirs[k] + position - self._ours[k]

    def behind(self, position: int) -> int:
        """The offset in the file just behind the character before `position` of `clean`."""
        if position <= 0:
            return 0
        k = bisect.bisect_left(self._ours, position)
        if k < len(self._ours) and self._ours[k] == position and self._is_trigraph(k):
            return self._theirs[k]
        return self.outside(position - 1) + 1

    def _is_trigraph(self, cut: int) -> bool:
        return self.content[: self._theirs[cut]].endswith(b"\n") is False

    # ------------------------------------------------------------------------------------- tokens

    def past_semicolon(self, offset: int) -> int:
        """Behind the `;` that ends an expression statement whose expression ends at `offset`."""
        following = _blank(self.clean, self.inside(offset))
        return self.behind(following + 1) if self.clean[following : following + 1] == b";" else offset

    def next_name(self, offset: int) -> str:
        """The name that comes next; empty where something else does."""
        name = _NAME.match(self.clean, _blank(self.clean, self.inside(offset)))
        return name.group().decode("utf-8", "replace") if name else ""

    def past_call(self, offset: int) -> int:
        """Behind the macro at `offset`, its arguments included."""
        name = _NAME.match(self.clean, self.inside(offset))
        if name is None:
            return offset
        end = name.end()
        while self.clean[(opening := _blank(self.clean, end)) : opening + 1] == b"(":
            depth = 0
            for match in _TOKEN.finditer(self.clean, opening):
                depth += (match.group() == b"(") - (match.group() == b")")
                if depth == 0:
                    end = match.end()
                    break
            else:
                break
        return self.behind(end)

    def for_header(self, offset: int) -> tuple[int, int] | None:
        """Offsets of the two `;` of a loop header; None where the text at `offset` is no plain `for (`."""
        name = _NAME.match(self.clean, self.inside(offset))
        if name is None or name.group() != b"for":
            return None
        position = _blank(self.clean, name.end())
        if self.clean[position : position + 1] != b"(":
            return None
        depth = 0
        semicolons: list[int] = []
        for match in _TOKEN.finditer(self.clean, position):
            token = match.group()
            depth += _LEFT.get(token, 0)
            if depth == 0:
                break
            if token == b";" and depth == 1:
                semicolons.append(self.outside(match.start()))
        return (semicolons[0], semicolons[1]) if len(semicolons) == 2 else None

    def name_before(self, offset: int) -> str:
        """The name that ends right before a statement; empty where something else does."""
        end = self._behind_code(offset)
        match = _LAST_NAME.search(self.clean, max(0, end - _LOOKED_AT), end)
        return match.group().decode("utf-8", "replace") if match else ""

    def call_before(self, offset: int) -> str:
        """The name in front of the parentheses that end right before a statement; empty where none do."""
        end = self._behind_code(offset)
        match = _LAST_CALL.search(self.clean, max(0, end - _LOOKED_AT), end)
        return match[1].decode("utf-8", "replace") if match else ""

    def _behind_code(self, offset: int) -> int:
        """Where, in `clean`, the last token before an offset ends, comments and directives left out."""
        clean, position = self.clean, self.inside(offset)
        while True:
            while position and clean[position - 1 : position].isspace():
                position -= 1
            start = max(clean.rfind(b"\n", 0, position) + 1, position - _LOOKED_AT)
            line = clean[start:position]
            comment = clean.rfind(b"/*", 0, max(0, position - 2)) if line.endswith(b"*/") else -1
            if line.lstrip().startswith((b"#", b"%:")):
                position = start
            elif comment >= 0:
                position = comment
            elif b"//" in line:
                position = start + line.index(b"//")
            else:
                return position

    # --------------------------------------------------------------------------------- directives

    def directives(self) -> tuple[Directive, ...]:
        """Every preprocessor line, and `_Pragma` with its text, outside comments and strings."""
        found: list[tuple[int, int, str]] = []
        position = 0
        while (match := _DIRECTIVE.search(self.clean, position)) is not None:
            position = match.end()
            if match["operator"] is not None and not self._is_argument(match.start()):
                words = _cleaned(re.sub(rb'\\(["\\])', rb"\1", match["text"]))
                found.append((match.start(), position, "#pragma " + words))
            if match["hash"] is None:
                continue
            rest = _LINE.match(self.clean, position)
            end = rest.end() if rest else position
            found.append((match.start(), end, "#" + _cleaned(self.clean[position:end])))
            position = end
        result: list[Directive] = []
        for index in range(len(found) - 1, -1, -1):
            begin, end, text = found[index]
            target = _blank(self.clean, end)
            if index + 1 < len(found) and target >= found[index + 1][0]:
                result.append(Directive(self.outside(begin), self.behind(end), text, result[-1].target))
            else:
                result.append(Directive(self.outside(begin), self.behind(end), text, self.outside(target)))
        return tuple(reversed(result))

    def _is_argument(self, position: int) -> bool:
        """Whether a token stands behind a parenthesis or a comma, where a macro may do anything with it."""
        return self.clean[:position].rstrip().endswith((b"(", b","))


def _cleaned(line: bytes) -> str:
    """Without comments, and with single blanks."""
    return _STRING_OR_BLANK.sub(lambda m: m[1] or b" ", line).strip().decode("utf-8", "replace")


_CONDITIONAL = re.compile(r"#(?:if|elif|else|endif)")


def is_conditional(directive: Directive) -> bool:
    """Whether the line is an `#if`, an `#endif` or one between them."""
    return _CONDITIONAL.match(directive.text) is not None


def active_part(
    content: bytes, written: Iterable[Directive], skipped: Iterable[tuple[int, int]], trigraphs: bool = False
) -> tuple[bytes, tuple[Directive, ...]]:
    """The text without what conditionals leave out, and its directives.

    `written`: the directives of `content`; `skipped`: `libclang.skipped_ranges`. The lines of the conditionals, and
    `_Pragma`, are blank, too, in a text as long as before; among the directives they are left, those of conditionals in
    what is left out are not.
    """
    skipped = sorted(skipped)
    begins_at = [begin for begin, _ in skipped]
    kept: list[Directive] = []
    text = bytearray(content)
    for begin, end in skipped:
        _wipe(text, begin, end)
    for directive in written:
        if content.startswith(b"_Pragma", directive.begin) and text.startswith(b"_Pragma", directive.begin):
            _wipe(text, directive.begin, directive.end)
            kept.append(directive)
    within, depth = None, 0
    for directive in filter(is_conditional, written):
        _wipe(text, directive.begin, directive.end)
        last = bisect.bisect_left(begins_at, directive.end) - 1
        inside = last if last >= 0 and directive.begin < skipped[last][1] else None
        begins = inside is not None and inside != within
        within = inside
        depth -= directive.text.startswith("#endif")
        if inside is None or begins or depth == 0:
            kept.append(directive)
        depth = 1 if begins else depth + directive.text.startswith("#if")
    return bytes(text), _with_targets(Text(bytes(text), trigraphs), kept)


def _wipe(text: bytearray, begin: int, end: int) -> None:
    text[begin:end] = re.sub(rb"[^\r\n]", b" ", text[begin:end])


def _with_targets(text: Text, blank: list[Directive]) -> tuple[Directive, ...]:
    """The directives of a text with those that are blank in it."""
    others = text.directives()
    begins_at = [d.begin for d in others]
    found = list(others)
    for directive in blank:
        target = text.outside(_blank(text.clean, text.inside(directive.end)))
        behind = bisect.bisect_right(begins_at, target) - 1
        if behind >= 0 and others[behind].begin <= target < others[behind].end:
            target = others[behind].target
        found.append(replace(directive, target=target))
    return tuple(sorted(found, key=lambda d: d.begin))


def _blank(clean: bytes, position: int) -> int:
    match = _SKIP.match(clean, position)
    return match.end() if match else position


class Lines:
    """Offsets to lines and columns (bytes, from 1)."""

    def __init__(self, content: bytes) -> None:
        self.starts = [0] + [m.end() for m in re.finditer(rb"\n", content)]

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.starts, offset) - 1
        return line + 1, offset - self.starts[line] + 1
