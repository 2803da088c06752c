"""Edits the user's file in place: every byte outside the edited nests and the helper block stays."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scheduler.codegen.emit.text import INDENT, VERBATIM, indented
from scheduler.frontend.clang.lexical import Text
from scheduler.frontend.clang.numbering import line_directive

_WIDTH = 100
Edit = tuple[int, int, str]  # [begin, end) in bytes, new text with "\n" lines and four-space indents


# Where isl makes loops of their own for some iterations, not all that is computed in them need be used.
_SET_ONLY = (
    "#if !defined __clang__ || __clang_major__ >= 13",
    '#pragma GCC diagnostic ignored "-Wunused-but-set-variable"',
    "#endif",
)
_DECLARED = re.compile(r"^ *[a-z_][\w ]* \w+;$", re.MULTILINE)
# gcc follows a block that is copied in one iteration and read in the next no farther.
_UNPACKED = ("#ifndef __clang__", '#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"', "#endif")


def nest_text(
    new: str,
    original: bytes,
    comment: str,
    condition: str | None,
    directive: str = "",
    values: tuple[str, ...] = (),
    numbers: tuple[int, int] | None = None,
    tuned: str = "pe_tuned",
) -> str:
    """What stands in place of a nest: the new code, behind the tests of what it takes for granted, and the old one.

    `original` is the user's text of the nest, which runs as it is where the `condition` is false, and all there is
    where the preprocessor finds the `directive` false, or the macro `tuned` not defined (`guarded`). `values`:
    declarations of what the condition and the new code use. `numbers`: those that the first and the last line of the
    original have for the compiler, which it keeps, as does what follows.
    """
    if b"\0" in original:
        raise ValueError("a nest with a NUL byte")
    note = f"/* {comment.replace('*/', '* /')} */\n"
    first_number, behind = "", ""
    if numbers is not None:
        first_number, behind = line_directive(numbers[0]) + "\n", f"\n{line_directive(numbers[1])}\n"
    pieces = new.rstrip("\n").split(VERBATIM)
    for k in range(0, len(pieces), 2):
        first, *rest = pieces[k].split("\n")
        pieces[k] = "\n".join([*(indented([first]) if k == 0 else [first]), *indented(rest)])
        if k + 1 < len(pieces):
            pieces[k] += first_number
    body = VERBATIM.join(pieces)
    head = f"#if defined {tuned}{' && ' if directive else ''}{directive}"
    return "\n".join(
        (
            "{",
            f"{note}{head}",
            "#pragma GCC diagnostic push",
            '#pragma GCC diagnostic ignored "-Wunknown-pragmas"',
            *(_UNPACKED if "_pack" in body else ()),
            *(_SET_ONLY if _DECLARED.search(body) else ()),
            *values,
            f"if ({condition or 1}) {{",
            body,
            "#pragma GCC diagnostic pop",
            "} else",
            "#endif",
            "{",
            f"{first_number}{VERBATIM}{original.decode('latin-1')}{VERBATIM}",
            "}",
            "}" + behind,
        )
    )


def guarded(definitions: str, condition: str, tuned: str = "pe_tuned") -> str:
    """File-scope definitions for the code of nests, and `tuned`, where the preprocessor finds the condition true."""
    note = "/* Where this does not hold, the loops run as they were written. */"
    lines = ["#if"]
    for part in condition.split(" && "):
        if len(lines[-1]) + len(part) > _WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {part} &&"
    lines[-1] = lines[-1].removesuffix(" &&")
    return "\n".join([note, f"#undef {tuned}", *lines, f"#define {tuned}", definitions.rstrip("\n"), "#endif"]) + "\n"


def splice(content: bytes, replacements: Iterable[Edit], header: str = "", trigraphs: bool = False) -> bytes:
    """The file with the replacements made and `header` (helper definitions) put in once.

    Raises ValueError for overlapping replacements or ones outside the file.
    """
    return spliced(content, replacements, header, trigraphs)[0]


def spliced(
    content: bytes, replacements: Iterable[Edit], header: str = "", trigraphs: bool = False
) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """`splice`, and by the begin of each replacement (and of the header) the bytes [begin, end) of the new file that
    its text is.
    """
    text = content.decode("latin-1")
    edits = sorted(replacements)
    if not edits:
        return content, {}
    end_of_line = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    place = header_position(content, edits[0][0], trigraphs) if header else 0
    result: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    position = length = 0
    for begin, end, new in [*([(place, place, header)] if header else []), *edits]:
        if begin < position or end < begin or end > len(text):
            raise ValueError(f"bad or overlapping edit of bytes {begin} to {end}")
        result.append(text[position:begin])
        if header and (begin, end, new) == (place, place, header):
            before = "" if place == 0 or text[place - 1] == "\n" else end_of_line
            result.append(before + header.rstrip("\n").replace("\n", end_of_line) + end_of_line)
        else:
            result.append(_placed(new, _indentation(text, begin), end_of_line))
        length += begin - position + len(result[-1])
        places[begin] = length - len(result[-1]), length
        position = end
    result.append(text[position:])
    return "".join(result).encode("latin-1"), places


def _indentation(text: str, begin: int) -> str:
    start = text.rfind("\n", 0, begin) + 1
    match = re.match(r"[ \t]*", text[start:begin])
    return match.group() if match else ""


def _placed(new: str, indentation: str, end_of_line: str) -> str:
    """The new text at its place: tabs where the surroundings use tabs."""
    tabs = "\t" in indentation
    pieces: list[str] = []
    for number, piece in enumerate(new.split(VERBATIM)):
        if number % 2:
            pieces.append(indentation + piece)
            continue
        lines = piece.encode("utf-8").decode("latin-1").split("\n")
        for k, line in enumerate(lines):
            stripped = line.lstrip(" ")
            depth = (len(line) - len(stripped)) // len(INDENT)
            lead = ("\t" * depth if tabs else INDENT * depth) + " " * ((len(line) - len(stripped)) % len(INDENT))
            if stripped and (k or number):
                lead = indentation + lead
            lines[k] = lead + stripped if stripped else ""
        pieces.append(end_of_line.join(lines))
    return "".join(pieces)


_TOKEN = re.compile(
    r"""/\*.*?\*/|//(?:\\\r?\n|[^\n])*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\\\r?\n|\n|%:|[{}();]|[^\s]|[^\S\n]+""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"(?:#|%:)(?:[ \t\v\f]|/\*.*?\*/)*+(\w*)", re.DOTALL)


