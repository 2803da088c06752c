"""What is left alone: the reason, the place, and what would help."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.ir.text import format_nest
from tests.scheduler.frontend.support import lines, read, refusal

BODIES = [
    ('printf("%f", a[i]);', "calls 'printf'", "printf"),
    ("a[i] = rand();", "calls 'rand'", "rand"),
    ("goto out;", "goto", "goto"),
    ("{ a[i] = 0; if (a[0] > 1) break; }", "break", "break"),
    ("{ if (a[i] > 1) return; a[i] = 2; }", "returns from the function", "return"),
    ("do { a[i] /= 2; if (n < 3) return; } while (a[i] > 1);", "returns from the function", "return"),
    ("switch (i) { case 1: a[i] = 0; case 2: if (n) break; a[i]++; }", "switch", "switch"),
    ('__asm__("nop");', "inline assembly", "__asm__"),
    ("v[i] = 0;", "'v' is volatile", "v[i]"),
    ("if (a[i] > 0) *p++ = 0;", "pointer", "p++"),
    ("{ double *q = p; p = w; w = q; }", "changes a pointer", "p = w"),
    ("a[i] = ({ 3; });", "statement expression", "({"),
    ("a[i] = i++;", "changed inside the loop", "i++"),
    ("a[i] = a[k++] + k;", "changes a variable inside an expression", "k++"),
    ("a[i] += (k, 3);", "comma operator", "k, 3"),
    ("l[i] = 0;", "long double", "l[i]"),
    ("z[i] = 0;", "_Complex", "z[i]"),
    ("b.x = i;", "bit-field", "b.x"),
    ("u->d = i, u->i = 3;", "union", "u->d"),
    ("{ static double s; s = a[i]; a[0] = s; }", "static inside the loop", "static"),
    ("{ union both t = {1}; a[i] = t.i; }", "declares 't'", "union both t"),
    ("a[i] = *(int *)(a + i);", "converts a pointer", "(int *)"),
    ("chain = chain->next;", "pointer", "chain = "),
    ("memcpy(a, w, 7);", "calls 'memcpy'", "memcpy"),
    ("*(i > 2 ? a : w) = 0;", "computes a pointer", "i > 2"),
]
HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <complex.h>
struct bits { int x : 3; }; union both { double d; int i; }; struct c { int y; }; struct n { struct n *next; };
void f(int n, int k, double *a, volatile double *v, double *p, double *w, long double *l, double complex *z,
       struct bits b, union both *u, struct n *chain)
{
"""


@pytest.mark.parametrize(("code", "reason", "at"), BODIES, ids=[b[0] for b in BODIES])
def test_bodies(code: str, reason: str, at: str) -> None:
    line = f"    for (int i = 0; i < n; i++) {code}"
    found = refusal(HEAD + line + "\nout: ;\n}\n")
    assert reason in found.reason, found.reason
    assert (found.span.line, found.span.column) == (9, line.rindex(at) + 1), line[found.span.column - 1 :]
    assert found.advice and found.function == "f"


def test_pragmas() -> None:
    code = """void f(int n, double *a) {
#pragma acc parallel loop
  for (int i = 0; i < n; i++) a[i] = 0;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma omp parallel for ordered
  for (int i = 0; i < n; i++) a[i] = 2;
  for (int i = 0; i < n; i++) {
#pragma omp task
    a[i] = 4;
    for (int j = 0; j < n; j++) a[j] = 5;
  }
#pragma omp parallel for reduction(mine: s)
  for (int i = 0; i < n; i++) a[i] = 6;
}
"""
    found = read(code)
    assert [(r.span.line, r.reason) for r in found.rejections] == [
        (3, "the loop stands in '#pragma acc parallel loop'"),
        (5, "the loop stands in '#pragma omp target teams distribute parallel for'"),
        (6, "of '#pragma omp parallel for ordered': clause 'ordered' is not understood"),
        (9, "there is '#pragma omp task' inside the loop"),
        (13, "reduction(mine: s) is not understood"),
    ]
    assert [n.span.line for n in found.nests if n.span] == [11]


def test_what_names_mean_may_change_inside() -> None:
    code = """void f(int n, double *a) {
  for (int i = 0; i < n; i++) {
#define LAST (n - 1)
    for (int j = 0; j < LAST; j++) a[j] = i;
#undef LAST
  } }"""
    found = read(code)
    assert not found.rejections and "for j: int in [0, n - 1)" in format_nest(found.nests[0])


@pytest.mark.parametrize(
    ("head", "above", "inside", "reason"),
    [
        ("", "#pragma loopbound min 4 max 4", "#pragma HLS unroll", ""),
        ("", '_Pragma("loopbound min 4 max 4")', '_Pragma("MUST_ITERATE(4)")', ""),
        ('#define BOUND _Pragma("loopbound") _Pragma("HLS pipeline")', "", "BOUND", ""),
        ("#define NOTHING", "", "NOTHING", ""),
        ('#define BOUND _Pragma("loopbound") (void)0;', "BOUND", "", "macro or pragma"),
        ('#define BOUND _Pragma("GCC unroll 4")', "BOUND", "", "macro or pragma"),
        ('#define OUTER _Pragma("loopbound")\n#undef OUTER\n#define OUTER _Pragma("acc x")', "OUTER", "", "macro or"),
        ("", "#pragma pack(1)", "", "pragma pack"),
    ],
)
def test_pragmas_that_no_compiler_acts_upon(head: str, above: str, inside: str, reason: str) -> None:
    code = f"{head}\nvoid f(int n, double *a) {{ for (int i = 0; i < n; i++) {{\n{above}\n"
    code += f"for (int j = 0; j < n; j++) {{\n{inside}\nfor (int k = 0; k < n; k++) a[k] = j; }} }} }}"
    found = read(code)
    assert all(reason in r.reason for r in found.rejections) and bool(found.rejections) == bool(reason)
    assert reason or len(found.nests) == 1


