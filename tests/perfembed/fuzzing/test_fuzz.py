"""Wrong nests are found by values that the program does not have; right ones pass, and it is said which loops ran."""

import dataclasses
from pathlib import Path

import pytest

from tests.perfembed.fuzzing_support import fuzzed

pytestmark = pytest.mark.gcc

SIZES = b"""#include <stdint.h>
#include <stdio.h>
#define M 60
static double A[M][M], Z[M][M];
static int first[M], low[M];
static long Buf[3 * M], *B = Buf + M;
static uint32_t out[64];
static void window(size_t off, size_t n) {
    for (size_t i = 0; i < n; i++) for (size_t j = i - off; j < n; j++) Z[j][i] += A[i][j];
}
static void rows(size_t n) {
    for (size_t i = 0; i < n; i++) for (size_t j = first[i]; j < n; j++) B[j] += i + 1;
}
static void range(uint64_t lo, uint64_t hi) {
    for (uint64_t k = lo; k < hi; k++) out[k - lo] = out[k - lo] * 31u + (uint32_t)k;
}
static void blocks(long lo, long hi) {
    for (long i = lo; i < hi; i++) low[i - lo] += 3 + (int)(i & 7);
}
int main(void) {
    for (int i = 0; i < M; i++) for (int k = 0; k < M; k++) A[i][k] = (i * 3 + k) % 17 - 8;
    for (int i = 0; i < M; i++) first[i] = i;
    window(0, 50);
    rows(50);
    range(1000, 1020);
    blocks(10, 30);
    printf("%g %ld %u %d\\n", Z[3][4], B[7], out[3], low[2]);
    return 0;
}
"""
ADD = "Z[j][i] += A[i][j];"
ROW = "for (long j = first[i]; j < (long)n; j++) B[j] += i + 1;"
TILED = """for (long t = lo; t < hi; t += 8)
    for (long i = t; i < hi && i < t + 8; i++) low[i - lo] += 3 + (int)(i & 7);"""
RIGHT = {
    "window_0": (
        "off < 10000",
        f"for (size_t i = 0; i < n; i++) if (i >= off) for (size_t j = i - off; j < n; j++) {ADD}",
    ),
    "rows_0": ("1", f"for (long i = 0; i < (long)n; i++) if (first[i] >= 0) {ROW}"),
    "range_0": (
        "lo < hi && hi - lo < 1000",
        "for (long k = 0; k < (long)(hi - lo); k++) out[k] = out[k] * 31u + (uint32_t)(k + lo);",
    ),
    "blocks_0": ("hi < 9223372036854775000 && lo > -1000", TILED),
}
WRONG = {
    "window_0": (
        "1",
        f"for (long i = 0; i < (long)n; i++) for (long j = i - (long)off; j < (long)n; j++) {ADD}",
    ),
    "rows_0": ("1", f"for (long i = 0; i < (long)n; i++) {ROW}"),
    "range_0": ("1", "for (long k = lo; k < (long)hi; k++) out[k - lo] = out[k - lo] * 31u + (uint32_t)k;"),
    "blocks_0": ("1", TILED),
}


def test_wrapping_bounds_carried_over_without_their_types_are_found(tmp_path: Path) -> None:
    """The captured run is right with all four."""
    fuzzing = fuzzed(tmp_path, SIZES, loops=WRONG)
    wrong = fuzzing.wrong
    assert wrong.keys() == WRONG.keys(), fuzzing.nests
    assert wrong["window_0"].startswith("with off = ")
    assert wrong["rows_0"].startswith("with n = ") and "other contents of its arrays" in wrong["rows_0"]
    assert wrong["range_0"].startswith("with lo = ")
    assert wrong["blocks_0"].startswith("with lo = 92233720368547757")
    assert all(not found.lines("bit-identical") for found in fuzzing.nests.values())


