"""Loops whose iterators and limits wrap, or are no numbers of `long`: written files do what C says, on both paths."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, read_source
from tests.rewriting import identity, read, without_originals

NEW, OLD = True, False  # which loops run
MAX = 2**63 - 1

# function -> (its text, then for each three arguments which loops have to run)
FUNCTIONS: dict[str, tuple[str, dict[tuple[int, int, int], bool]]] = {
    "start_wraps": (
        "(size_t off, size_t n, long k) {"
        " for (size_t i = 0; i < n; i++) for (size_t j = i - off; j < n; j++) A[j] += i + k; }",
        {(3, 9, 1): NEW, (0, 9, 1): NEW, (9, 2, 0): NEW, (1, 0, 0): NEW, (-1, 5, 0): NEW, (MAX, 4, 0): NEW},
    ),
    "start_from_data": (
        "(size_t n, long k, long d) { (void)d;"
        " for (size_t i = 0; i < n; i++) for (size_t j = first[i] - k; j < n; j++) A[j] += i + 1; }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW, (9, 100, 0): NEW},
    ),
    "narrow_start_from_data": (
        "(unsigned n, long k, long d) { (void)d; for (unsigned i = 0; i < n; i++)"
        " for (unsigned j = first[i] - (int)k; j < n; j++) A[j] += i + 1; }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW, (9, 100, 0): NEW},
    ),
    "signed_start_of_unsigned_data": (
        "(unsigned n, long k, long d) { (void)d; for (unsigned i = 0; i < n; i++) { int m = first[i] - (int)k;"
        " for (size_t j = m; j < n; j++) A[j] += i + 1; } }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW},
    ),
    "set_in_the_iteration": (
        "(int n, int k, long d) { (void)d; for (int i = 0; i < n; i++) { size_t lo = i - k;"
        " for (size_t j = lo; j < (size_t)n; j++) A[j] += i + 1; } }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW, (-4, 3, 0): NEW},
    ),
    "member": (
        "(long n, long k, long d) { (void)d; s.n = n; s.k = k; for (unsigned i = 0; i < s.n; i++)"
        " for (unsigned j = i - s.k; j < s.n; j++) A[j] += i + 1; }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW},
    ),
    "inlined": (
        "(long n, long k, long d) { (void)d; for (int i = 0; i < n; i++) A[i] += sum(i - (int)k, (unsigned)n); }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW, (0, 3, 0): NEW},
    ),
    "rows": (
        "(size_t n, long k, long d) { (void)d; (void)k;"
        " for (size_t i = 0; i < n; i++) for (size_t j = row[i] - 1; j < row[i + 1]; j++) A[j] += i + 1; }",
        {(9, 0, 0): NEW, (1, 0, 0): NEW},
    ),
    "data_below_zero": (
        "(long n, long k, long d) { (void)d; unsigned *m = P + 300; for (int i = 0; i < n; i++)"
        " for (size_t j = row[i] - k; j < row[i + 1] - k + 2; j++) m[j] += i + 1; }",
        {(9, 0, 0): NEW, (9, 3, 0): NEW, (9, 100, 0): NEW},
    ),
    "limits_beyond_long": (
        "(uint64_t lo, uint64_t hi, long d) { (void)d; for (uint64_t k = lo; k < hi; k++) A[k - lo] += (long)k; }",
        {(1000, 1020, 0): NEW, (MAX - 3, MAX - 3 + 9, 0): OLD, (-20, -3, 0): OLD, (-5, 4, 0): OLD, (5, 4, 0): NEW},
    ),
    "sum_beyond_long": (
        "(uint64_t lo, uint64_t n, long d) { (void)d; for (uint64_t k = lo; k < lo + n; k++) A[k - lo] += 7; }",
        {(1000, 20, 0): NEW, (MAX - 3, 9, 0): OLD, (-4, 9, 0): OLD, (0, 0, 0): NEW},
    ),
    "near_the_end_of_long": (
        "(long lo, long n, long d) { (void)d; for (long k = lo; k < lo + n; k++) A[k - lo] += k & 7; }",
        {(0, 20, 0): NEW, (MAX - 20, 20, 0): OLD, (-MAX, 20, 0): OLD},
    ),
    "sum_of_narrow_sizes": (
        "(int n, int m, long d) { (void)d; for (long t = 0; t < (long)n + m; t++) A[t & 63] += t; }",
        {(9, 5, 0): NEW, (2**31 - 1, -(2**31) + 9, 0): NEW, (-5, 2, 0): NEW},
    ),
    "step_over_the_end": (
        "(unsigned char n, long k, long d) { (void)d; (void)k; for (unsigned char i = 250; i < n; i += 3) A[i] += 1; }",
        {(252, 0, 0): NEW, (254, 0, 0): OLD, (3, 0, 0): NEW},
    ),
    "step_below_zero": (
        "(unsigned n, long k, long d) { (void)d; (void)k; for (unsigned i = n; i > 1; i -= 2) A[i] += i; }",
        {(12, 0, 0): NEW, (7, 0, 0): NEW, (0, 0, 0): NEW},
    ),
    "compared_as_narrower": (
        "(size_t a, int n, long d) { (void)d; for (size_t i = a; (int)i < n; i++) A[i & 1023] += 1; }",
        {(3, 9, 0): NEW, (2**32 - 3, 9, 0): OLD},
    ),
    "compared_as_unsigned": (
        "(int a, unsigned n, long d) { (void)d; for (int i = a; i < n; i++) A[i] += 1; }",
        {(3, 9, 0): NEW, (-3, 9, 0): OLD},
    ),
    "signed_char_against_unsigned": (
        "(signed char a, unsigned n, long d) { (void)d; for (signed char i = a; i < n; i++) A[i & 255] += 1; }",
        {(3, 90, 0): NEW, (3, 200, 0): OLD, (-3, 90, 0): OLD},
    ),
    "added_before_it_is_compared": (
        "(unsigned a, unsigned n, long d) { (void)d; for (unsigned i = a; i + 5 < n; i++) A[i & 255] += 1; }",
        {(3, 90, 0): NEW, (3, 4, 0): NEW, (2**32 - 3, 90, 0): OLD},
    ),
    "added_to_data": (
        "(long n, long k, long d) { (void)d; (void)k; for (int i = 0; i < n; i++)"
        " for (long j = 0; j + 5 < (long)row[i]; j++) A[j] += i; }",
        {(9, 0, 0): NEW},
    ),
    "counted_down_from_data": (
        "(long n, long k, long d) { (void)d; for (int i = 0; i < n; i++)"
        " for (unsigned j = first[i] * (unsigned)k; j-- > 0;) A[j] += i; }",
        {(9, 0, 0): NEW, (9, 1, 0): NEW},
    ),
    "stops_by_wrapping": (
        "(unsigned n, long k, long d) { (void)d; (void)k; unsigned i;"
        " for (i = n - 1; i < n; i--) A[i] += i; A[300] += i; }",
        {(9, 0, 0): NEW, (1, 0, 0): NEW, (0, 0, 0): OLD},
    ),
    "last_value_in_another_type": (
        "(unsigned n, long k, long d) { (void)d; (void)k; long j;"
        " for (j = n; j > 0; j -= 2) A[j] += 1; A[300] += j; for (j = n; j < 30; j += 7) A[j] += 1; A[301] += j; }",
        {(9, 0, 0): NEW, (8, 0, 0): NEW, (0, 0, 0): NEW},
    ),
    "stops_at_the_largest": (
        "(unsigned n, long k, long d) { (void)d; (void)k; unsigned i;"
        " for (i = n; i != -1u; i--) A[i] += i; A[300] += i; }",
        {(9, 0, 0): NEW, (0, 0, 0): NEW, (-1, 0, 0): OLD},
    ),
    "large_factor": (
        "(size_t n, long k, long d) { (void)d; (void)k;"
        " for (size_t i = 0; i < n; i++) if (i * 0x4000000000000000u < 5) A[i] += 3; }",
        {(3, 0, 0): NEW, (40, 0, 0): NEW},
    ),
    "taken_by_wrapping": (
        "(size_t n, size_t a, long d) { (void)d; for (size_t i = a; i + (size_t)-3 < n; i++) A[i & 1023] += 1; }",
        {(9, 3, 0): NEW, (0, 3, 0): NEW, (9, 2, 0): OLD},
    ),
    "taken_from_unsigned": (
        "(unsigned n, unsigned a, long d) { (void)d; for (unsigned i = a; i - 2 < n; i++) A[i & 1023] += 1; }",
        {(9, 3, 0): NEW, (0, 2, 0): NEW, (9, 1, 0): OLD},
    ),
    "large_factor_as_signed": (
        "(size_t n, long k, long d) { (void)d; (void)k;"
        " for (size_t i = 0; i < n; i++) if ((long)(i * 0x4000000000000000u) < 5) A[i] += 3; }",
        {(40, 0, 0): NEW},
    ),
    "stepped_in_another_type": (
        "(int a, int n, long d) { (void)d; for (int i = a; i < n; i += 1u << 29) A[i & 1023] += 1;"
        " for (int i = a; i < n; i += (1L << 32) + (1 << 29)) A[i & 1023] += 1; }",
        {(3, 9, 0): NEW, (-9, 1 << 30, 0): NEW, (3, 2**31 - (1 << 29) + 1, 0): OLD},
    ),
    "converted_then_stepped": (
        "(int n, long k, long d) { (void)d; (void)k; for (int i = 0; i < n; i++)"
        " for (int j = 300; j > 5; j = (unsigned char)j - 1) A[j] += i; }",
        {(9, 0, 0): NEW},
    ),
    "first_stepped_then_compared": (
        "(unsigned n, int k, long d) { (void)d; int i = k; while (++i < n) A[i & 1023] += i; }",
        {(9, 0, 0): NEW, (9, -5, 0): OLD},
    ),
    "added_to_the_ends_of_long": (
        "(int n, long k, long d) { (void)d; (void)k; ends[1] = -MAX - 1; ends[2] = MAX; for (int i = 0; i < n; i++)"
        " for (long j = 0; j + 5 < ends[i & 1]; j++) A[j] += 1;"
        " for (int i = 0; i < n; i++) for (long j = 9; j - 3 > ends[i & 2]; j--) A[j] += 1; }",
        {(9, 0, 0): NEW},
    ),
    "towards_each_other": (
        "(long n, long k, long d) { (void)d; for (long i = n * k - 4, j = k; i < j; i++, j--) A[i + 40] += 3; }",
        {(1, 1, 0): NEW, (2, 1, 0): NEW, (5, 3, 0): NEW, (1, 12, 0): NEW},
    ),
    "by_a_variable": (
        "(long a, size_t n, size_t by) { for (size_t i = a - 1; i < n; i += by) A[i] += 3; }",
        {(1, 9, 2): NEW, (0, 9, 2): OLD, (9, 2, 3): OLD},
    ),
    "by_a_variable_from_data": (
        "(long n, long k, size_t by) { for (int i = 0; i < n; i++)"
        " for (size_t j = first[i] - k; j < (size_t)n; j += by) A[j] += i; }",
        {(9, 3, 2): NEW, (9, 0, 2): NEW},
    ),
    "member_below_zero": (
        "(size_t n, long b, long d) { (void)d; size_t i; w.b = b;"
        " for (i = w.b; i < w.b + n; i++) A[0] += 2; A[1] += i; }",
        {(3, 9, 0): NEW, (9, 0, 0): NEW, (1, -1, 0): OLD, (3, -2, 0): OLD},
    ),
    "unsigned_sum": (
        "(unsigned n, long by, long d) { (void)d; int c = 5; unsigned short e = 9; unsigned s = by;"
        " for (unsigned i = 0; i < n; i++) { c += s; e += 65535; A[i] += 1; } A[300] += c; A[301] += e; }",
        {(9, 3, 0): NEW, (50, 0x7FFFFFFF, 0): NEW, (1000, 0xFFFFFFF0, 0): NEW},
    ),
}

_HEAD = """#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static long A[1100];
static unsigned P[600];
static int first[64];
static size_t row[64];
static long ends[64];
#define MAX 0x7fffffffffffffffl
static struct { unsigned n, k; } s;
static struct { long b; } w;
static long sum(unsigned from, unsigned n) { long t = 0; for (unsigned j = from; j < n; j++) t += first[j]; return t; }
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The original, the written one, and the written one that aborts where the original loops would run."""
    folder = tmp_path_factory.mktemp("iterations")
    text = _HEAD + "".join(f"static void {name}{body[0]}\n" for name, body in FUNCTIONS.items())
    calls = "".join(f"  if (which == {k}) {name}(a, b, d);\n" for k, name in enumerate(FUNCTIONS))
    text += (
        "int main(int c, char **v) {\n  int which = atoi(v[1]), q = c;\n"
        "  long a = strtol(v[2], 0, 0), b = strtol(v[3], 0, 0), d = strtol(v[4], 0, 0);\n"
        "  q = 0; while (q < 64) { first[q] = q * 5 % 11; row[q] = q + q / 7; q++; }\n"
        f"{calls}  unsigned long h = 0; q = 0;\n"
        "  while (q < 1100) h = h * 31 + (unsigned long)A[q++] + (q < 600 ? P[q] : 0);\n"
        '  printf("%lu\\n", h); return 0; }\n'
    )
    source = read(folder / "a.c", text.encode())
    written = identity(source)
    files = {"original": text.encode(), "written": written, "new": without_originals(written)}
    flags = ["-O1", "-w", "-fsanitize=address,undefined", "-fno-sanitize=pointer-overflow", "-fopenmp"]
    for name, content in files.items():
        (folder / f"{name}.c").write_bytes(content)
        subprocess.run(["gcc", *flags, f"{folder / name}.c", "-o", str(folder / name)], check=True)
    return {name: folder / name for name in files}


@pytest.mark.gcc
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, programs: dict[str, Path]) -> None:
    for arguments, new in FUNCTIONS[name][1].items():
        said = {}
        for which, program in programs.items():
            command = [str(program), str(list(FUNCTIONS).index(name)), *map(str, arguments)]
            said[which] = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert said["original"].stderr == "", arguments
        assert (said["written"].stdout, said["written"].stderr) == (said["original"].stdout, ""), arguments
        assert (said["new"].returncode == 0) is new, arguments


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("for (size_t j = row[i]; j < row[i + 1]; j++) t = t * 3 + 1;", "may leave the range of a type"),
        ("for (size_t j = row[i]; j < row[i + 1]; j++) A[j - row[i]] = 1;", "may leave the range of a type"),
        ("for (unsigned j = row[i]; j + 2 < n; j++) A[j] = 1;", "may leave the range of a type"),
        ("for (unsigned char j = 0; j < 255; j += 2) A[j] = 1;", "may leave the range of a type"),
        ("for (unsigned j = n; j > 0; j -= 2) A[j] = 1;", "may leave the range of a type"),
        ("for (signed char j = row[i]; j--;) t = t * 3 + 1;", "may leave the range of a type"),
        ("for (int j = 0; j < 9; j += 0x80000001) A[j] = 1;", "does not count towards its limit"),
    ],
)
def test_refused(loop: str, reason: str, tmp_path: Path) -> None:
    text = (
        f"void f(unsigned n, size_t *row, long *restrict A, long t) {{\n for (unsigned i = 0; i < n; i++)\n  {loop}\n}}"
    )
    path = tmp_path / "a.c"
    path.write_text(f"#include <stddef.h>\n{text}\n")
    assert reason in " ".join(r.reason for r in read_source(path, ParseOptions()).rejections)


@pytest.mark.parametrize(
    "body",
    [
        "{ t[i] += v[j]; }",
        "{ if (!v[j]) continue; t[i] += 1; }",
        "{ int c = v[j]; if (c > 3) t[i] += c; }",
        "for (int k = 0; k < 4; k++) t[i] += v[j + k] * v[j * 4 + k];",
        "t[i] += *(v + j);",
    ],
)
def test_data_of_64_bits_that_subscripts(body: str, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    head = "#include <stddef.h>\nvoid f(int n, size_t *restrict row, int *restrict v, long *restrict t)"
    path.write_text(
        f"{head} {{\n for (int i = 0; i < n; i++)\n  for (size_t j = row[i]; j < row[i + 1]; j++) {body}\n}}\n"
    )
    found = read_source(path, ParseOptions())
    assert len(found.nests) == 1, [r.reason for r in found.rejections]
