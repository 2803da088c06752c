"""Captured inputs: replaying a nest on them gives what the program computed."""

from pathlib import Path

import numpy as np
import pytest

from perfembed.capture import CaptureFailed, RandomisedInputs, capture_nests, make_workload
from profilers.workload import CapturedFill
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from tests.perfembed.capture_support import (
    assert_replays,
    captured,
    contents,
    good,
    good_profile,
    marked,
    replay,
)

GLOBALS = """#include <stdio.h>
#define N 37
static double A[N][N + 3], B[N]; double s = 0.5; static int k = 2;
int main(void)
{
    for (int i = 0; i < N; i++) { B[i] = i; for (int j = 0; j < N + 3; j++) A[i][j] = i * j % 11; }
    for (int t = 0; t < 5; t++) {
        register double f = 0.25 * t;
        /*<*/for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                A[i][j] = A[i][j + 3] * f + B[j] * k;
                s += A[i][j];
            }/*>*/
    }
    printf("%.17g\\n", s);
    return 0;
}
"""
GLOBALS_IR = """nest globals {
  array A: double[37][40];
  array B: double[37];
  array s: double;
  array k: int;
  array f: double local;
  for i: int in [0, 37) step 1 {
    for j: int in [0, 37) step 1 {
      S0: A[i][j] = A[i][j + 3] * f + B[j] * (double)k;
      S1: s += A[i][j];
    }
  }
}
"""


@pytest.mark.gcc
def test_global_arrays_and_scalars(tmp_path: Path) -> None:
    source = marked(tmp_path / "globals.c", GLOBALS, GLOBALS_IR)
    [capture] = captured(source, tmp_path / "work")
    capture = good(capture)
    assert {a.name: a.shape for a in capture.arrays} == {"A": (37, 40), "B": (37,), "s": (), "k": (), "f": ()}
    assert contents(capture, "k") == 2
    assert contents(capture, "B").tolist() == list(range(37))
    assert capture.parameters == {} and capture.overlaps == ()
    assert capture.total_bytes == 37 * 40 * 8 + 37 * 8 + 8 + 4 + 8
    assert all(0 <= a.address_modulo < 4096 for a in capture.arrays)
    assert_replays(source.nests[0], capture, tmp_path)


FLAT = """#include <stdio.h>
#include <stdlib.h>
static void step(int n, int m, const float *in, float *out)
{
    /*<*/for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            out[i * m + j] = in[(i - 1) * m + j] + in[(i + 1) * m + j];/*>*/
}
int main(void)
{
    int n = 30, m = 50;
    float *a = malloc(sizeof *a * n * m), *b = calloc((n - 1) * m, sizeof *b);
    for (int i = 0; i < n * m; i++) a[i] = i % 13;
    for (int t = 0; t < 9; t++) step(4, 3, a, b);
    step(n, m, a, b);
    double s = 0;
    for (int i = 0; i < (n - 1) * m; i++) s += b[i];
    printf("%g\\n", s);
    return 0;
}
"""
FLAT_IR = """nest flat {
  param n: int;
  param m: int;
  array in: float[?][m] pointer flat const;
  array out: float[n][m] pointer flat;
  for i: int in [1, n - 1) step 1 {
    for j: int in [0, m) step 1 {
      S0: out[i][j] = in[i - 1][j] + in[i + 1][j];
    }
  }
}
"""


@pytest.mark.gcc
def test_flat_pointers_at_the_heavy_call(tmp_path: Path) -> None:
    """The extent of `in` follows from its subscripts; that of `out` is more than was allocated."""
    source = marked(tmp_path / "flat.c", FLAT, FLAT_IR)
    capture = good(captured(source, tmp_path / "work")[0])
    assert capture.parameters == {"n": 30, "m": 50}
    assert capture.call == 10
    assert capture.array("in").shape == (30, 50)
    assert capture.array("out").shape == (30, 50)
    assert capture.array("out").known_bytes == 29 * 50 * 4
    assert_replays(source.nests[0], capture, tmp_path)


@pytest.mark.gcc
def test_pointer_without_enough_memory_behind_it(tmp_path: Path) -> None:
    text = FLAT.replace("malloc(sizeof *a * n * m)", "malloc(sizeof *a * n * m - 4)").replace(
        "b[i];\n", "b[i];\n a[0]=0;"
    )
    [capture] = captured(marked(tmp_path / "flat.c", text, FLAT_IR), tmp_path / "work")
    assert capture == CaptureFailed("flat", "it uses 6000 bytes of in, of which only 5996 are allocated")


