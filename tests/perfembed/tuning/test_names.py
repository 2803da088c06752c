"""Programs with names in UTF-8 are read, watched, written and run as others are."""

import subprocess
from pathlib import Path

import pytest

from perfembed.capture import CapturedNest, ProgramProfile, capture_nests
from perfembed.tuning.rewrite import Rewrite
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.text import format_nest, parse_nest
from scheduler.schedule import parse_schedule
from tests.perfembed.capture_support import profiled
from tests.rewriting import identity, read, rewritten, surveyed, without_originals

PROGRAM = r"""#include <stdio.h>
#define größe 40
#define ÜBER(x) ((x) * 2.0)
enum { zähl = 3 };
typedef double réel;
struct σύνολο { int μέγεθος; double *δεδομένα; };
static réel été[größe][größe], naïve[größe][größe];
static void función(int ñ, réel *données, réel *α, struct σύνολο *σ)
{
    for (int і = 0; і < ñ; і++)
        for (int ј = 0; ј < ñ; ј++) données[і * ñ + ј] += ÜBER(α[ј]) + zähl + σ->δεδομένα[ј];
    puts("next");
    int μ = σ->μέγεθος;
    for (int i = 0; i < μ; i++) σ->δεδομένα[i] *= 2;
    puts("a$");
    for (int i$ = 0; i$ < ñ; i$++) \u00e9t\u00e9[i$][3] = naïve[3][i$];
}
int main(void)
{
    for (int i = 0; i < größe; i++)
        for (int j = 0; j < größe; j++) été[i][j] = (i * j) % 7;
    réel α[größe];
    for (int i = 0; i < größe; i++) α[i] = i;
    réel Σ = 0;
    réel données[größe * größe] = {0};
    struct σύνολο σ = { größe, α };
    función(größe, données, α, &σ);
    for (int i = 0; i < größe; i++)
        for (int j = 0; j < größe; j++) Σ += été[i][j] + données[i * größe + j];
    printf("%g\n", Σ);
    return 0;
}
"""


def run(path: Path) -> str:
    program = path.with_suffix(".x")
    subprocess.run(["gcc", "-w", "-O1", "-fopenmp", str(path), "-o", str(program), "-lm"], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.gcc
def test_a_program_with_names_in_utf8(tmp_path: Path) -> None:
    path, written = tmp_path / "p.c", tmp_path / "written.c"
    path.write_text(PROGRAM, encoding="utf-8")
    source = read_source(path, ParseOptions())
    assert len(source.nests) == 6 and not source.rejections
    for nest in source.nests:
        assert format_nest(nest).isascii() and parse_nest(format_nest(nest))
    written.write_bytes(without_originals(identity(source)))
    assert run(written) == run(path)
    profile = profiled(source, tmp_path / "profile", compiler=CompilerConfig("gcc", ()))
    assert isinstance(profile, ProgramProfile) and all(n.calls == 1 and not n.problem for n in profile.nests)
    captured = capture_nests((source,), source.nests, profile, tmp_path / "capture")
    assert [n for n, c in captured.items() if not isinstance(c, CapturedNest)] == []


def test_messages_spell_names_as_the_file_does() -> None:
    text = "int f(void);\nvoid g(int *données) { for (int é = 0; é < données[é]; é++) données[é + 1] = f(); }\n"
    (rejection,) = read_source("a.c", ParseOptions(), text.encode()).rejections
    assert "_u00e9" not in rejection.reason + rejection.advice, rejection


OURS = r"""#include <stdio.h>
#include "theirs.h"
#define pe_min(x, y) ((x) + (y))
#ifdef MORE
#define pe_free 1
#define k_t_2 1
#endif
#define k_t 7
#define i_2 8
#define j_d (3
#define min(x, y) ((x) < (y) ? (x) : (y))
struct pe_range { int pe_low; } pe_v4d = { 3 };
double pe_A[60][60], a[60][60], b[60][60], c[60][60];
static int pe_max(int x, int y) { return x > y ? x : y + 1; }
static void pe_tuned(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = i; k < n; k++) s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
    double t;
    for (int pe_i = 0; pe_i < n; pe_i++)
        for (int j = 0; j < n; j++) {
            t = a[pe_i][j] * 2 + pe_v4d.pe_low;
            pe_A[j][pe_i] += t + pe_alloc;
        }
}
int main(void)
{
    for (int i = 0; i < 60; i++) for (int j = 0; j < 60; j++) { a[i][j] = (i * 7 + j) % 11; b[i][j] = (i + j * 3) % 5; }
    pe_tuned(59);
    printf("%g %g %d %d\n", c[20][58], pe_A[3][4], pe_max(3, 77), pe_min(3, 4) + k_t + i_2);
    return 0;
}
"""


@pytest.mark.gcc
def test_names_of_ours_that_the_program_has(tmp_path: Path) -> None:
    (tmp_path / "theirs.h").write_text("#define pe_size 4\nenum { pe_alloc = 5 };\n#ifdef MORE\n#define pe_raw\n#endif")
    path, written = tmp_path / "p.c", tmp_path / "written.c"
    source = read(path, OURS.encode())
    steps = {
        "_u0070_e_tuned_0": "eliminate(s); distribute(j, 1); "
        "interchange(j_d, k); tile([k], [16]); parallelize(i); vectorize(j_d)",
        "_u0070_e_tuned_1": "interchange(_u0070_e_i, j)",
    }
    rewrites = [Rewrite(n, parse_schedule(steps.get(n.name, "")), 2.0) for n in source.nests]
    assert [n.name for n in source.nests] == ["_u0070_e_tuned_0", "_u0070_e_tuned_1", "main_0"]
    text = rewritten(source, rewrites)
    assert text.count(b"defined pe2_tuned\n") == 3 and b"pe2_max" in text
    written.write_bytes(without_originals(text))
    before = run(path)
    assert run(written) == before
    subprocess.run(["gcc", "-DMORE", "-fopenmp", "-Wall", "-Werror", "-fsyntax-only", str(written)], check=True)
    tuned = read(path, text)
    plain = [n for n in tuned.nests if n.name not in tuned.sharing]
    again = rewritten(tuned, [Rewrite(n, parse_schedule("parallelize(i)"), 2.0) for n in plain if n.name == "main_0"])
    assert b"defined pe3_tuned" in again
    written.write_bytes(again)
    assert run(written) == before


@pytest.mark.gcc
def test_plain_names_where_they_are_free(tmp_path: Path) -> None:
    text = b"double pet[9], ape_x[9]; void f(void) { for (int i = 0; i < 9; i++) pet[i] = ape_x[i]; }"
    assert b"defined pe_tuned\n" in identity(read(tmp_path / "a.c", text))


@pytest.mark.gcc
def test_words_that_mean_something_else(tmp_path: Path) -> None:
    """Macros of the program's that new loops would be written with leave the nests alone."""

    def reason(macro: str) -> str:
        nest = "void f(int *a) { for (int i = 0; i < 9; i++) a[i] = i; }"
        path = tmp_path / "a.c"
        (tmp_path / "a.h").write_text(f"#define {macro}\n")
        source = read(path, f'#include "a.h"\n{nest}'.encode())
        tests = surveyed(source).tests["f_0"]
        return "" if isinstance(tests, AssumptionTests) else tests.reason

    for macro in ("long int", "static", "parallel 4", "if(x) if (!(x)) {} else", "omp x", "__attribute__(x)"):
        assert "is a macro here" in reason(macro), macro
    for macro in ("inline", "restrict", "max(a, b) ((a) + (b))", "long long", "parallel(x) x", "I 3", "vector_size 3"):
        assert not reason(macro), macro
