"""Pointers that are tested against NULL inside loops that do not change them."""

import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.schedule import parse_schedule
from tests import rewriting
from tests.scheduler.frontend.support import lines, nest, refusal

HEAD = """#include <stddef.h>
#include <stdbool.h>
struct layer { int n; const float *bias; float *gain; };
static float at(const float *b, int i) { return b == 0 ? 0 : b[i]; }
static void add(float *y, const float *b, int i) { if (b) y[i] += b[i]; }
static float own[99];
void f(float *restrict y, const float *restrict x, const float *restrict b, const struct layer *l, int n) {
    for (int i = 0; i < n; i++) { %s } }"""
GIVEN = "if (b_given - 1 >= 0): "
NOT = "if (-b_given >= 0): "


def body(text: str) -> list[str]:
    return [line.strip() for line in lines(nest(HEAD % text))[1:]]


@pytest.mark.parametrize(
    "test", ["b", "b != NULL", "NULL != b", "b != 0", "!(b == NULL)", "!!b", "b != (const float *)0"]
)
def test_conditions(test: str) -> None:
    (given, added, missing, copied) = body(f"if ({test}) y[i] = b[i]; else y[i] = x[i];")
    assert "b_given" in given and added == "y[i] = b[i]" and "-b_given" in missing and copied == "y[i] = x[i]"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("y[i] = b ? b[i] : 0;", "(b_given ? b[i] : 0)"),
        ("y[i] = x[i] > 0 && b ? b[i] : 0;", "(((x[i] > 0) && b_given) ? b[i] : 0)"),
        ("y[i] = at(b, i);", "(!b_given ? 0 : b[i])"),
        ("y[i] = at(NULL, i) + at(own, i);", "+ "),
        ("const float *p = b; y[i] = p ? p[i] : 0;", "(b_given ? b[i] : 0)"),
        ("y[i] = l->bias ? l->bias[i] : 1;", "(l_bias_given ? l_bias[i] : 1)"),
        ("y[i] = (!l->bias || x[i] > 0) ? 1 : l->bias[i];", "((!l_bias_given || (x[i] > 0)) ? 1 : l_bias[i])"),
    ],
)
def test_expressions(text: str, read: str) -> None:
    assert read in " ".join(body(text))


@pytest.mark.parametrize(("line", "read"), [("", True), ("take(&w); ", False)], ids=["not pointed to", "pointed to"])
def test_bytes_are_stored_elsewhere_than_where_nobody_points(line: str, read: bool) -> None:
    code = f"""#include <stddef.h>
        void take(const float **);
        void f(unsigned char *y, const float *w, int n) {{
            {line} for (int i = 0; i < n; i++) {{ if (w) y[i] = 2; }} }}"""
    if read:
        assert lines(nest(code))[1].strip() == "if w_given - 1 >= 0"
    else:
        assert "may change the pointer that is tested" in refusal(code).reason


def test_what_is_never_or_always_null() -> None:
    assert body("add(y, NULL, i); add(y, own, i);") == ["y[i] += own[i]"]


def test_that_of_a_stored_pointer_is_read_where_it_may_be() -> None:
    (found,) = (p for p in nest(HEAD % "if (l->bias) y[i] = 1;").parameters if p.base == "(l->bias != 0)")
    assert found.where and (found.low, found.high) == (0, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("const float *p = b + i; if (p) y[i] = 1;", "a pointer that may change"),
        ("if (&y[i]) y[i] = 1;", "a pointer that may change"),
        ("if (b < x) y[i] = 1;", "of type 'const float *restrict'"),
        ("b = b ? x : NULL; y[i] = 1;", "changes a pointer"),
    ],
)
def test_other_pointers(text: str, reason: str) -> None:
    assert reason in refusal(HEAD % text).reason


def test_a_store_of_characters_may_change_the_pointer() -> None:
    code = (
        "struct s { int n; char *m; }; void f(char *y, struct s *l) { for (int i = 0; i < 9; i++) if (l->m) y[i] = 0; }"
    )
    assert "a store to 'y' may change the pointer" in refusal(code).reason