VLA = """#include <stdio.h>
#include <stdlib.h>
static void vla(int n, double A[n][n], double x[n])
{
    /*<*/for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            A[i][j] = A[i][j] - x[j] * A[j][i];/*>*/
}
int main(void)
{
    int n = 24;
    double x[n], (*A)[n];
    if (posix_memalign((void **)&A, 64, sizeof(double[n][n]))) return 1;
    for (int i = 0; i < n; i++) { x[i] = i; for (int j = 0; j < n; j++) A[i][j] = i - j; }
    vla(n, A, x);
    printf("%g\\n", A[n - 1][0]);
    return 0;
}
"""
VLA_IR = """nest vla {
  param n: int;
  array A: double[n][n] pointer;
  array x: double[n] pointer;
  for i: int in [0, n) step 1 {
    for j: int in [0, i + 1) step 1 {
      S0: A[i][j] = A[i][j] - x[j] * A[j][i];
    }
  }
}
"""


@pytest.mark.gcc
def test_vla_parameters(tmp_path: Path) -> None:
    source = marked(tmp_path / "vla.c", VLA, VLA_IR)
    capture = good(captured(source, tmp_path / "work")[0])
    assert capture.array("A").shape == (24, 24)
    assert capture.array("A").address_modulo % 64 == 0
    assert_replays(source.nests[0], capture, tmp_path)


CSR = """#include <stdio.h>
#include <stdlib.h>
{declare}
static void spmv(int n, const int *start, const int *col, const double *val, const double *x, double *y)
{{
    /*<*/for (int i = 0; i < n; i++)
        for (int p = start[i]; p < start[i + 1]; p++)
            y[i] += val[p] * x[col[p]];/*>*/
}}
int main(void)
{{
    int n = 50;
    {define}
    int nnz = 0;
    for (int i = 0; i < n; i++) {{
        start[i] = nnz; x[i] = 1 + i; y[i] = 0;
        for (int q = 0; q < i % 4; q++, nnz++) {{ col[nnz] = (i * 7 + q) % n; val[nnz] = q + 0.5; }}
    }}
    start[n] = nnz;
    spmv(n, start, col, val, x, y);
    printf("%g\\n", y[n - 1]);
    return 0;
}}
"""
CSR_IR = """nest csr {
  param n: int;
  array start: int[?] pointer const;
  array col: int[?] pointer const;
  array val: double[?] pointer const;
  array x: double[?] pointer const;
  array y: double[?] pointer;
  for i: int in [0, n) step 1 {
    for p: int in [opaque(start[i]), opaque(start[i + 1])) step 1 {
      S0: y[i] += val[p] * x[opaque(col[p])];
    }
  }
}
"""
ON_HEAP = """int *start = malloc(4 * (n + 1)), *col = NULL; double *all = aligned_alloc(64, 8 * 1024);
    double *x = all, *y = all + n, *val = all + 2 * n;
    col = realloc(malloc(8), 4 * 300);"""
STATIC = "static int start[51], col[300]; static double val[400], x[50], y[50];"
ON_STACK = "int start[51], col[300]; double val[400], x[50], y[50];"


@pytest.mark.gcc
@pytest.mark.parametrize("place", ["heap", "static", "static in main"])
def test_csr_sizes_come_from_the_allocation(tmp_path: Path, place: str) -> None:
    declare = STATIC if place == "static" else ""
    define = {"heap": ON_HEAP, "static": "", "static in main": STATIC}[place]
    source = marked(tmp_path / "csr.c", CSR.format(declare=declare, define=define), CSR_IR)
    capture = good(captured(source, tmp_path / "work")[0])
    assert capture.array("start").shape == (51,)
    assert capture.array("col").shape == (300,)
    assert capture.array("y").shape == (50,)
    if place == "heap":
        assert capture.array("val").shape == (1024 - 100,)
        # x is indexed by data, so it may reach to the end of the block that y and val lie in
        assert set(capture.overlaps) == {("val", "x"), ("x", "y")}
        source_text, specs = kernel_source(plain(source.nests[0]), emit_original(plain(source.nests[0])))
        failed = make_workload(source.nests[0], source_text, specs, capture, "captured", 1)
        assert isinstance(failed, CaptureFailed) and "x and y overlap" in failed.reason
    else:
        assert capture.array("val").shape == (400,)
        assert capture.overlaps == ()
        assert_replays(source.nests[0], capture, tmp_path)


