"""Text: directives, lines, ends of statements, messages."""

from __future__ import annotations

from scheduler.frontend import render_diagnostic
from scheduler.frontend.clang.lexical import Lines, Text, active_part, uses_trigraphs
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
    found = Text(text).directives()
    assert [d.text for d in found] == ["#pragma a b", "#define X 1", "#pragma c"]
    assert [text[d.target : d.target + 4] for d in found] == [b"char", b"x;\n", b"x;\n"]


def test_what_conditionals_leave_out() -> None:
    text = b"""#if A
  #pragma one
  #if B
  x;
  #endif
#elif \\
   C
#else
  #pragma two
  #if D
    #if E
    #endif
    y;
  #else
    z;
  #endif
#endif
"""
    first, second = (text.index(b"#if A"), text.index(b"#else") + 5), (text.index(b"#if D"), text.rindex(b"#else") + 5)
    active, found = active_part(text, Text(text).directives(), [first, second])
    assert len(active) == len(text) and active.split() == [b"#pragma", b"two", b"z;"]
    assert active.count(b"\n") == text.count(b"\n")
    assert [d.text for d in found] == ["#if A", "#pragma two", "#if D", "#endif", "#endif"]
    assert {text[d.target : d.target + 2] for d in found[:-2]} == {b"z;"}


def test_lines() -> None:
    lines = Lines(b"ab\ncd\r\n\n")
    assert [lines.position(k) for k in (0, 2, 3, 5, 7)] == [(1, 1), (1, 3), (2, 1), (2, 3), (3, 1)]


def test_semicolons() -> None:
    assert Text(b"x = 1 /* ; */ // ;\n ; y").past_semicolon(5) == 21
    assert Text(b"x = 1 }").past_semicolon(5) == 5


def test_for_headers() -> None:
    text = b"for /* ; */ (i = f(';', \";\"); i < (n); i++ /* ; */) x;"
    found = Text(text).for_header(0)
    assert found is not None
    assert text[found[0] :].startswith(b"; i < (n)") and text[found[1] :].startswith(b"; i++")
    assert Text(b"FOR (;;)").for_header(0) is None
    assert Text(b"for (LOOP(i))").for_header(0) is None
    assert Text(b"for (;").for_header(0) is None


def test_what_stands_before_a_statement() -> None:
    for text, name, call in (
        (b"; for", "", ""),
        (b"else for", "else", ""),
        (b"PAR for", "PAR", ""),
        (b"PAR // x\n\n /* y\n */ for", "PAR", ""),
        (b"#define X \\\n Y\nfor", "", ""),
        (b"PAR\n#define X \\\n Y\nfor", "PAR", ""),
        (b"x; // PAR\nfor", "", ""),
        (b"PAR(omp for) // (x)\n /* y */ for", "", "PAR"),
        (b'PAR("a)", (b)) for', "", "PAR"),
        (b"for", "", ""),
    ):
        at = text.rindex(b"for")
        assert (Text(text).name_before(at), Text(text).call_before(at)) == (name, call), text


def test_comments_and_operators_in_directives() -> None:
    text = b"""#pragma a /* b */ c // d \
 e
#define S "/* s */ // t" /* u
 v */ w
_Pragma("a /* b */ \\"x\\" // c") _Pragma /* y */ ( // z
 "d") f(_Pragma("e")) my_Pragma("g"); '_Pragma("h")'
"""
    found = Text(text).directives()
    assert [d.text for d in found] == ["#pragma a c", '#define S "/* s */ // t" w', '#pragma a "x"', "#pragma d"]
    assert {text[d.target :][:2] for d in found} == {b"f("}
    active, again = active_part(text, found, [])
    assert again == found and len(active) == len(text) and b'f(_Pragma("e"))' in active
    assert active.count(b"_Pragma") == 3 and active.count(b"\n") == text.count(b"\n")


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


def test_spliced_and_trigraph_text() -> None:
    text = b"fo\\\nr \\\n(x[0??) = ';'; i <\\ \r\n: 0 :> < n; i++) y ??/\n; ??=z\n ??=define A ??/\n 1\n"
    found = Text(text, trigraphs=True)
    header = found.for_header(0)
    assert header is not None and [text[at:][:3] for at in header] == [b"; i", b"; i"]
    end = text.index(b"y") + 1
    assert found.past_semicolon(end) == text.index(b"; ??=z") + 1
    assert [d.text for d in found.directives()] == ["#define A 1"]
    assert found.behind(found.inside(text.index(b"??=z")) + 1) == text.index(b"??=z") + 3
    assert Text(text).directives() == ()


def test_directives_in_digraphs_and_behind_comments() -> None:
    text = b"/* a\n */ %: pragma omp /* b\n */ for\nx; /*\n*/ #no\n"
    assert [d.text for d in Text(text).directives()] == ["#pragma omp for"]


def test_many_comments_take_no_time() -> None:
    text = b"\n" + b"/* a */ " * 60 + b"x /* b */ #no\n"
    assert Text(text).directives() == ()


def test_past_call() -> None:
    text = b"A S (f(1), ')') /* x */ ; U ; T(2)(3);"
    found = Text(text)
    assert [found.past_call(text.index(name)) for name in (b"S", b"U", b"T")] == [15, 27, 36 + 1]


def test_which_flags_mean_trigraphs() -> None:
    assert uses_trigraphs(["-std=c99"]) and uses_trigraphs(["-std=gnu99", "-trigraphs"]) and uses_trigraphs(["-ansi"])
    assert not uses_trigraphs(["-std=gnu11"]) and not uses_trigraphs([]) and not uses_trigraphs(["-std=c2x"])
