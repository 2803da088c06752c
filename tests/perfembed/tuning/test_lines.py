"""What a written file says of its lines: every one outside of the new loops has the number and the name it had."""

import subprocess
from pathlib import Path

import pytest

from perfembed.building.text import under_name
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.frontend import ParseOptions, read_source
from tests.rewriting import identity, read, surveyed

PRINTED = r"""#include <stdio.h>
#define SAY printf("%s:%d %s %d\n", __FILE__, __LINE__, __BASE_FILE__, __COUNTER__)
#define BOTH(a, b) (a, b)
static double A[100]; static int early = __LINE__;
#include <stdlib.h>
static void sum(int n) { double s = 0; SAY; for (int i = 0; i < n; i++) s += A[i]; SAY; printf("%g\n", s); }
static void fill(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) {
            A[i] += i - j; // not __LINE__
        } SAY; /* a
    comment */ SAY; for (int i = 0; i < n; i++) A[i] += 1;
    SAY; for (int i = 0; i < n; i++)
        A[i] *= 2; \
    SAY;
    (void)BOTH(SAY,
        SAY);
}
LINE
int main(void) { SAY; fill(99); SAY; sum(100); printf("%d\n", early);
    for (int k = 0; k < 3; k++) A[k] = 1;
    SAY; return 0; }
"""
CASES = {
    "plain": PRINTED,
    "generated": PRINTED.replace("LINE\n", '#line 7 "rules.y"\n', 1),
    "many lines": "#line 40000\n" + PRINTED,
    "windows": PRINTED.replace("\n", "\r\n"),
    "nothing behind": PRINTED.rstrip("\n"),
    "mark": "\ufeff" + PRINTED,
    "known": PRINTED.replace("LINE\n", '#if X\n#line 5\n#endif\n#line 70 "other.y"\n', 1),
}


def said(source: Path, folder: Path, *flags: str) -> bytes:
    program = folder / "program"
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fopenmp", *flags, source.name, "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    return subprocess.run([program], check=True, capture_output=True).stdout


@pytest.mark.gcc
@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_lines_and_names(text: str, tmp_path: Path) -> None:
    text = text.replace("\nLINE", "\n")
    path = tmp_path / "a.c"
    source = read(path, text.encode())
    assert len(source.nests) == 5
    before = said(path, tmp_path)
    written = identity(source)
    assert written.count(b"/* perfembed") == 5
    path.write_bytes(written)
    assert said(path, tmp_path) == before  # in place
    assert said(path, tmp_path, "-fsigned-char", "-Dlong=long") == before  # the original loops
    other = tmp_path / "b.c"
    other.write_bytes(under_name(written, "a.c"))
    assert said(other, tmp_path) == before.replace(b" a.c", b" b.c")  # __BASE_FILE__ cannot be kept
    path.write_bytes(text.encode())
    again = identity(read(path, written))
    assert again.count(b"/* perfembed") >= 5
    path.write_bytes(again)
    assert said(path, tmp_path) == before


@pytest.mark.gcc
def test_the_original_keeps_its_lines(tmp_path: Path) -> None:
    content = b"""double A[99];
int main(void)
{
    for (int i = 0; i < 99; i++)
        A[i] = i;
    return 0;
}
"""
    written = identity(read(tmp_path / "a.c", content))
    inside = written.replace(b"A[i] = i", b"A[i] = __LINE__")
    assert inside != written
    (tmp_path / "b.c").write_bytes(inside)
    text = subprocess.run(["gcc", "-E", "-P", str(tmp_path / "b.c")], check=True, capture_output=True).stdout
    assert text.count(b"A[i] = 5") == 1


@pytest.mark.gcc
@pytest.mark.parametrize("line", ["#if X\n#line 500\n#endif\n", "#line N\n"])
def test_unknown_numbers(line: str, tmp_path: Path) -> None:
    """Where nobody knows what numbers lines have elsewhere, the nests behind stay."""
    nest = "{ for (int i = 0; i < 99; i++) A[i] = i; }\n"
    content = f"#define N 7\ndouble A[99];\nvoid f(void) {nest}{line}void g(void) {nest}".encode()
    path = tmp_path / "a.c"
    path.write_bytes(content)
    tests = surveyed(read_source(path, ParseOptions(()), content)).tests
    assert isinstance(tests["f_0"], AssumptionTests)
    assert "numbers" in getattr(tests["g_0"], "reason", "")


def test_our_messages_tell_the_real_lines(tmp_path: Path) -> None:
    content = b'#line 100 "rules.y"\nint g(void);\nvoid f(int *a) {\n  for (int i = 0; i < 9; i++) a[g()] = g();\n}\n'
    content += b"void h(int *a) {\n  for (int i = 0; i < 9; i++) a[i] = i;\n}\n"
    source = read(tmp_path / "a.c", content)
    assert [n.span.line for n in source.nests if n.span] == [7]
    assert [r.span.line for r in source.rejections] == [4]
