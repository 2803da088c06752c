"""The instrumented program: same meaning, right counts, failures with a reason."""

from pathlib import Path

import pytest

from perfembed.capture import ProgramFailed, ProgramProfile
from perfembed.capture.instrument import Around, wrap
from profilers.build import CompilerConfig
from profilers.contained.child import Limits
from tests.perfembed.capture_support import LIMITS, good_profile, marked, profiled

SUM = """nest {name} {{
  param n: int;
  array a: double[n] pointer;
  array s: double local;
  for i: int in [0, n) step 1 {{
    S0: s[] += a[i];
  }}
}}
"""


def sum_nest(name: str = "sum") -> str:
    return SUM.format(name=name).replace("s[]", "s")


PROGRAM = """#include <stdio.h>
static double sum(int n, const double *a)
{
    double s = 0.0;
    /*<*/for (int i = 0; i < n; i++)
        s += a[i];/*>*/
    return s;
}
int main(int argc, char **argv)
{
    static double a[20000];
    double total = 0.0;
    (void)argv;
    for (int i = 0; i < 20000; i++) a[i] = i % 7;
    total += sum(10, a);
    for (int r = 0; r < 40; r++) total += sum(20000 - (r == 3), a);
    printf("%.17g %d\\n", total, argc);
    return 0;
}
"""


@pytest.mark.gcc
def test_counts_calls_and_finds_the_typical_one(tmp_path: Path) -> None:
    source = marked(tmp_path / "sum.c", PROGRAM, sum_nest())
    profile = good_profile(source, tmp_path / "work", "one", "two")
    nest = profile.nest("sum")
    assert profile.stdout.split()[1] == b"3"
    assert profile.exit_code == 0
    assert nest.calls == 41
    assert nest.distinct == 3
    assert nest.typical_call not in (None, 1, 5)
    assert nest.values == {"n": 20000}
    assert 0 < nest.typical_seconds <= nest.seconds < profile.wall_s
    assert 0 < nest.share < 1
    assert nest.other_threads == 0


@pytest.mark.gcc
def test_many_calls_keep_a_sample(tmp_path: Path) -> None:
    text = PROGRAM.replace("r < 40", "r < 100000").replace("20000 - (r == 3)", "r % 50 + 1")
    nest = good_profile(marked(tmp_path / "sum.c", text, sum_nest()), tmp_path / "work").nest("sum")
    assert nest.calls == 100001
    assert 2 <= nest.distinct <= 51
    assert nest.typical_call is not None and 1 <= nest.values["n"] <= 50


@pytest.mark.gcc
def test_time_inside_of_another_nest_is_told_apart(tmp_path: Path) -> None:
    text = """#include <stdio.h>
static double a[20000];
double sum(int n) { double s = 0; /*<*/for (int i = 0; i < n; i++) s += a[i];/*>*/ return s; }
int main(void)
{
    double s = 0; int n = 200;
    /*<*/for (int i = 0; i < n; i++) s += sum(20000);/*>*/
    for (int r = 0; r < 50; r++) s += sum(20000);
    printf("%g\\n", s);
    return 0;
}
"""
    source = marked(tmp_path / "sum.c", text, sum_nest("inner"), sum_nest("outer"))
    profile = good_profile(source, tmp_path / "work")
    inner, outer = profile.nest("inner"), profile.nest("outer")
    assert inner.calls == 250 and outer.calls == 1 and outer.inside == 0.0
    assert 0.5 * inner.share < inner.inside < inner.share


@pytest.mark.gcc
def test_a_nest_that_is_left_by_return_or_goto_has_ended(tmp_path: Path) -> None:
    text = """#include <stdio.h>
static double a[20000];
double sum(int n)
{
    double s = 0;
    /*<*/for (int i = 0; i < n; i++) { if (a[i] < 0) { if (n % 2) return -1; goto out; } s += a[i]; }/*>*/
    return s;
out:
    return -2;
}
int main(void)
{
    double s = 0;
    for (int r = 0; r < 50; r++) { a[30] = r % 5 ? 1 : -1; s += sum(20000 - r % 2); }
    printf("%g\\n", s);
    return 0;
}
"""
    nest = good_profile(marked(tmp_path / "sum.c", text, sum_nest()), tmp_path / "work").nest("sum")
    assert (nest.calls, nest.distinct) == (50, 2)
    assert 0 < nest.share < 1


