"""`inspect --fix`: fixes that were tried, as one patch."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_USAGE, UsageError
from perfembed.inspection.fixing import FixedFile, fix_file
from perfembed.inspection.inspect_file import inspect_source
from perfembed.inspection.shares import LoopShare, RunShares
from perfembed.reading import read_file
from perfembed.report.fixes import render_fixes
from perfembed.report.style import Style
from scheduler.frontend import ParseOptions

pytestmark = pytest.mark.gcc
SOURCE = """\
#include <assert.h>
#include <stdio.h>
static int k;
static double twice(double v) { return 2 * v; }
static double (*const chosen)(double) = twice;

void f(int n, double *a, const double *b, int *x)
{
    for (k = 0; k < n; k++)   /* all */
        a[k] = b[k];
    for (int i = 0; i < n; i++) {
        static double last;  // of all calls
        a[i] += (x[i] = 3, last);
        x[i];
        last = b[i];
        a[i] = chosen(a[i]);
    }
    for (int i = 2; i != n; i += 5)
        a[i] = 0;
}

void g(int n, double *a, const double *b, int *x)
{
    for (int i = 0; i < x[3]; i++)
        x[i + 10] = i;
    for (int i = 0; i < n; i++) {
        a[i] += b[i] + (i > 0 ? a[i - 1] : 0);
        assert(a[i] < 1e9);
    }
    for (int i = 0; i < n; i++)
        printf("%g\\n", a[i]);
}

