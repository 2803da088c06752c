"""Programs with names in UTF-8 are read, watched, written and run as others are."""

import subprocess
from pathlib import Path

from perfembed.capture import CapturedNest, ProgramProfile, capture_nests
from profilers.build import CompilerConfig
from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.text import format_nest, parse_nest
from tests.perfembed.capture_support import profiled
from tests.rewriting import identity, without_originals

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