@pytest.mark.gcc
def test_a_nest_that_is_never_run(tmp_path: Path) -> None:
    text = PROGRAM.replace("r < 40", "r < 0").replace("total += sum(10, a);", "")
    nest = good_profile(marked(tmp_path / "sum.c", text, sum_nest()), tmp_path / "work").nest("sum")
    assert (nest.calls, nest.typical_call, nest.share, dict(nest.values)) == (0, None, 0.0, {})


@pytest.mark.gcc
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_unbraced_places_pragmas_and_lines_stay(tmp_path: Path, newline: bytes) -> None:
    """An else must find its if, a pragma its loop, __LINE__ its line, and a BOM must not matter."""
    text = """#include <stdio.h>
#include <assert.h>
int main(int argc, char **argv)
{
    static double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    double s = 0; int n = 8;
    (void)argv;
    if (argc > 1)
        /*<*/for (int i = 0; i < n; i++) s += a[i]/*>*/;
    else
        #pragma GCC ivdep
        /*<*/for (int i = 0; i < n; i++) s += a[i];/*>*/ /* not more */
    switch (argc) { default: /*<*/for (int i = 0; i < n; i++) { s += a[i]; }/*>*/ }
    if (!argc) ; else do /*<*/for (int i = 0; i < n; i++) s += a[i];/*>*/ while (0);
    printf("%g %d %s\\n", s, __LINE__, __FILE__);
    return 0;
}
"""
    content = b"\xef\xbb\xbf" + text.encode().replace(b"\n", newline)
    source = marked(tmp_path / "odd name é.c", content, *(sum_nest(f"n{k}") for k in range(4)))
    profile = good_profile(source, tmp_path / "work")
    assert profile.stdout.decode() == f"108 15 {source.path}\n"
    assert [nest.calls for nest in profile.nests] == [0, 1, 1, 1]


@pytest.mark.gcc
def test_include_next_to_the_file_input_and_working_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "size.h").write_text("#define SIZE 5\n")
    (tmp_path / "src" / "data.txt").write_text("7")
    text = """#include "size.h"
#include <stdio.h>
static double a[SIZE];
int main(void)
{
    double s = 0, x = 0, y = 0; int n = SIZE;
    FILE *f = fopen("data.txt", "r");
    if (!f || fscanf(f, "%lf", &x) != 1 || scanf("%lf", &y) != 1) return 3;
    a[0] = x; a[1] = y;
    /*<*/for (int i = 0; i < n; i++) s += a[i];/*>*/
    printf("%g\\n", s);
    return 0;
}
"""
    source = marked(tmp_path / "src" / "file.c", text, sum_nest())
    (tmp_path / "input").write_text("35\n")
    profile = profiled(source, tmp_path / "work", stdin=tmp_path / "input")
    assert isinstance(profile, ProgramProfile), profile
    assert profile.stdout == b"42\n"
    assert profile.nest("sum").values == {"n": 5}


@pytest.mark.gcc
def test_unsigned_values_and_integer_scalars(tmp_path: Path) -> None:
    text = """static double a[4]; double s; unsigned char flag = 200;
int main(void)
{
    unsigned long n = 4, big = 0xffffffffffffffffUL; struct { int k; } t = {-7};
    /*<*/for (unsigned long i = 0; i < n; i++) s += a[i] + flag + t.k + big;/*>*/
    return 0;
}
"""
    ir = """nest one {
  param n: unsigned long;
  param big: unsigned long;
  array a: double[n];
  array s: double;
  array flag: unsigned char;
  array tk: int local base "t.k";
  for i: unsigned long in [0, n) step 1 {
    S0: s += a[i] + flag + tk + big;
  }
}
"""
    profile = good_profile(marked(tmp_path / "u.c", text, ir), tmp_path / "work")
    assert profile.nest("one").values == {"n": 4, "big": 2**64 - 1, "flag": 200, "tk": -7}


def run_body(tmp_path: Path, body: str, limits: Limits = LIMITS, flags: tuple[str, ...] = ("-O1",)) -> str:
    """The reason why a program with this end fails."""
    text = PROGRAM.replace('printf("%.17g %d\\n", total, argc);', body)
    text = text.replace("<stdio.h>", "<stdio.h>\n#include <stdlib.h>\n#include <unistd.h>")
    source = marked(tmp_path / "bad.c", text, sum_nest())
    failed = profiled(source, tmp_path / "work", compiler=CompilerConfig("gcc", flags), limits=limits)
    assert isinstance(failed, ProgramFailed), failed
    assert failed.stage == ("build" if "compile" in body or "undeclared" in body else "run")
    return failed.reason