int main(void)
{
    double a[64] = {0}, b[64] = {1, 2, 3};
    int x[64] = {1, 2, 3, 4, 5};
    f(32, a, b, x);
    g(32, a, b, x);
    printf("%d %d\\n", k, x[12]);
    return 0;
}"""


def fixed(text: str, *, unsafe: bool = False, functions: tuple[str, ...] = (), path: str = "t.c") -> FixedFile:
    return fix_file(path, text.encode(), ParseOptions(), functions, unsafe=unsafe)


def kinds(found: FixedFile) -> list[list[str]]:
    return sorted([kind for kind, _ in offered.changes] for offered in found.fixes)


def test_fixes_of_several_loops() -> None:
    found = fixed(SOURCE)
    chain = ["static-local", "comma", "no-effect", "call-by-name"]
    assert kinds(found) == [["not-equal"], ["shared-iterator"], chain]
    assert {(o.line, o.function) for o in found.fixes} == {(9, "f"), (12, "f"), (18, "f")}
    held = {kind: o for o in found.held_back for kind, _ in o.changes}
    assert set(held) == {"limit-copy", "restrict"} and held["limit-copy"].line == 25
    assert found.flags == {"-DNDEBUG": 1} and found.complete
    assert b"// of all calls" in found.content and b"/* all */" in found.content
    before, after = (
        inspect_source(read_file("t.c", text, ParseOptions())) for text in (SOURCE.encode(), found.content)
    )
    assert len(before.refused) - len(after.refused) == 3


def test_what_is_the_same_under_a_condition_is_asked_for() -> None:
    found = fixed(SOURCE, unsafe=True)
    assert ["limit-copy"] in kinds(found) and ["restrict"] in kinds(found) and not found.held_back
    assert b"const int limit = x[3];" in found.content and b"*restrict a" in found.content


def test_functions() -> None:
    assert kinds(fixed(SOURCE, functions=("g",))) == []
    assert len(fixed(SOURCE, functions=("f",)).fixes) == 3
    with pytest.raises(UsageError):
        fixed(SOURCE, functions=("h",))


def test_a_loop_that_stays_refused_is_left_as_it_is() -> None:
    """Not half of a fix: the comma goes only together with what else is in the way."""
    text = "int rand(void);\nvoid f(int n, double *a, int *x)\n{\n    for (int i = 0; i < n; i++) {\n"
    found = fixed(text + "        a[i] = (x[i] = 3, 2.0);\n        a[i] += rand();\n    }\n}\n")
    assert not found.fixes and found.content == found.original and found.diff() == b""
    assert kinds(fixed(text + "        a[i] = (x[i] = 3, 2.0);\n        a[i] += (x[i] = 4, 5.0);\n    }\n}\n")) == [
        ["comma"]
    ]


@pytest.mark.parametrize("form", ["plain", "crlf", "no-last-line"])
def test_the_patch_applies_and_the_program_prints_the_same(form: str, tmp_path: Path) -> None:
    text = SOURCE if form == "no-last-line" else f"{SOURCE}\n"
    content = text.replace("\n", "\r\n").encode() if form == "crlf" else text.encode()
    path = tmp_path / "src" / "t.c"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        found = fix_file("src/t.c", content, ParseOptions())
        difference = found.diff()
    assert difference.startswith(b"--- a/src/t.c\n+++ b/src/t.c\n@@")
    assert (b"\r\n" in content) == (found.content.count(b"\r\n") == found.content.count(b"\n"))
    printed = []
    for step in ("before", "after"):
        command = ["gcc", "-Wall", "-O1", str(path), "-o", str(tmp_path / step), "-lm"]
        built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        ran = subprocess.run([tmp_path / step], capture_output=True, timeout=20, check=True)
        printed.append((ran.stdout, built.stderr.count("warning:")))
        if step == "before":
            tool = ["git", "apply", "-"] if shutil.which("patch") is None else ["patch", "-p1", "--binary"]
            subprocess.run(tool, input=difference, cwd=tmp_path, check=True, timeout=20)
            assert path.read_bytes() == found.content
    assert printed[0][0] == printed[1][0] and printed[1][1] <= printed[0][1]


def test_what_a_fix_frees_of_a_run() -> None:
    found = fixed(SOURCE, functions=("f",))
    inspection = inspect_source(read_file("t.c", SOURCE.encode(), ParseOptions()))
    cost = {9: 0.125, 12: 0.5}
    loops = tuple(
        LoopShare(
            "", r.reason, r.advice, r.function, r.span.line, r.span.column, cost.get(r.span.line, 0.0), 0.5, "t.c"
        )
        for r in inspection.refused
    )
    shown = render_fixes(found, RunShares(8, 1, 1.0, 1.0, loops, 0.1), Style(False)).splitlines()
    assert shown[0] == "t.c: 3 fixes"
    assert shown[1] == "  t.c:12:9 in f: 'last' is static inside the loop (frees 50.0 % of the run)"
    assert "    a statement without effect is removed [no-effect]" in shown
    assert "  t.c:9:5 in f: the iterator 'k' is not local (frees 12.5 % of the run)" in shown
    assert "(frees" not in render_fixes(found, None, Style(False))


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.c").write_text(SOURCE)
    assert main(["inspect", "t.c", "--fix"], Session({})) == EXIT_DONE
    out, told = capfdbinary.readouterr()
    assert out.startswith(b"--- a/t.c\n+++ b/t.c\n@@") and b"+    int k_own;\n" in out and b"limit" not in out
    assert told.startswith(b"t.c: 3 fixes\n") and b"2 fixes more with --unsafe" in told
    assert b"    the same where what the loop stores does not change 'x[3]'\n" in told
    assert b"compiled with -DNDEBUG, 1 refused loop more can be read" in told
    assert Path("t.c").read_text() == SOURCE
    assert main(["inspect", "t.c", "--fix", "--unsafe", "-o", "fixed.c"], Session({})) == EXIT_DONE
    out, told = capfdbinary.readouterr()
    assert not out and b"t.c: 5 fixes" in told and b"*restrict a" in Path("fixed.c").read_bytes()
    assert Path("t.c").read_text() == SOURCE


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fix", "-o", "t.c"),
        ("--unsafe",),
        ("-o", "fixed.c"),
        ("--fix", "--json"),
        ("--fix", "--summary"),
        ("--fix", "t.c"),
    ],
)
def test_commands_that_there_are_not(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.c").write_text(SOURCE)
    assert main(["inspect", "t.c", *arguments], Session({})) == EXIT_USAGE
    assert Path("t.c").read_text() == SOURCE and not Path("fixed.c").exists()
