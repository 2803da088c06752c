"""Members that pointers lead to: sizes, arrays, and numbers in arrays of structures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.nest import Storage
from tests import rewriting
from tests.scheduler.frontend.support import lines, nest, read, refusal

GRID = """struct level { int n; double *u; };
struct cell { double rho; double f[3]; struct { double x, y; } pos; int tag; };
struct grid { int nx, ny; double *u; int *mark; struct cell *cells; struct level lev[3]; struct grid *next; };
"""

PROGRAMS = Path(__file__).parents[3] / "programs"


def test_sizes_behind_a_pointer() -> None:
    found = nest(GRID + "void f(struct grid *g) { for (int i = 0; i < g->nx; i++) for (int j = 0; j < g->ny; j++)"
                 " g->u[i * g->ny + j] = 0; }")  # fmt: skip
    assert [(p.name, p.base, p.where, p.exposed) for p in found.parameters] == [
        ("g_nx", "g->nx", "", False),
        ("g_ny", "g->ny", "", False),
    ]
    assert lines(found)[-1].strip() == "g_u[i][j] = 0"


def test_a_pointer_that_may_not_be_followed_is_followed_under_a_condition() -> None:
    found = nest(GRID + "void f(int t, struct grid *g) { for (int k = 0; k < t; k++) for (int i = 0; i < g->nx; i++)"
                 " g->u[i] += 1; }")  # fmt: skip
    base = next(p for p in found.parameters if p.base)
    assert base.where and "t" in base.where and base.text.startswith(base.where)
    assert any(str(c.affine) == "t - 1" for c in found.assumptions)
    deeper = read(GRID + "void f(int t, double *a, struct grid *g)"
                  " { for (int k = 0; k < t; k++) for (int l = 0; l < k; l++)"
                  " for (int i = 0; i < g->nx; i++) a[i] += 1; }")  # fmt: skip
    assert not any(p.base for n in deeper.nests for p in n.parameters)


DOWN = """#include <stdio.h>
static struct { unsigned lo; long hi; } span[66];
static double U[66];
__attribute__((noinline)) static void f(int i, long m, unsigned n) {
    for (unsigned long j = m - 1; j < n; j--) {
        unsigned char t = span[i].lo;
        U[j] += t;
    }
}
int main(void) {
    span[3].lo = 7;
    f(3, 40, 40);
    f(-100000000, 7, 0);
    printf("%g %g\\n", U[0], U[39]);
}
"""


@pytest.mark.gcc
def test_a_loop_that_does_not_begin_reads_nothing_in_front_of_it(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "down.c", DOWN.encode())
    (where,) = (p.where for p in source.nests[0].parameters if p.base == "span[i].lo")
    assert "(__int128)(n)" in where and "(__int128)(m)" in where
    (tmp_path / "written.c").write_bytes(rewriting.identity(source))
    subprocess.run(["gcc", "-O1", "-fopenmp", "written.c", "-o", "written"], cwd=tmp_path, check=True)
    assert subprocess.run(["./written"], cwd=tmp_path, capture_output=True, check=True).stdout == b"7 7\n"


def test_integers_that_stores_may_change() -> None:
    found = nest(GRID + "void f(struct grid *g) { for (int i = 0; i < g->nx; i++) g->mark[i] = 0; }")
    assert found.parameters[0].exposed
    assert (
        "limit depends on"
        in refusal(GRID + "void f(struct grid *g) { for (int i = 0; i < g->nx; i++) g->nx = i; }").reason
    )
    other = nest(GRID + "void f(struct grid *g, struct grid *h) { for (int i = 0; i < g->nx; i++) h->nx = i; }")
    assert other.parameters[0].exposed


def test_fixed_paths() -> None:
    found = nest(GRID + "void f(struct grid *g, int l) { for (int i = 0; i < g->lev[l].n; i++)"
                 " g->lev[l].u[i] = g->next->u[i]; }")  # fmt: skip
    assert {a.base for a in found.arrays} == {"g->lev[l].u", "g->next->u"}
    assert all(a.storage is Storage.POINTER for a in found.arrays)
    moving = refusal(GRID + "void f(struct grid *g, int n) { for (int i = 0; i < n; i++) g->lev[i].u[0] = 1; }")
    assert "pointers stored in a structure" in moving.reason


def test_arrays_of_structures() -> None:
    found = nest(GRID + "void f(int n, struct cell *c) { for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++)"
                 " c[i].f[k] += c[i].pos.y; }")  # fmt: skip
    (array,) = found.arrays
    assert array.members == (".rho", ".f[0]", ".f[1]", ".f[2]", ".pos.x", ".pos.y", "")
    assert lines(found)[-1].strip() == "c[i][k + 1] += c[i][5]"


def test_numbers_of_several_types_are_arrays_of_their_own() -> None:
    found = nest(
        GRID + "void f(int n, struct cell *c) { for (int i = 0; i < n; i++) { c[i].rho = c[i].tag; c[i].tag = 1; } }"
    )
    double, whole = found.arrays if found.arrays[0].ctype == "double" else reversed(found.arrays)
    assert (double.ctype, whole.ctype) == ("double", "int")
    assert double.shares(whole) and len(whole.members) == 14 and whole.members[12] == ".tag"


def test_rows_of_structures() -> None:
    for use in (
        "struct cell *row = c + i * n; row[j].rho = 0;",
        "struct cell *e = &c[i * n + j]; e->rho = 0;",
        "(c + i * n + j)->rho = 0;",
        "(*(c + i * n + j)).rho = 0;",
    ):
        found = nest(
            GRID
            + f"void f(int n, struct cell *c) {{ for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{ {use} }} }}"
        )
        assert found.arrays[0].flat
        assert lines(found)[-1].strip() == "c[i][j][0] = 0", use


def test_one_structure_and_many_of_them_are_the_same_array() -> None:
    found = nest(
        GRID + "void f(int n, struct cell *c) { for (int i = 0; i < n; i++) c[i].rho += c->rho + (*c).pos.x; }"
    )
    assert len(found.arrays) == 1
    assert lines(found)[-1].strip() == "c[i][0] += (c[0][0] + c[0][4])"
    assert (
        "leaves its dimension"
        in refusal(GRID + "void f(int n, struct cell *c) { for (int i = 0; i < n; i++) c[i].f[3] = 0; }").reason
    )


def test_a_limit_behind_a_pointer_is_read_in_front_where_stores_could_change_it() -> None:
    code = """struct box { int n, h; int *data; };
    void f(const struct box *x) { int q = x->n;
      for (int n = 0; n < 3; n++) for (int i = 0; i < x->h; i++) x->data[n * x->h + i] = i + q; }"""
    found = nest(code)
    assert [(p.base, p.where, p.exposed) for p in found.parameters if p.base] == [("x->h", "", True)]
    changed = code.replace("x->data[n * x->h + i] = i", "x->h = i").replace("const ", "")
    assert "limit" in refusal(changed).reason


def test_members_of_what_an_address_is_taken_of() -> None:
    code = """struct box { int n, m; double *u; }; struct all { struct box a, b; };
    #define AT(g, i, j) (g)->u[(i) * (g)->m + (j)]
    void f(struct all *w) { int n = w->a.n, m = w->a.m;
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) AT(&w->a, i, j) = 2.0 * AT(&w->b, i, j); }"""
    found = nest(code)
    assert {a.base for a in found.arrays} == {"w->a.u", "w->b.u"}
    assert {p.base for p in found.parameters if p.base} >= {"w->a.m", "w->b.m"}


def test_what_a_call_was_given_that_made_a_structure_was_followed() -> None:
    """`struct tensor y = tensor_new(x->n, …, x->h, …)`, and &y goes to functions that are inlined."""
    source = read_source(PROGRAMS / "convnet/layers.c", ParseOptions(("-DNDEBUG", "-fopenmp")))
    (found,) = (n for n in source.nests if n.function == "conv_forward")
    assert {"x->h", "x->w", "x->c"} <= {p.base for p in found.parameters}


def test_an_assertion_takes_no_addresses(tmp_path: Path) -> None:
    """assert of the GNU C library is a statement expression; others may do anything with what they do not only read."""
    code = """extern void __assert_fail(const char *, const char *, unsigned, const char *) __attribute__((noreturn));
    extern int other(int **);
    struct t {{ int w, n; }};
    void f(const struct t *x, double *restrict a, int m) {{
        {0}; a[0] = x->n;
        for (int i = 0; i < m; i++) for (int j = 0; j < x->w; j++) a[i * 100 + j] = 0; }}"""
    glibc = '((void)sizeof((x->n > 3) ? 1 : 0), __extension__ ({ if (x->n > 3) ; else __assert_fail("", "", 3, ""); }))'
    for text, known in (
        (glibc, True),
        ('(void)({ if (x->n > 3) ; else other2(""); })', True),
        ("m = ({ int **p = (int **)&x; other(p); })", False),
        ("(void)({ x = 0; if (x) ; else __assert_fail(0, 0, 3, 0); })", False),
        ("(void)({ if ((x = 0)) ; else __assert_fail(0, 0, 3, 0); })", False),
    ):
        path = tmp_path / "a.c"
        path.write_text("extern void other2(const char *);\n" + code.format(text))
        source = read_source(path, ParseOptions())
        found = [p for n in source.nests for p in n.parameters if p.base == "x->w" and not p.where]
        assert bool(found) == known, text