def test_right_nests_pass_and_both_their_branches_are_counted(tmp_path: Path) -> None:
    fuzzing = fuzzed(tmp_path, SIZES, loops=RIGHT, seconds=12.0)
    assert not fuzzing.wrong
    for found in fuzzing.nests.values():
        assert found.same >= 8 and found.tuned >= 4, fuzzing.nests
    assert fuzzing.nests["range_0"].tuned < fuzzing.nests["range_0"].same
    assert fuzzing.nests["blocks_0"].tuned < fuzzing.nests["blocks_0"].same
    window = fuzzing.nests["window_0"]
    said = f"bit-identical on {window.same} other sizes and values ({window.tuned} by the new loops), sanitizers silent"
    assert window.lines("bit-identical")[0] == said


LAST = b"""#include <stdio.h>
#include <stdlib.h>
#define N 64
static double a[N][N], c[N][N];
int main(int argc, char **argv) {
    unsigned n = argc > 1 ? atoi(argv[1]) : N, i;
    for (int r = 0; r < N; r++) for (int j = 0; j < N; j++) a[r][j] = (r * 7 + j) % 11;
    if (argc > 2) puts(argv[2]);
    for (i = n - 1; i < n; i--)
        for (int j = 0; j < N; j++) c[i][j] = a[i][j] * 2;
    printf("%g\\n", c[3][4]);
    if (argc > 1) printf("%u\\n", i);
    return 0;
}
"""
COUNTED = "for (i = 0; i < n; i++) for (int j = 0; j < N; j++) c[i][j] = a[i][j] * 2;"


