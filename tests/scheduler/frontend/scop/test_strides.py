"""Strides that are variables of their own: the shapes, what is assumed for them, and which one is taken as larger."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import assumptions, lines, nest, shape

LOOPS = "for (int k = 0; k < l; k++) for (int j = 0; j < m; j++) for (int i = 0; i < n; i++)"


def last(code: str) -> str:
    return lines(nest(code))[-1].strip()


@pytest.mark.parametrize(
    "access",
    [
        "a[k*sz + j*sy + i*sx]",
        "a[i*sx + j*sy + k*sz]",
        "*(a + sy * j + sz * k + sx * i)",
        "(&a[k*sz])[j*sy + i*sx]",
        "(a + k*sz + j*sy)[i*sx]",
    ],
)
def test_three_strides(access: str) -> None:
    found = nest(f"void f(int n, int m, int l, int sx, int sy, int sz, double *a) {{ {LOOPS} {access} = 0; }}")
    assert shape(found, "a") == "flat ?, sz_per_sy, sy_per_sx, sx"
    assert lines(found)[-1].strip() == "a[k][j][i][0] = 0"
    assert assumptions(found) == {
        "sx - 1 >= 0",
        "sy_per_sx - 1 >= 0",
        "sz_per_sy - 1 >= 0",
        "-n + sy_per_sx >= 0",
        "-m + sz_per_sy >= 0",
    }


def test_the_quotient_is_computed_by_the_code_where_it_is_a_whole_number() -> None:
    found = nest(f"void f(int n, int m, int l, long sy, long sz, double *a) {{ {LOOPS} a[k*sz + j*sy + i] = 0; }}")
    (quotient,) = (p for p in found.parameters if p.base)
    assert (quotient.name, quotient.ctype) == ("sz_per_sy", "long")
    assert quotient.text == "(long)(sy) >= 1L && (long)(sz) % (long)(sy) == 0L ? (long)(sz) / (long)(sy) : 0"
    assert {"sy", "sz"} < {p.name for p in found.parameters}


def test_neighbours_by_stride() -> None:
    code = """static int nx, ny, nz, sx, sy, sz; static double *u, *v;
        void f(void) { for (int k = 1; k < nz - 1; k++) for (int j = 1; j < ny - 1; j++)
            for (int i = 1; i < nx - 1; i++) {
                int p = k*sz + j*sy + i*sx; u[p] = v[p - sx] + v[p + sy] + v[p - sz]; } }"""
    assert last(code) == "u[k][j][i][0] = ((v[k][j][i - 1][0] + v[k][j + 1][i][0]) + v[k - 1][j][i][0])"


def test_members() -> None:
    code = """struct grid { int nx, ny, nz, sy, sz; double *u; };
        void f(struct grid *g) { for (int k = 0; k < g->nz; k++) for (int j = 0; j < g->ny; j++)
            for (int i = 0; i < g->nx; i++) g->u[k * g->sz + j * g->sy + i] = 0; }"""
    found = nest(code)
    assert shape(found, "g_u") == "flat ?, g_sz_per_g_sy, g_sy"
    (quotient,) = (p for p in found.parameters if "_per_" in p.name)
    assert quotient.base == "(long)(g->sz) / (long)(g->sy)"


def test_a_sum_as_stride() -> None:
    code = f"""void f(int n, int m, int l, int p, int sz, double *a) {{
        int sy = n + p; {LOOPS} a[k*sz + j*sy + i] = 0; }}"""
    assert shape(nest(code), "a") == "flat ?, sz_per_n_p, n + p"


@pytest.mark.parametrize(
    ("setting", "larger"),
    [
        ("s = 1; t = nx;", "t_per_s"),
        ("t = 1; s = nx;", "s_per_t"),
        ("s = nx; t = s * ny;", "t_per_s"),
        ("t = nx + 2; s = ny * t;", "s_per_t"),
    ],
)
def test_what_the_program_sets_strides_to_says_which_is_larger(setting: str, larger: str) -> None:
    code = f"""static int nx, ny, s, t; static double *u;
        void set(void) {{ {setting} }}
        void f(void) {{ for (int j = 0; j < ny; j++) for (int i = 0; i < nx; i++) u[j*s + i*t] = 0; }}"""
    assert larger in {p.name for p in nest(code).parameters}


def test_arguments_say_it_too() -> None:
    code = """static void f(int n, int m, int s, int t, double *u) {
            for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) u[j*s + i*t] = 0; }
        void g(int n, int m, double *u) { f(n, m, 1, n, u); }"""
    assert "t_per_s" in {p.name for p in nest(code).parameters}


@pytest.mark.parametrize(
    "code",
    [
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = a[i * n + j];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[(i * i) * s + j * t] = 0;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * s + j * (t / 2)] = 0;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * s + j * n * m + i] = 0;",
    ],
)
def test_no_shape(code: str) -> None:
    found = nest(f"void f(int n, int m, int s, int t, double *a) {{ {code} }}")
    assert "~" in lines(found)[-1]
    assert not [p for p in found.parameters if p.base]
    assert not [a for a in assumptions(found) if "_per_" in a]


def test_nothing_is_assumed_for_an_array_that_is_only_read_and_apart() -> None:
    code = """void f(int n, int m, int s, int t, double *restrict a, const double *restrict b) {
        for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[j * n + i] = b[j * s + i * t]; }"""
    found = nest(code)
    assert not found.assumptions and not [p for p in found.parameters if p.base]


def test_planes_counted_through() -> None:
    """`area` is what the function computed; that it is at most h * w is assumed."""
    code = """void f(int n, int c, int h, int w, int area, float *x, const float *s) {
        for (int b = 0; b < n; b++) for (int k = 0; k < c; k++) for (int i = 0; i < area; i++)
            x[((long)b * c + k) * h * w + i] *= s[k]; }"""
    found = nest(code)
    product = next(p for p in found.parameters if p.name.endswith("_times_w"))
    assert product.base == "(long)(h) * (long)(w)" and "(long)(w) >= 1L" in product.where
    assert "x[b][k][i]" in "\n".join(lines(found)) and {p.name for p in found.parameters} >= {"h", "w"}
    assert f"-area + {product.name} >= 0" in assumptions(found) or len(assumptions(found)) == 2


def test_planes_that_elements_leave_are_none() -> None:
    code = """void f(int n, int h, int w, float *x, const int *t) {
        for (int b = 0; b < n; b++) for (int i = 0; i < t[b]; i++) x[b * h * w + i] += 1.0f; }"""
    assert not any("_times_" in p.name for p in nest(code).parameters)


def test_what_a_size_is_divided_into_is_below_it() -> None:
    """Attention of several heads: rows of `C` numbers, `hs` of each head."""
    code = """void attend(float *out, const float *inp, int B, int T, int C, int NH) { int C3 = C * 3, hs = C / NH;
        for (int b = 0; b < B; b++) for (int t = 0; t < T; t++) for (int h = 0; h < NH; h++) {
            float *o = out + b * T * C + t * C + h * hs; const float *v = inp + b * T * C3 + t * C3 + h * hs + C * 2;
            for (int i = 0; i < hs; i++) o[i] = v[i]; } }
        void f(float *out, float *inp) { attend(out, inp, 4, 64, 768, 12); }"""
    found = nest(code)
    assert shape(found, "out") == "flat ?, T, C_per_hs, hs" and shape(found, "inp") == "flat ?, 3*T, C_per_hs, hs"
    assert last(code) == "out[b][t][h][i] = inp[b][3*t + 2][h][i]"
