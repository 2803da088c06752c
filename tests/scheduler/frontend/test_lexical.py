"""Text: directives, lines, ends of statements, messages."""

from __future__ import annotations

from scheduler.frontend import render_diagnostic
from scheduler.frontend.lexical import Lines, directives, for_header, past_semicolon, preceded_by_macro
from scheduler.ir.nest import Span


def test_directives() -> None:
    text = b"""#pragma a \\
  b
// #not
/* #not
#not */
char *s = "\\
#not";
  #  define X 1
#pragma c
x;
"""
    found = directives(text)
    assert [d.text for d in found] == ["#pragma a b", "#define X 1", "#pragma c"]
    assert [text[d.target : d.target + 4] for d in found] == [b"char", b"x;\n", b"x;\n"]


def test_lines() -> None:
    lines = Lines(b"ab\ncd\r\n\n")
    assert [lines.position(k) for k in (0, 2, 3, 5, 7)] == [(1, 1), (1, 3), (2, 1), (2, 3), (3, 1)]


def test_semicolons() -> None:
    assert past_semicolon(b"x = 1 /* ; */ // ;\n ; y", 5) == 21
    assert past_semicolon(b"x = 1 }", 5) == 5


def test_for_headers() -> None:
    text = b"for /* ; */ (i = f(';', \";\"); i < (n); i++ /* ; */) x;"
    found = for_header(text, 0)
    assert found is not None
    assert text[found[0] :].startswith(b"; i < (n)") and text[found[1] :].startswith(b"; i++")
    assert for_header(b"FOR (;;)", 0) is None
    assert for_header(b"for (LOOP(i))", 0) is None
    assert for_header(b"for (;", 0) is None


def test_preceded_by_macro() -> None:
    for text, expected in (
        (b"; for", False),
        (b"else for", False),
        (b"PAR for", True),
        (b"PAR // x\n\n /* y\n */ for", True),
        (b"#define X \\\n Y\nfor", False),
        (b"x; // PAR\nfor", False),
        (b"for", False),
    ):
        assert preceded_by_macro(text, text.rindex(b"for")) == expected, text


def test_messages() -> None:
    content = b"int x;\n\tfor (;;) \xc3\xa9;\r\n"
    text = render_diagnostic(content, Span("a.c", 8, 20, 2, 2), "no condition", "add one")
    assert text.split("\n") == [
        "a.c:2:2: no condition",
        "    2 | \tfor (;;) é;",
        "      | \t^",
        "        help: add one",
    ]
    assert render_diagnostic(b"", Span("a.c", 0, 0, 9, 1), "gone", "") == "a.c:9:1: gone"