@pytest.mark.parametrize("arguments", [(), ("64",)])
def test_a_last_value_that_is_printed_with_arguments_only(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    fuzzing = fuzzed(tmp_path, LAST, loops={"main_1": ("1", COUNTED)}, arguments=arguments)
    (wrong,) = fuzzing.wrong.values()
    assert (wrong.startswith("with the") and "became" in wrong) or wrong.endswith("i differs"), wrong


OVERFLOW = b"""#include <stdio.h>
#include <stdlib.h>
#define N 512
static double c[N];
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 490;
    for (int i = 0; i < n; i++) {
        c[i] = 1;
        if (i * 4300000 < 0) c[i] = 1000;
    }
    printf("%g\\n", c[n - 1]);
    return 0;
}
"""


def test_other_arguments_show_a_condition_folded_away(tmp_path: Path) -> None:
    loops = {"main_0": ("1", "for (int i = 0; i < n; i++) c[i] = 1;")}
    fuzzing = fuzzed(tmp_path, OVERFLOW, loops=loops, arguments=("490",), flags=("-O2", "-fwrapv"))
    assert fuzzing.wrong == {"main_0": "with the arguments 512: stdout line 1: b'1000' became b'1'"}


def test_arguments_that_the_original_is_undefined_with_do_not_count(tmp_path: Path) -> None:
    """The same without the flag: 512 overflows."""
    loops = {"main_0": ("1", "for (int i = 0; i < n; i++) c[i] = 1;")}
    fuzzing = fuzzed(tmp_path, OVERFLOW, loops=loops, arguments=("490",))
    assert not fuzzing.wrong and fuzzing.nests["main_0"].arguments > 2


ROWS = b"""#include <stdio.h>
#include <stdlib.h>
struct grid { int n; double *values; };
static void scale(struct grid *g, double **rows, const int *at, int m, int *left) {
    int last = -1;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < g->n; j++) rows[i][j] = 2 * g->values[at[i]] + j;
        last = i;
    }
    *left = last;
}
int main(void) {
    int m = 20, n = 30, left;
    double **rows = malloc(m * sizeof *rows), *values = malloc(n * sizeof *values);
    int *at = malloc(m * sizeof *at);
    for (int i = 0; i < m; i++) rows[i] = calloc(n, sizeof **rows), at[i] = i % 3;
    for (int i = 0; i < n; i++) values[i] = i * 0.5;
    struct grid g = {n, values};
    scale(&g, rows, at, m, &left);
    printf("%g %d\\n", rows[3][4], left);
    return 0;
}
"""


SCALE = "for (int j = 0; j < g->n; j++) rows[i][j] = 2 * g->values[at[i]] + j;"
FIXED, OTHER = SCALE.replace("g->n", "30"), SCALE.replace("at[i]", "i % 3")


@pytest.mark.parametrize(
    ("body", "behind", "problem"),
    [
        (f"{SCALE} last = i;", "", ""),
        (f"{FIXED} last = i;", "", "rows differs"),
        (f"{OTHER} last = i;", "", "rows differs"),
        (SCALE, "if (m > 0) last = m - 1;", ""),
        (SCALE, "last = m - 1;", "last differs"),
        (f"{SCALE} last = at[i + 1] == -77 ? 0 : i;", "", "AddressSanitizer: heap-buffer-overflow"),
    ],
)
def test_rows_members_index_arrays_and_scalars(tmp_path: Path, body: str, behind: str, problem: str) -> None:
    loops = f"for (int i = 0; i < m; i++) {{ {body} }} {behind}"
    fuzzing = fuzzed(tmp_path, ROWS, loops={"scale_0": ("1", loops)})
    found = fuzzing.nests["scale_0"]
    assert found.wrong.endswith(problem) and bool(found.wrong) == bool(problem), fuzzing.nests
    assert problem or (found.same > 8 and found.tuned == found.same)


REPEATED = b"""#include <stdio.h>
static int c[100];
static int junk(int n) {
    int s;
    for (int i = 0; i < n; i++) { s = i * 3; c[i] += s; }
    return s;
}
static void twice(int n, const double *a, double *b) {
    for (int i = 0; i < n; i++) b[i] = a[i] * 0.1 + 1.0;
}
static double a[100], b[100];
int main(void) {
    for (int i = 0; i < 100; i++) a[i] = i * 0.37;
    twice(90, a, b);
    printf("%d %g\\n", junk(50), b[3]);
    return 0;
}
"""


def test_sums_in_another_order_are_compared_within_the_tolerance(tmp_path: Path) -> None:
    loops = {"twice_0": ("1", "for (int i = 0; i < n; i++) b[i] = (a[i] + 10.0) / 10.0;")}
    assert "b differs" in fuzzed(tmp_path, REPEATED, loops=loops).wrong["twice_0"]
    assert not fuzzed(tmp_path, REPEATED, loops=loops, tolerance=1e-6).wrong


def test_without_a_sanitizer_or_time_it_says_so(tmp_path: Path) -> None:
    nothing = {"twice_0": ""}
    fuzzing = fuzzed(tmp_path, REPEATED, nothing, flags=("-O2", "-fsanitize=nothing"))
    assert "cannot be built with the sanitizers" in fuzzing.nests["twice_0"].skipped
    late = fuzzed(tmp_path, REPEATED, nothing, wall_s=0.0)
    assert late.nests["twice_0"].lines("") == ("not run on other sizes and values: no time was left",)


THREADS = b"""#include <stdio.h>
static int c[1000];
static void add(int n) {
    for (int i = 0; i < n; i++) c[i] += i;
}
int main(void) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 1000; i++) c[i] = i;
    add(900);
    printf("%d\\n", c[7]);
    return 0;
}
"""


def test_a_process_with_threads_is_not_copied(tmp_path: Path) -> None:
    fuzzing = fuzzed(tmp_path, THREADS, {"add_0": ""})
    assert fuzzing.nests["add_0"].skipped == "the program runs several threads then"


def test_the_program_that_runs_does_not_leave_anything(tmp_path: Path) -> None:
    text = REPEATED.replace(b"twice(90, a, b);", b'fclose(fopen("left.txt", "w")); twice(90, a, b);')
    before = set(tmp_path.iterdir())
    fuzzing = fuzzed(tmp_path, text, {"twice_0": ""})
    assert {p.name for p in set(tmp_path.iterdir()) - before} == {"program.c", "fuzzing", "stage"}
    assert fuzzing.nests["twice_0"].same and not dataclasses.replace(fuzzing.nests["twice_0"]).wrong