@pytest.mark.gcc
def test_csr_on_the_stack_is_refused(tmp_path: Path) -> None:
    source = marked(tmp_path / "csr.c", CSR.format(declare="", define=ON_STACK), CSR_IR)
    [capture] = captured(source, tmp_path / "work")
    assert isinstance(capture, CaptureFailed)
    assert capture.reason.startswith("the size of col is unknown: its subscripts depend on data")


@pytest.mark.gcc
def test_several_nests_in_one_run_and_exit_once_done(tmp_path: Path) -> None:
    """The second nest is typical at its last call; what comes later in the program is not run."""
    text = """#include <stdio.h>
static double a[3000];
int main(void)
{
    double s = 0; int n = 3000;
    /*<*/for (int i = 0; i < n; i++) a[i] = i;/*>*/
    for (int r = 0; r < 3; r++) {
        n = r == 2 ? 3000 : 3;
        /*<*/for (int i = 0; i < n; i++) s += a[i];/*>*/
    }
    FILE *f = fopen("%s", "a"); fprintf(f, "%g", s); fclose(f);
    return 0;
}
"""
    first = """nest first {
  param n: int;
  array a: double[3000];
  for i: int in [0, n) step 1 {
    S0: a[i] = i@double;
  }
}
""".replace("i@double", "(double)i")
    second = """nest second {
  param n: int;
  array a: double[3000];
  array s: double local;
  for i: int in [0, n) step 1 {
    S0: s += a[i];
  }
}
"""
    log = tmp_path / "log"
    source = marked(tmp_path / "two.c", text.replace("%s", str(log)), first, second)
    captures = [good(c) for c in captured(source, tmp_path / "work")]
    assert log.read_text() == 2 * "4.49851e+06"  # by the program as it is and by the one that is timed
    assert captures[1].call == 3 and captures[1].parameters == {"n": 3000}
    for k, capture in enumerate(captures):
        (tmp_path / str(k)).mkdir()
        assert_replays(source.nests[k], capture, tmp_path / str(k))