def header_position(content: bytes, limit: int, trigraphs: bool = False) -> int:
    """Where file-scope definitions may stand: after the last top-level #include before `limit`.

    Not inside a comment, an #if block, a function or a declaration; after the #endif of a block with includes.
    """
    clean = Text(content, trigraphs)
    place = _header_position(clean.clean.decode("latin-1"), clean.inside(limit))
    return clean.behind(place) if place > 3 else place  # a byte order mark, or the beginning


def _header_position(text: str, limit: int) -> int:
    best = 3 if text.startswith("\xef\xbb\xbf") else 0
    depth = parentheses = conditions = 0
    pending = False  # an include inside an #if block waits for its #endif
    last = ";"  # the last character of code, to see whether a declaration is complete
    at_line_start = True
    position = best
    while position < limit:
        match = _TOKEN.match(text, position)
        if match is None:
            break
        token = match.group()
        if at_line_start and token in ("#", "%:"):
            end = _directive_end(text, position)
            word = _DIRECTIVE.match(text, position)
            name = word.group(1) if word else ""
            top = depth == 0 and parentheses == 0 and last in ";}"
            conditions += (name in ("if", "ifdef", "ifndef")) - (name == "endif")
            if name == "include":
                pending = pending or (conditions > 0 and top)
            if top and end <= limit and conditions == 0 and (name == "include" or (name == "endif" and pending)):
                best, pending = end, False
            position = end
            continue
        if token == "\n":
            at_line_start = True
        elif not token.isspace() and not token.startswith(("/*", "//", "\\")):
            at_line_start = False
            depth += (token == "{") - (token == "}")
            parentheses += (token == "(") - (token == ")")
            last = token[-1]
        position = match.end()
    return best


def _directive_end(text: str, position: int) -> int:
    """Behind the newline that ends a preprocessor directive, its continuation lines and comments."""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return len(text)
        position = match.end()
        if match.group() == "\n":
            return position
    return position