@pytest.mark.parametrize(
    "above", ["NOTHING", "#pragma GCC unroll 4\nNOTHING", "#pragma unroll_and_jam(2)\nNOTHING", "PARALLEL"]
)
def test_a_macro_in_front_may_be_a_pragma_elsewhere(above: str) -> None:
    """With -fopenmp, or behind another pragma: what comes next has to be a loop then."""
    code = f"""#define NOTHING
#ifdef _OPENMP
#define PARALLEL _Pragma("omp parallel for")
#else
#define PARALLEL
#endif
void f(int n, double *a) {{
{above} for (int i = 0; i < n; i++) a[i] = 0; }}"""
    (refused,) = read(code).rejections
    assert refused.reason == "a macro or pragma is attached to the loop"


def test_conditional_compilation_inside() -> None:
    code = """void f(int n, double *a) {
  for (int i = 0; i < n; i++) {
#ifdef X
    a[i] = 0;
#else
    a[i] = 1;
#endif
    for (int j = 0; j < n; j++) a[j] = i;
  }
#if 1
  for (int i = 0; i < n; i++) a[i] = 0;
#endif
  for (int i = 0; i < n; i++) a[i] = 2;
}"""
    found = read(code)
    assert not found.rejections and [n.span.line for n in found.nests if n.span] == [2, 11, 13]
    assert "a[i] = 1" in format_nest(found.nests[0]) and "a[i] = 0" not in format_nest(found.nests[0])
    (refused,) = read(code.replace("a[i] = 1;", "a[i] = 1;\n#line 5")).rejections
    assert (refused.span.line, refused.reason) == (7, "there is a preprocessor directive inside the loop")
    across = code.replace("#else", "}\n#else").replace("a[i] = 1;", "a[i] = 1; }\n  for (int i = 0; i < n; i++) {")
    refused = read(across).rejections[0]
    assert (refused.span.line, refused.reason) == (2, "a preprocessor conditional goes across the loop")


def test_loops_from_macros() -> None:
    code = """#define LOOP for (int i = 0; i < n; i++) a[i] = 9;
#define FOR(i, n) for (int i = 0; i < n; i++)
#define PARALLEL _Pragma("omp parallel for")
void f(int n, double *a) {
  LOOP
  FOR(i, n) a[i] = 1;
  PARALLEL for (int i = 0; i < n; i++) a[i] = 2;
  PARALLEL /* x */
  for (int i = 0; i < n; i++) a[i] = 2;
  // a comment
  for (int i = 0; i < n; i++) a[i] = 3;
}"""
    found = read(code)
    assert [(r.span.line, r.span.column) for r in found.rejections] == [(6, 3), (7, 12), (9, 3)]
    assert all("macro" in r.reason for r in found.rejections)
    assert [n.span.line for n in found.nests if n.span] == [5, 11]


def test_while_loops_over_arrays_are_reported() -> None:
    code = "void f(int n, double *a) {\n int i = 0;\n while (a[i] < n) { a[i] = 0; i++; }\n while (n > 0) n--; }"
    found = refusal(code)
    assert found.reason == "a while loop" and found.span.line == 3
    code = "void f(int n, double *a) {\n for (int i = 0; i < n; i++)\n if (a[i] < 0) break; }"
    assert refusal(code).reason == "the loop contains break"


def test_a_region_is_cut_at_what_is_refused() -> None:
    code = """int g(void);
void f(int n, double *a) {
  double s = 0;
  for (int i = 0; i < n; i++) a[i] = 1;
  s = g();
  for (int i = 0; i < n; i++) a[i] += s;
}"""
    found = read(code)
    assert not found.rejections
    assert [lines(n) for n in found.nests] == [["for i = 0 to n", " a[i] = 1"], ["for i = 0 to n", " a[i] += s"]]


def test_included_bodies_are_not_ours(tmp_path: Path) -> None:
    (tmp_path / "body.inc").write_text("for (int i = 0; i < n; i++) a[i] = 1;\n")
    (tmp_path / "helper.h").write_text("static inline int twice(int x) { return 2 * x; }\n")
    code = """#include "helper.h"
void f(int n, double *a) {
#include "body.inc"
for (int i = 0; i < n; i++) a[i] = twice(i); }"""
    found = read(code, path=str(tmp_path / "t.c"))
    assert [n.span.line for n in found.nests if n.span] == [4]
    assert lines(found.nests[0])[1] == " a[i] = (2 * i)"
    assert [f.name for f in found.functions] == ["f"]


def test_loops_that_do_nothing() -> None:
    found = read(
        "void f(int n, double *a) { for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) { int t = i; } } }"
    )
    assert not found.nests and {r.reason for r in found.rejections} == {"the loop does nothing"}