OVERLAP = """#include <stdlib.h>
static void shift(int n, double *a, double *b, double *c)
{
    /*<*/for (int i = 0; i < n; i++) a[i] = b[i] + c[i];/*>*/
}
int main(void)
{
    double *x = calloc(300, 8);
    shift(100, x, x + OFFSET, x + 200);
    free(x);
    return 0;
}
"""
OVERLAP_IR = """nest shift {
  param n: int;
  array a: double[?] pointer;
  array b: double[?] pointer;
  array c: double[?] pointer;
  for i: int in [0, n) step 1 {
    S0: a[i] = b[i] + c[i];
  }
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("offset", "pairs", "harmful"),
    [("1", (("a", "b"),), True), ("100", (), False), ("101", (("b", "c"),), False)],
)
def test_overlapping_pointers(tmp_path: Path, offset: str, pairs: tuple[tuple[str, str], ...], harmful: bool) -> None:
    source = marked(tmp_path / "o.c", OVERLAP.replace("OFFSET", offset), OVERLAP_IR)
    capture = good(captured(source, tmp_path / "work")[0])
    assert capture.overlaps == pairs
    nest = source.nests[0]
    made = make_workload(nest, *kernel_source(plain(nest), emit_original(plain(nest))), capture, "captured", 1)
    assert isinstance(made, CaptureFailed) == harmful


@pytest.mark.gcc
def test_cap_before_and_at_the_run(tmp_path: Path) -> None:
    flat = marked(tmp_path / "flat.c", FLAT, FLAT_IR)
    [capture] = captured(flat, tmp_path / "work", cap=8000)
    assert isinstance(capture, CaptureFailed)
    assert "GiB, more than the limit" in capture.reason
    csr = marked(tmp_path / "csr.c", CSR.format(declare=STATIC, define=""), CSR_IR)
    [capture] = captured(csr, tmp_path / "work2", cap=4500)
    assert isinstance(capture, CaptureFailed)
    assert "GiB, more than the limit" in capture.reason


@pytest.mark.gcc
def test_reasons(tmp_path: Path) -> None:
    """Null pointers, accesses before the start, assumptions, long double, programs that change or die."""

    def reason(name: str, text: str, ir: str) -> str:
        [capture] = captured(marked(tmp_path / f"{name}.c", text, ir), tmp_path / name)
        assert isinstance(capture, CaptureFailed), capture
        return capture.reason

    null = OVERLAP.replace("OFFSET", "100").replace("a[i] = b[i] + c[i]", "if (c) a[i] = b[i] + c[i]")
    null = null.replace("x + 200);", "NULL);")
    assert reason("null", null, OVERLAP_IR) == "it uses 800 bytes of c, of which only 0 are allocated"
    before = OVERLAP.replace("OFFSET", "100").replace("a[i] = b[i]", "a[i] = b[i - 2]")
    assert "b is accessed 2 elements before" in reason("before", before, OVERLAP_IR.replace("b[i]", "b[i - 2]"))
    assumed = OVERLAP_IR.replace("  for", "  assume n - 101 >= 0;\n  for", 1)
    plain_text = OVERLAP.replace("OFFSET", "100")
    assert "only where n - 101 >= 0, which does not hold for n = 100" in reason("assumed", plain_text, assumed)
    wide = OVERLAP_IR.replace("c: double", "c: long double")
    assert "long double" in reason("wide", plain_text.replace("double *c", "long double *c"), wide)

    again = """static int count(void)
{
    FILE *f = fopen("MARK", "r");
    if (f) { fclose(f); END }
    fclose(fopen("MARK", "w"));
    return 100;
}
int main"""
    changing = plain_text.replace("<stdlib.h>", "<stdlib.h>\n#include <stdio.h>").replace(
        "shift(100,", "shift(count(),"
    )
    ends = {"return 99;": "n was 100 and then 99", "abort();": "SIGABRT", "exit(0);": "before call 1"}
    for end, expected in ends.items():
        (tmp_path / "mark").unlink(missing_ok=True)
        text = changing.replace("int main", again.replace("END", end).replace("MARK", str(tmp_path / "mark")))
        assert expected in reason("again", text, OVERLAP_IR)


@pytest.mark.gcc
def test_randomised_inputs_keep_what_decides_addresses(tmp_path: Path) -> None:
    source = marked(tmp_path / "csr.c", CSR.format(declare=STATIC, define=""), CSR_IR)
    nest = source.nests[0]
    capture = good(captured(source, tmp_path / "work")[0])
    kernel = kernel_source(plain(nest), emit_original(plain(nest)))
    made = make_workload(nest, *kernel, capture, RandomisedInputs(3), 1)
    again = make_workload(nest, *kernel, capture, RandomisedInputs(3), 1)
    other = make_workload(nest, *kernel, capture, RandomisedInputs(4), 1)
    assert not isinstance(made, CaptureFailed) and made == again != other
    fills = {a.name: a.fill for a in made.arguments}
    assert isinstance(fills["start"], CapturedFill) and isinstance(fills["col"], CapturedFill)
    assert fills["x"].low == 1 / 2 < 1 and fills["x"].high > 50  # type: ignore[union-attr]
    assert fills["val"].low == 0  # type: ignore[union-attr]
    assert fills["y"].low == 0 and fills["y"].high == 1  # type: ignore[union-attr]


@pytest.mark.gcc
def test_partial_functions_stay_near_the_captured_values(tmp_path: Path) -> None:
    text = VLA.replace("x[j] * A[j][i]", "x[j] / A[j][i]").replace("i - j;", "1 + i + j;")
    ir = VLA_IR.replace("x[j] * A[j][i]", "x[j] / A[j][i]")
    source = marked(tmp_path / "vla.c", text, ir)
    nest = source.nests[0]
    capture = good(captured(source, tmp_path / "work")[0])
    kernel = kernel_source(plain(nest), emit_original(plain(nest)))
    made = make_workload(nest, *kernel, capture, RandomisedInputs(1), 1)
    assert not isinstance(made, CaptureFailed)
    fill = next(a.fill for a in made.arguments if a.name == "A")
    assert isinstance(fill, CapturedFill)
    values = np.fromfile(fill.path, "f8")
    ratio = values / contents(capture, "A").ravel()
    assert 0.9 <= ratio.min() < 0.95 and 1.05 < ratio.max() <= 1.1


def test_capture_run_builds_with_clang_and_odd_flags(tmp_path: Path) -> None:
    from profilers.build import CompilerConfig, compiler_path
    from profilers.contained.errors import CompilerMissing

    try:
        compiler_path("clang-22")
    except CompilerMissing:
        pytest.skip("no clang")
    source = marked(tmp_path / "globals.c", GLOBALS, GLOBALS_IR)
    clang = CompilerConfig(
        "clang-22", ("-std=c99", "-O1", "-Wall", "-Werror", "-pedantic-errors", "-x", "c", "-Dlock=7")
    )
    profile = good_profile(source, tmp_path / "work", compiler=clang)
    [capture] = capture_nests((source,), source.nests, profile, tmp_path / "work", after=True).values()
    assert replay(source.nests[0], good(capture), tmp_path)