@pytest.mark.gcc
def test_failures_have_reasons(tmp_path: Path) -> None:
    assert "SIGSEGV" in run_body(tmp_path, "*(volatile int *)8 = 1;")
    assert "SIGABRT" in run_body(tmp_path, 'fputs("no such matrix", stderr); abort();')
    assert "no such matrix" in run_body(tmp_path, 'fputs("no such matrix", stderr); abort();')
    assert "within 1 s" in run_body(tmp_path, "for (;;) pause();", Limits(wall_s=1.0))
    assert "_exit" in run_body(tmp_path, "_exit(0);")
    assert "bad.c:" in run_body(tmp_path, "undeclared(;")


@pytest.mark.gcc
def test_an_exit_code_is_no_failure(tmp_path: Path) -> None:
    source = marked(tmp_path / "three.c", PROGRAM.replace("return 0;", "return 3;"), sum_nest())
    profile = good_profile(source, tmp_path / "work")
    assert profile.exit_code == 3 and profile.nest("sum").calls


@pytest.mark.gcc
def test_no_main(tmp_path: Path) -> None:
    text = PROGRAM.replace("int main(", "int not_main(").replace("static double sum", "double sum")
    failed = profiled(marked(tmp_path / "lib.c", text, sum_nest()), tmp_path / "work")
    assert isinstance(failed, ProgramFailed)
    assert "no main" in failed.reason


@pytest.mark.gcc
def test_calls_from_other_threads_are_told(tmp_path: Path) -> None:
    pragma = '_Pragma("omp parallel for reduction(+:total)")'
    text = PROGRAM.replace("for (int r = 0; r < 40", f"{pragma}\n    for (int r = 0; r < 40")
    source = marked(tmp_path / "omp.c", text, sum_nest())
    compiler = CompilerConfig("gcc", ("-O1", "-fopenmp"))
    profile = profiled(source, tmp_path / "work", compiler=compiler)
    assert isinstance(profile, ProgramProfile), profile
    nest = profile.nest("sum")
    assert nest.calls + nest.other_threads == 41


@pytest.mark.gcc
def test_the_thread_that_others_wait_for_counts(tmp_path: Path) -> None:
    """The main thread's part is short; the share is that of the other one, for which it waits."""
    text = PROGRAM.replace("int main(int", "#include <omp.h>\nint main(int").replace(
        "for (int r = 0; r < 40",
        "#pragma omp parallel num_threads(2) reduction(+:total)\n"
        "    for (int r = 0; r < (omp_get_thread_num() ? 4000 : 40); r++) total += sum(20000, a);\n"
        "    for (int r = 0; r < 0",
    )
    compiler = CompilerConfig("gcc", ("-O1", "-fopenmp"))
    profile = profiled(marked(tmp_path / "omp.c", text, sum_nest()), tmp_path / "work", compiler=compiler)
    assert isinstance(profile, ProgramProfile), profile
    nest = profile.nest("sum")
    assert (nest.calls, nest.other_threads) == (41, 4000)
    assert nest.share > 5 * nest.seconds / profile.wall_s


@pytest.mark.gcc
def test_forked_children_and_exit_do_not_disturb(tmp_path: Path) -> None:
    text = PROGRAM.replace("<stdio.h>", "<stdio.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>")
    text = text.replace('printf("', 'if (!fork()) { sum(3, a); exit(0); } wait(0); printf("').replace(
        "return 0;", "exit(0);"
    )
    profile = good_profile(marked(tmp_path / "fork.c", text, sum_nest()), tmp_path / "work")
    assert profile.nest("sum").calls == 41


def test_wrap_places_texts_at_equal_positions_in_order() -> None:
    content = b"a;b;"
    places = [Around(0, 2, "A<", ">A"), Around(2, 4, "B<", ">B"), Around(0, 4, "O<", ">O")]
    assert wrap(content, places) == b"{ O< { A< a; >A }{ B< b; >B } >O }"


def test_wrap_moves_above_stacked_pragmas() -> None:
    content = b"x();\n#pragma scop\n  # pragma omp \\\n  parallel for\n\n  for (;;) y();\nz();\n"
    begin = content.index(b"for (;;)")
    out = wrap(content, [Around(begin, begin + len(b"for (;;) y();"), "B", "E")])
    assert out == (
        b"x();\n{ B \n#line 2\n#pragma scop\n  # pragma omp \\\n  parallel for\n\n  for (;;) y(); E }\nz();\n"
    )


def test_many_comments_behind_a_loop_take_no_time() -> None:
    text = b"for (;;) x" + b" /* a */" * 60 + b" y"
    assert wrap(text, [Around(0, 10, "a;", "b;")]).count(b"b;") == 1
