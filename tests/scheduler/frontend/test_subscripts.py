"""Arrays: declared shapes, delinearization, pointers, structures, data-dependent subscripts."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import Storage
from tests.scheduler.frontend.support import assumptions, lines, loop, nest, read, refusal, shape


def test_declared_shapes() -> None:
    code = """#define M 20
        double A[10][M]; static float B[5];
        void f(int n, int m, double C[n][m + 1], double (*D)[m], double E[][M][2 * n], const double *x) {
            double L[10];
            for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++)
                A[i][j] = B[i] + C[i][j] + D[i][j] + E[i][j][0] + L[i] + x[j]; }"""
    found = nest(code)
    assert {a.name: shape(found, a.name) for a in found.arrays} == {
        "A": "10, 20",
        "B": "5",
        "C": "n, m + 1",
        "D": "?, m",
        "E": "?, 20, 2*n",
        "L": "10",
        "x": "?",
    }
    assert found.array("A").storage == found.array("B").storage == Storage.GLOBAL
    assert found.array("L").storage == Storage.LOCAL
    assert found.array("C").storage == found.array("x").storage == Storage.POINTER
    assert found.array("x").const and not found.array("A").const
    assert [p.name for p in found.parameters] == ["m", "n"]


def test_restrict() -> None:
    code = """void f(int n, double *restrict a, double b[restrict n][n], double *__restrict__ c, double *d) {
        for (int i = 0; i < n; i++) a[i] = b[i][0] + c[i] + d[i]; }"""
    found = nest(code)
    assert [a.name for a in found.arrays if a.storage == Storage.RESTRICT] == ["b", "c", "a"]
    assert found.array("d").storage == Storage.POINTER


FLAT = [
    ("A[i * m + j]", "flat ?, m", "A[i][j]"),
    ("A[j + m * i]", "flat ?, m", "A[i][j]"),
    ("*(A + i * m + j)", "flat ?, m", "A[i][j]"),
    ("(&A[i * m])[j]", "flat ?, m", "A[i][j]"),
    ("A[(i + 1) * m + j]", "flat ?, m", "A[i + 1][j]"),
    ("A[i * m + m - 1 - j]", "flat ?, m", "A[i][-j + m - 1]"),
    ("A[2 * i * m + j]", "flat ?, 2*m", "A[i][j]"),
    ("A[(i * m + j) * 3 + 1]", "flat ?, m, 3", "A[i][j][1]"),
    ("A[(i * m + j) * k + 2 * l]", "flat ?, m, k", "A[i][j][2*l]"),
    ("A[((3 * i + 1) * m + j) * k + l]", "flat ?, m, k", "A[3*i + 1][j][l]"),
    ("A[i * (m + 2) + j + 1]", "flat ?, m + 2", "A[i][j + 1]"),
    ("A[(i + 1) * (m + 2) + j]", "flat ?, m + 2", "A[i + 1][j]"),
    ("A[((i + 1) * (m + 2) + j) * (k + 4) + l]", "flat ?, m + 2, k + 4", "A[i + 1][j][l]"),
]


@pytest.mark.parametrize(("access", "shaped", "expected"), FLAT, ids=[f[0] for f in FLAT])
def test_delinearized(access: str, shaped: str, expected: str) -> None:
    code = f"""void f(int n, int m, int k, double *A) {{
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int l = 0; l < k / 2; l++) {access} = 0; }}"""
    found = nest(code)
    assert shape(found, "A") == shaped
    assert lines(found)[-1].strip() == f"{expected} = 0"


def test_a_stride_larger_than_the_loop_is_assumed() -> None:
    code = """void f(int n, int m, int ld, double *A) {
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * ld + j] = 1; }"""
    found = nest(code)
    assert shape(found, "A") == "flat ?, ld"
    assert assumptions(found) == {"ld - m >= 0"}


def test_all_accesses_must_agree() -> None:
    code = """void f(int n, int m, double *A) {
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * m + j] = A[i * n + j]; }"""
    found = nest(code)
    assert lines(found)[-1].strip() == "A[~((i * m) + j)] = A[~((i * n) + j)]"


def test_an_unbounded_inner_subscript_is_opaque() -> None:
    code = """void f(int n, int m, int k, double *A) {
        for (int i = 0; i < n; i++) for (int j = -k; j < m; j++) A[i * m + j] = 1; }"""
    found = nest(code)
    assert lines(found)[-1].strip() in ("A[~((i * m) + j)] = 1", "A[i][j] = 1")
    if "~" not in lines(found)[-1]:
        assert assumptions(found) == {"-k >= 0"}


def test_negative_offsets_stay_in_their_row() -> None:
    code = """void f(int n, int m, double *restrict A, double *restrict B) {
        for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
            B[i * m + j] = A[(i - 1) * m + j - 1] + A[(i + 1) * m + j + 1]; }"""
    found = nest(code)
    assert lines(found)[-1].strip() == "B[i][j] = (A[i - 1][j - 1] + A[i + 1][j + 1])"
    assert not assumptions(found)


def test_constant_strides_are_split_when_provable() -> None:
    code = """void f(double *A, double *B, double *C) {
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 100; j++) { A[i * 100 + j] = 0; B[i * 50 + j] = 0; C[2 * i] = 0; } }"""
    found = nest(code)
    assert lines(found)[2:] == ["  A[i][j] = 0", "  B[50*i + j] = 0", "  C[2*i] = 0"]
    assert [shape(found, n) for n in "ABC"] == ["flat ?, 100", "?", "?"]


def test_wide_filters_with_constant_sizes() -> None:
    code = """void f(double *restrict o, const double *restrict x) {
        for (int i = 0; i < 10; i++) for (int j = 0; j < 10; j++) for (int u = 0; u < 3; u++)
            for (int v = 0; v < 3; v++) o[i * 10 + j] += x[(2 * i + u) * 22 + 2 * j + v]; }"""
    assert lines(nest(code))[-1].strip() == "o[i][j] += x[2*i + u][2*j + v]"


def test_unsigned_flat_subscripts() -> None:
    body = "for (T i = 1; i < n; i++) for (T j = 0; j < m; j++) A[i * m + j] = A[(i - 1) * m + j];"
    wide = nest("#include <stddef.h>\nvoid f(size_t n, size_t m, double *A) {" + body.replace("T", "size_t") + "}")
    assert lines(wide)[-1].strip() == "A[i][j] = A[i - 1][j]"
    assert not assumptions(wide)
    narrow = nest("void f(unsigned n, unsigned m, double *A) {" + body.replace("T", "unsigned") + "}")
    assert lines(narrow)[-1].strip() == "A[i][j] = A[i - 1][j]"
    assert assumptions(narrow) and all("m" in a or "n" in a for a in assumptions(narrow))


def test_not_affine() -> None:
    found = loop("int i = 0; i < n; i++", "a[i * i] = a[i % m]")
    assert lines(found)[1] == " a[~(i * i)] = a[~(i % m)]"


def test_division_and_remainder() -> None:
    found = loop("int i = 0; i < n; i++", "a[i / 4 + i % 3 + (i >> 1) + (i & 7)] = 0")
    assert lines(found)[1] == (
        " a[i - 3*floor((i)/3) + i - 8*floor((i)/8) + floor((i)/2) + floor((i)/4)] = 0".replace(
            "i - 3*floor((i)/3) + i - 8*floor((i)/8) + floor((i)/2)", "2*i + floor((i)/2) - 3*floor((i)/3)"
        ).replace(" + floor((i)/4)]", " + floor((i)/4) - 8*floor((i)/8)]")
    )


def test_division_of_possibly_negative_numbers_is_opaque() -> None:
    found = loop("int i = -5; i < n; i++", "a[i / 4 + 2] = 0")
    assert lines(found)[1] == " a[~((i / 4) + 2)] = 0"


def test_data_dependent_subscripts() -> None:
    code = """void f(int n, const int *col, double (*B)[9], double *c) {
        for (int i = 0; i < n; i++) c[col[i] + 1] += B[col[i]][i]; }"""
    assert lines(nest(code))[1] == " c[~(col[i] + 1)] += B[~col[i]][i]"


def test_index_variables_are_put_in() -> None:
    code = """void f(int n, int m, double *A, const int *col, double *x) {
        for (int i = 0; i < n; i++) { int base = i * m; const int prev = i > 0 ? i - 1 : 0;
            for (int j = 0; j < m; j++) { int k = base + j; int c = col[j]; A[k] = x[c] + x[prev] + k; } } }"""
    found = nest(code)
    assert shape(found, "A") == "flat ?, m"
    assert lines(found)[2:] == ["  A[i][j] = ((x[~col[j]] + x[~((i > 0) ? (i - 1) : 0)]) + ((i * m) + j))"]


def test_index_variables_that_change_are_not() -> None:
    code = "void f(int n, double *A) { int k = 0; for (int i = 0; i < n; i++) { A[k] = i; k *= 2; } }"
    assert lines(nest(code)) == ["for i = 0 to n", " A[~k] = i", " k *= 2"]


def test_derived_pointers() -> None:
    code = """void f(int n, int m, double *A, double (*B)[64]) {
        for (int i = 1; i < n; i++) { double *row = A + i * m; const double *up = &A[(i - 1) * m]; double *b = B[i];
            double (*c)[64] = B + i;
            for (int j = 0; j < m; j++) { row[j] += up[j]; b[j] = (*c)[j]; } } }"""
    assert lines(nest(code))[2:] == ["  A[i][j] += A[i - 1][j]", "  B[i][j] = B[i][j]"]


def test_structures() -> None:
    code = """struct s { int n; double *d; double a[8]; struct { double z[3]; } in; };
        struct s g;
        void f(int n, struct s *p, struct s v) {
            for (int i = 0; i < n; i++) { p->d[i] = v.a[i] + (*p).a[i] + g.in.z[i]; } }"""
    found = nest(code)
    assert {(a.name, a.base, a.storage) for a in found.arrays} == {
        ("p_d", "p->d", Storage.POINTER),
        ("v_a", "v.a", Storage.LOCAL),
        ("p_a", "p->a", Storage.POINTER),
        ("g_in_z", "g.in.z", Storage.GLOBAL),
    }
    assert shape(found, "v_a") == "8"


def test_rows_behind_tables_of_pointers() -> None:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
    for declared in ("double **a", "double *a[]", "double *a[n]", "double *const *a"):
        (array,) = nest(f"void f(int n, {declared}) {{ {loops} a[i][j] = a[0][j] + *(*(a + i) + 1); }}").arrays
        assert (array.rows, len(array.shape), array.storage) == (1, 2, Storage.POINTER)
    found = nest(f"struct g {{ int ***u; }}; void f(int n, struct g *g) {{ {loops} g->u[i][1][j] = 1; }}")
    assert (found.arrays[0].base, found.arrays[0].rows) == ("g->u", 2)
    row = nest(f"void f(int n, double **a) {{ {loops} {{ double *row = a[i]; row[j] = 1; }} }}")
    assert row.arrays[0].rows == 1
    other = nest(f"void f(int n, double **a, double *restrict x) {{ {loops} x[i] += a[i][j]; }}")
    assert {a.storage for a in other.arrays} == {Storage.POINTER}  # a row may be made of x


def test_pointers_to_pointers_that_are_refused() -> None:
    for declared, place, reason in (
        ("double ****a", "a[i][i][i][i]", "pointers stored in an array of arrays"),
        ("double *a[4][5]", "a[i][i][i]", "pointers stored in an array of arrays"),
        ("struct s { double *u; } *a", "a[i].u[i]", "pointers stored in a structure"),
        ("double *volatile *a", "a[i][i]", "volatile"),
    ):
        found = refusal(f"void f(int n, {declared}) {{\n for (int i = 0; i < n; i++)\n  {place} = 0; }}")
        assert reason in found.reason
        assert (found.span.line, found.span.column) == (3, 3)


def test_a_pointer_from_a_table_is_not_read_again() -> None:
    found = nest("void f(int n, double **a) { double *p = a[0]; g(a); for (int i = 0; i < n; i++) p[i] = 1; }")
    assert found.arrays[0].base is None


def test_a_subscript_known_to_leave_its_dimension() -> None:
    found = refusal("double A[4][5]; void f(void) { for (int i = 0; i < 20; i++) A[0][i] = i; }")
    assert "leaves its dimension" in found.reason
    code = "double A[4][5]; void f(void) { for (int i = 0; i < 20; i++) if (A[0][0] > i) A[0][i] = i; }"
    assert read(code).nests


def test_unknown_aliasing_of_a_size() -> None:
    code = "int n; void f(int *p) { for (int i = 0; i < n; i++) p[i] = 0; }"
    (size,) = nest(code).parameters
    assert size.exposed  # what is written tests that p does not lead there
    for harmless in (("int n;", "static int n;"), ("int *p", "double *p"), ("int *p", "int *restrict p")):
        assert not nest(code.replace(*harmless)).parameters[0].exposed


def test_apart_by_what_the_file_says() -> None:
    code = """#include <stdlib.h>
        static double g[9];
        static void f(int n, double *a, double *b, double *c) {
            for (int i = 0; i < n; i++) a[i] = b[i] + c[i]; }
        int main(void) { double *x = malloc(80), *y = malloc(80); %s
            f(9, x, %s, g); f(9, y, x, g + 1); free(x); return 0; }"""
    assert {a.storage for a in nest(code % ("", "y")).arrays} == {Storage.RESTRICT}
    assert {a.storage for a in nest(code % ("", "x + 1")).arrays} == {Storage.POINTER, Storage.RESTRICT}
    assert nest(code % ("y = x;", "y")).array("a").storage == Storage.POINTER
    assert nest(code.replace("static void", "void") % ("", "y")).array("a").storage == Storage.POINTER


def test_two_names_of_one_array_are_not_put_into_one_region() -> None:
    code = """double u[100];
        void f(void) { const unsigned char *bytes = (const unsigned char *)u; unsigned h = 0;
            for (int i = 0; i < 100; i++) u[i] = i;
            for (int i = 0; i < 100; i++) h = h * 31 + bytes[i];
            u[0] = h; }"""
    assert [n.name for n in read(code).nests] == ["f_0", "f_1"]


def test_pointers_computed_in_front() -> None:
    code = """double g[90];
        void f(int n, double *a, double *restrict r) {
            double *p = a + n, *q = &g[3], *s = r + 1; const double *t = p;
            for (int i = 0; i < n; i++) p[i] = q[i] + s[i] + t[i]; }"""
    assert lines(nest(code))[1] == " a[i + n] = ((g[i + 3] + r[i + 1]) + a[i + n])"


def test_pointers_that_move_keep_their_name() -> None:
    code = """void f(int n, double *restrict a) { double *p = a; p++;
        for (int i = 0; i < n; i++) p[i] = a[i]; }"""
    found = nest(code)
    assert lines(found)[1] == " p[i] = a[i]"
    assert found.array("a").storage == found.array("p").storage == Storage.POINTER


def test_pointers_computed_from_hidden_names_keep_theirs() -> None:
    code = """void f(int n, double *a) { double *p = a + n; int half = n / 2;
        { double a[9]; int n = 3; for (int i = 0; i < half; i++) p[i] = n; a[0] = p[0]; } }"""
    assert lines(nest(code)) == ["for i = 0 to half", " p[i] = n"]


def test_far_fetched_shapes_are_not_assumed() -> None:
    code = """void f(int n, int m, double *A) {
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * m + j] += A[i + 80]; }"""
    found = nest(code)
    assert not assumptions(found)
    assert lines(found)[-1].strip() == "A[~((i * m) + j)] += A[i + 80]"


def test_a_product_of_sizes_alone_is_no_stride() -> None:
    """The last row is a row like the others."""
    code = """void f(int n, int ld, int m, double *A, const double *B) {
        for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++) A[i * ld + j] = B[(i - 1) * ld + j];
        for (int j = 0; j < m; j++) A[(n - 1) * ld + j] = B[(n - 1) * ld + j]; }"""
    text = "\n".join(lines(nest(code)))
    assert "A[i][j] = B[i - 1][j]" in text and "A[n - 1][j_2] = B[n - 1][j_2]" in text


def test_every_other_element_of_a_row() -> None:
    code = """void f(int n, int ld, int m, int c, double *A) { for (int i = 1; i < n - 1; i++)
        for (int j = 1 + (i + c) % 2; j < m - 1; j += 2) A[i * ld + j] = A[i * ld + ld + j] + A[i * ld + j - 1]; }"""
    found = nest(code)
    assert "A[i][j] = (A[i + 1][j] + A[i][j - 1])" in "\n".join(lines(found))


def test_sizes_in_a_product_are_parameters() -> None:
    code = """struct t { int w, s; float *d; };
        void f(const struct t *x, int n, int m, float *restrict y) { if (x->w < 1) return;
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += x->d[(i * x->s + j) * x->w + i]; }"""
    assert {p.base for p in nest(code).parameters} >= {"x->w", "x->s"}


@pytest.mark.parametrize(
    ("access", "read_as"),
    [
        ("p[i * 90 + j]", "a[i][j]"),
        ("p[(i + 1) * 90 + j - 1]", "a[i + 1][j - 1]"),
        ("p[j * 91 + 1]", "a[j][j + 1]"),
        ("p[(i - 1) * 90 + 89 - j]", "a[i - 1][-j + 89]"),
        ("*(p + 90 * i + 3)", "a[i][3]"),
    ],
)
def test_rows_by_their_distance_from_the_first_element(access: str, read_as: str) -> None:
    code = f"""static double a[80][90];
        void f(int n) {{ double *p = &a[0][0];
            for (int i = 0; i < n; i++) for (int j = 1; j < 79; j++) {access} = 0; }}"""
    assert lines(nest(code))[-1].strip() == f"{read_as} = 0"


def test_what_goes_on_from_row_to_row_is_no_row() -> None:
    code = """static double a[80][90];
        void f(int n) { double *p = &a[0][0];
            for (int i = 0; i < n; i++) for (int j = 0; j < 91; j++) p[i * 90 + j] = 0; }"""
    assert {r.reason for r in read(code).rejections} == {"a pointer into a row of 'a' may leave that row"}