PROGRAM = """#include <stdio.h>
#include <stdlib.h>
struct layer { int n; const float *bias; float *gain; };
static float at(const float *b, int i) { return b == 0 ? 0 : b[i]; }
void dense(float *y, const float *x, const float *w, const float *shift, int rows, int n, int m) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < m; o++) {
            float sum = shift != NULL ? shift[o] : 0.0f;
            for (int i = 0; i < n; i++) sum += x[r * n + i] * w[o * n + i];
            y[r * m + o] = sum; } }
void mixed(float *y, const float *x, const struct layer *l) {
    for (int i = 0; i < l->n; i++) {
        y[i] = x[i] + at(l->bias, i);
        if (l->gain) { l->gain[i] += x[i]; y[i] *= 2; } else if (!l->bias) y[i] -= 1; } }
int main(void) {
    int n = 30;
    float *x = calloc(900, 4), *w = calloc(900, 4), *y = calloc(900, 4), *b = calloc(30, 4), *g = calloc(30, 4), s = 0;
    for (int i = 0; i < 900; i++) x[i] = i % 17 - 3, w[i] = i % 5 - 1;
    for (int i = 0; i < 30; i++) b[i] = i % 9;
    for (int k = 0; k < 4; k++) {
        struct layer l = {n, k & 1 ? b : NULL, k & 2 ? g : NULL};
        dense(y, x, w, l.bias, n, n, n);
        mixed(y, x, &l);
        for (int i = 0; i < 900; i++) s += y[i] * (i % 7);
    }
    for (int i = 0; i < n; i++) s += g[i] * (i % 5);
    printf("%.9g\\n", s); }
"""


@pytest.mark.gcc
def test_the_new_loops_run_with_and_without_the_array(tmp_path: Path) -> None:
    """Under sanitizers: no address is formed of what is NULL, and nothing read."""
    source = rewriting.read(tmp_path / "t.c", PROGRAM.encode())
    nests = {n.function: n for n in source.nests}
    schedules = {"dense": "tile([r, o], [8, 8]); parallelize(r_t)", "mixed": "parallelize(i)"}
    outputs = []
    for made in ({}, {"dense": "", "mixed": ""}, schedules):
        content = PROGRAM.encode()
        if made:
            rewrites = [Rewrite(nests[name], parse_schedule(schedule), 2.0) for name, schedule in made.items()]
            content = rewriting.without_originals(rewriting.rewritten(source, rewrites))
            assert content.count(b"abort()") == 2
        (tmp_path / "n.c").write_bytes(content)
        flags = ["-O1", "-w", "-fopenmp", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
        subprocess.run(["gcc", *flags, tmp_path / "n.c", "-o", tmp_path / "n", "-lm"], check=True)
        environment = {"ASAN_OPTIONS": "detect_leaks=0", "OMP_NUM_THREADS": "2"}
        ran = subprocess.run([tmp_path / "n"], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr
        outputs.append(ran.stdout)
    assert len(set(outputs)) == 1


GUARDED = """#include <stdio.h>
struct layer { int n; float *gain; };
static int stop(const struct layer *l, float *restrict y, int n) {
    for (int i = 0; i < n; i++) { if (!l || l->n < 3) return -1; y[i] = i; } return 0; }
static int none(const struct layer *l, float *restrict y, int n) {
    for (int i = 0; i < n; i++) { if (l && !l->gain) return -1; y[i] = i; } return 0; }
static void pick(const struct layer *l, float *restrict y, int n) {
    for (int i = 0; i < n; i++) { if (l && l->n > 3) y[i] = 1; else y[i] = 2; } }
static void limit(const struct layer *l, float *restrict y, int n) {
    for (int i = 0; i < (l ? l->n : n); i++) y[i] = i; }
int main(void) { float y[9] = {0}; struct layer known = {4, y};
    printf("%d %d ", stop(NULL, y, 9), none(NULL, y, 9)); pick(NULL, y, 9); limit(NULL, y, 5);
    printf("%g %g ", y[2], y[7]); printf("%d %d ", stop(&known, y, 9), none(&known, y, 9)); pick(&known, y, 9);
    limit(&known, y, 9); printf("%g %g\\n", y[3], y[7]); }
"""


@pytest.mark.gcc
def test_a_member_behind_a_test_is_read_only_where_the_test_holds(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "t.c", GUARDED.encode())
    assert len(source.nests) == 4 and not source.rejections
    printed = []
    for content in (GUARDED.encode(), rewriting.identity(source)):
        (tmp_path / "n.c").write_bytes(content)
        flags = ["-O1", "-w", "-fopenmp", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
        subprocess.run(["gcc", *flags, tmp_path / "n.c", "-o", tmp_path / "n", "-lm"], check=True)
        ran = subprocess.run([tmp_path / "n"], capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"})
        assert ran.returncode == 0, ran.stderr
        printed.append(ran.stdout)
    assert printed[0] == printed[1]


@pytest.mark.parametrize("value", ["l && l->gain", "x[i] > 0 && l && l->gain"])
def test_a_pointer_behind_a_test_of_a_value_is_not_read_ahead(value: str) -> None:
    assert "may change is NULL" in refusal(HEAD % f"y[i] = {value};").reason
