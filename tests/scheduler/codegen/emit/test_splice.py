"""Edits of the user's file leave every other byte alone."""

import pytest

from scheduler.codegen.emit.splice import header_position, nest_text, splice, spliced
from scheduler.codegen.emit.text import VERBATIM

SOURCE = b"""/* #include <fake.h> */
#define _GNU_SOURCE
#include <stdio.h>
#ifdef X
#include <x.h> /* multi
line */
#endif
static const char *s = "#include \\"no\\" /*";
void f(int n, double *a)
{
\tfor (int i = 0; i < n; i++)\t// caf\xe9
\t\ta[i] = 0;
}
"""


def spans(source: bytes, first: bytes, last: bytes) -> tuple[int, int]:
    begin = source.index(first)
    return begin, source.index(last, begin) + len(last)


def test_replaces_only_the_nest() -> None:
    begin, end = spans(SOURCE, b"for (int i", b"= 0;\n")
    end -= 1
    new = nest_text(
        "for (long i = 0; i < n; i++) {\n    a[i] = 0;\n}\n", SOURCE[begin:end], "tile", "n > 0", "defined X"
    )
    result = splice(SOURCE, [(begin, end, new)], "#include <omp.h>\nint pe_x;\n")
    place = SOURCE.index(b"static const")
    assert result.startswith(SOURCE[:place] + b"#include <omp.h>\nint pe_x;\n" + SOURCE[place:begin])
    assert result.endswith(SOURCE[end:])
    assert result[: result.rindex(SOURCE[end:])].endswith(
        b"\t{\n\t/* tile */\n\t#if defined pe_tuned && defined X\n\t#pragma GCC diagnostic push\n"
        b'\t#pragma GCC diagnostic ignored "-Wunknown-pragmas"\n'
        b"\tif (n > 0) {\n\t\tfor (long i = 0; i < n; i++) {\n\t\t\ta[i] = 0;\n\t\t}\n"
        b"\t#pragma GCC diagnostic pop\n\t} else\n\t#endif\n\t{\n"
        b"\tfor (int i = 0; i < n; i++)\t// caf\xe9\n\t\ta[i] = 0;\n\t}\n\t}"
    )


def test_tells_where_the_new_texts_are() -> None:
    source = b"#include <a.h>\nint f(void)\n{\n  one;\n  two;\n}\n"
    (first, first_end), (second, second_end) = spans(source, b"one", b"one;"), spans(source, b"two", b"two;")
    edits = [(second, second_end, "{\n    second();\n}"), (first, first_end, "{\n    first();\n}")]
    result, places = spliced(source, edits, "int pe;\n")
    assert result == splice(source, edits, "int pe;\n")
    assert result[slice(*places[first])] == b"{\n      first();\n  }"
    assert result[slice(*places[second])] == b"{\n      second();\n  }"
    assert spliced(source, []) == (source, {})


def test_line_ends_of_the_file() -> None:
    source = b"#include <a.h>\r\nvoid f(void)\r\n{\r\n  for (;;)\r\n    ;\r\n}\r\n"
    begin, end = spans(source, b"for", b"    ;")
    result = splice(source, [(begin, end, nest_text("a;\nb;", b"x", "c", None))], "int pe;\n")
    assert b"\r\n" in result and result.count(b"\n") == result.count(b"\r\n")
    assert b"#include <a.h>\r\nint pe;\r\nvoid" in result
    assert b"  if (1) {\r\n      a;\r\n      b;\r\n" in result and b"  {\r\n  x\r\n  }\r\n  }\r\n}" in result


def test_no_edits_no_change() -> None:
    assert splice(SOURCE, [], "int x;") == SOURCE


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError):
        splice(SOURCE, [(0, 10, "a"), (5, 12, "b")])
    with pytest.raises(ValueError):
        splice(SOURCE, [(0, 100000, "a")])


@pytest.mark.parametrize(("source", "before"), [
    ("int main() { for (;;); }", "int main"),
    ("#include <a.h>\nint x;\n#include <b.h>\nint f() { for", "int f"),
    ("#include <a.h>\nint f() {\n#include \"body.h\"\n for", "int f"),
    ("#include <a.h>\nint t[] = {\n#include \"t.h\"\n};\nint f() { for", "int t"),
    ("#include <a.h>\nint t =\n#include \"t.h\"\n;\nint f() { for", "int t"),
    ("#if 1\n#include <a.h>\n#endif\nint f() { for", "int f"),
    ("#ifndef H\n#include <a.h>\nint f() { for", "#ifndef"),
    ("#include <a.h> // c\\\n#include <no.h>\nint f() { for", "int f"),
    ("#include <a.h>\n/*\n#include <no.h>\n*/\nint f() { for", "/*"),
    ("#include <a.h>", ""),
])  # fmt: skip
def test_header_position(source: str, before: str) -> None:
    limit = source.index("for") if "for" in source else len(source)
    assert source[header_position(source.encode(), limit) :].startswith(before)


def test_original_inside_the_new_code_stays_verbatim() -> None:
    new = f"if (p) {{\n    a;\n}} else {{\n{VERBATIM}x;\t// \xe9\r\n  y;{VERBATIM}\n}}"
    result = splice(b"f() {\n  nest\n}", [(8, 12, nest_text(new, b"o", "c", None))])
    assert b"      } else {\n" in result and b"x;\t// \xe9\r\n  y;\n      }" in result


def test_nul_bytes_are_refused() -> None:
    with pytest.raises(ValueError):
        nest_text("a;", b"b\0", "c", None)


@pytest.mark.parametrize(
    "directive", ["#include <a.h>", "#inc\\\nlude <a.\\ \nh>", "%: /* x\n */ include <a.h>", "\\\n#include \\\r\n<a.h>"]
)
def test_the_header_stands_behind_includes_however_they_are_spelled(directive: str) -> None:
    source = f"int a;\n{directive}\nint b;\n".encode()
    assert source[header_position(source, len(source)) :] == b"int b;\n"


def test_trigraphs_in_front_of_the_header() -> None:
    source = b"??=include <a.??/\nh>\nint b;\n"
    assert source[header_position(source, len(source), True) :] == b"int b;\n"
    assert header_position(source, len(source)) == 0
