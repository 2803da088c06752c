"""Loops over time that exchange buffers: which are read as loops over rounds, and that what is left runs as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.frontend.child import parse
from scheduler.frontend.clang.dialect import Dialect
from scheduler.frontend.model import Remainder, Request, SourceFile
from scheduler.frontend.parsing import parser_arguments
from scheduler.schedule import parse_schedule
from tests.rewriting import check_runs, in_threads, rewritten
from tests.rewriting import read as read_file
from tests.scheduler.frontend.support import lines, nest, read

STEP = "for (int i = 1; i < n; i++) b[i] = a[i] + a[i - 1];"
SWAP = "double *tmp = a; a = b; b = tmp;"
PAIR = [
    "for t_round = 0 to t_rounds",
    " for i = 1 to n",
    "  b[i] = (a[i] + a[i - 1])",
    " for i_2 = 1 to n",
    "  a[i_2] = (b[i_2] + b[i_2 - 1])",
]


def over_time(body: str, head: str = "for (int t = 0; t < steps; t++)", more: str = "", behind: str = "") -> str:
    return f"void f(int n, int steps, double *a, double *b{more}) {{ {head} {{ {body} }} {behind} }}"


@pytest.mark.parametrize(
    "code",
    [
        over_time(STEP + SWAP),
        over_time(STEP + SWAP, behind="a[0]++; b[1]++;"),
        over_time(STEP + "tmp = a, a = b, b = tmp;", "double *tmp; for (int t = 0; t < steps; t++)"),
        over_time(STEP + SWAP + "t++;", "int t = 0; while (t < steps)"),
        "static void swap(double **p, double **q) { double *t = *p; *p = *q; *q = t; }"
        + over_time(STEP + "swap(&a, &b);"),
        "static void step(int n, double *a, double *b) { " + STEP + " }" + over_time("step(n, a, b);" + SWAP),
        "#define SWAP(p, q) do { double *t_ = p; p = q; q = t_; } while (0)\n" + over_time(STEP + "SWAP(a, b);"),
        over_time("if (t % 2 == 0) { " + STEP + " } else for (int i = 1; i < n; i++) a[i] = b[i] + b[i - 1];"),
        over_time("double *p = t % 2 ? b : a, *q = t % 2 ? a : b; for (int i = 1; i < n; i++) q[i] = p[i] + p[i - 1];"),
    ],
)
def test_two_buffers_are_read_as_pairs_of_steps(code: str) -> None:
    source = read(code)
    found = source.nests[-1]
    assert lines(found) == PAIR and not source.rejections
    (rounds,) = (p for p in found.parameters if p.name == "t_rounds")
    assert rounds.base == "(long)(steps) / 2L" and rounds.where == "(long)(steps) >= 1L"
    assert source.remainders[found.name].stop == "(long)(steps)"


def test_members_and_elements_of_tables() -> None:
    code = """typedef struct { int n; double *cur, *next; } grid;
        static void swap(grid *g) { double *t = g->cur; g->cur = g->next; g->next = t; }
        static void step(grid *g) { for (int i = 1; i < g->n; i++) g->next[i] = g->cur[i - 1]; swap(g); }
        void f(grid *g, int steps) { for (int t = 0; t < steps; t++) { step(g); } }"""
    found = read(code).nests[-1]
    assert lines(found)[2::2] == ["  g_next[i] = g_cur[i - 1]", "  g_cur[i_2] = g_next[i_2 - 1]"]
    assert {a.base for a in found.arrays} == {"g->cur", "g->next"}
    code = """void f(int n, int steps, double *u[3]) { for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++) u[1][i] = u[0][i - 1] + u[2][i];
        double *t0 = u[0]; u[0] = u[1]; u[1] = t0; } }"""
    assert {a.base for a in nest(code).arrays} == {"u[0]", "u[1]", "u[2]"}


def test_three_buffers_make_rounds_of_three() -> None:
    code = over_time(
        "for (int i = 1; i < n; i++) c[i] = a[i] + b[i - 1]; double *tmp = a; a = b; b = c; c = tmp;",
        more=", double *c",
    )
    found = read(code)
    assert lines(found.nests[0])[2::2] == [
        "  c[i] = (a[i] + b[i - 1])",
        "  a[i_2] = (b[i_2] + c[i_2 - 1])",
        "  b[i_3] = (c[i_3] + a[i_3 - 1])",
    ]
    assert found.remainders["f_0"].first == "0L + 3L * t_rounds"


@pytest.mark.parametrize(
    ("exchange", "target"),
    [("cur = 1 - cur;", "1 - cur"), ("cur ^= 1;", "cur ^ 1"), ("int k = cur; cur = next; next = k;", "next")],
)
def test_buffers_that_an_integer_picks(exchange: str, target: str) -> None:
    code = f"""static double buf[2][64]; int f(int n, int steps) {{ int cur = 0, next = 1;
        for (int t = 0; t < steps; t++) {{
            for (int i = 1; i < n; i++) buf[{target}][i] = buf[cur][i - 1];
            {exchange} }} return cur + next; }}"""
    source = read(code)
    assert lines(source.nests[0])[2::2] == ["  buf[1][i] = buf[0][i - 1]", "  buf[0][i_2] = buf[1][i_2 - 1]"]
    assert ("cur", "0") in source.assumptions["f_0"].values  # the written code looks whether that is still so
    unknown = code.replace("int cur = 0, next = 1;", "int cur = n % 2, next = 1 - cur;")
    if target == "1 - cur":
        assert lines(read(unknown).nests[0])[2] == "  buf[-cur + 1][i] = buf[cur][i - 1]"


def test_buffers_that_the_step_picks() -> None:
    code = """static double buf[2][64]; void f(int n, int steps) { for (int t = 1; t <= steps; t++) {
        int cur = t & 1, next = 1 - cur; for (int i = 1; i < n; i++) buf[next][i] = buf[cur][i - 1] + t; } }"""
    source = read(code)
    assert lines(source.nests[0])[2::2] == [
        "  buf[0][i] = (buf[1][i - 1] + (int)((2l * t_round) + 1))",
        "  buf[1][i_2] = (buf[0][i_2 - 1] + (int)(((2l * t_round) + 1) + 1l))",
    ]
    begin = code.index("{", code.index("t++"))
    left = Remainder("1L + 2L * t_rounds", "((long)(steps) + 1L)", "t", "int", 1, (begin, code.rindex("}") - 1))
    assert source.remainders["f_0"] == left


@pytest.mark.parametrize(
    "body",
    [
        STEP + "a = b;",  # both are one then
        STEP + "double *tmp = a; a = b; b = tmp; b += 1;",
        STEP + "if (t % 3) { double *tmp = a; a = b; b = tmp; }",
        STEP + "if (a[0] < 1) break; double *tmp = a; a = b; b = tmp;",
        STEP + "if (a[0] < 1) continue; double *tmp = a; a = b; b = tmp;",
        STEP + "double *tmp = a; a = b; b = tmp; for (int i = 0; i < n; i++) if (a[i] > 2) a = b;",
        STEP + "tmp = a; a = b; b = tmp;",  # tmp is used behind the loop
        STEP + "keep = a; double *tmp = a; a = b; b = tmp;",
        STEP + "double **w = &a; double *tmp = a; a = b; b = tmp; *w = b;",
        STEP + "a = a + 1; double *tmp = a; a = b; b = tmp;",
    ],
)
def test_what_only_looks_like_an_exchange(body: str) -> None:
    code = "double *keep; " + over_time(body, "double *tmp = a; for (int t = 0; t < steps; t++)", behind="tmp[0] = 1;")
    source = read(code)
    assert source.rejections and not source.remainders


def test_members_that_may_be_others_by_another_name() -> None:
    code = """typedef struct {{ int n; double *cur, *next; }} grid;
        void f(grid *g, grid *h, double **w, int steps) {{ for (int t = 0; t < steps; t++) {{
            for (int i = 1; i < g->n; i++) g->next[i] = {};
            double *tmp = g->cur; g->cur = g->next; g->next = tmp; }} }}"""
    assert read(code.format("g->cur[i - 1]")).remainders
    assert not read(code.format("g->cur[i - 1] + h->cur[i]")).remainders
    assert not read(code.format("g->cur[i - 1] + w[0][i]")).remainders
    assert not read(code.format("g->cur[i - 1] + ((const grid *)h)->cur[0]")).remainders
    const = code.replace("grid *h, double **w", "const grid *h, double *const *w")
    assert not read(const.format("g->cur[i - 1] + h->cur[0]")).remainders
    assert not read(const.format("g->cur[i - 1] + w[0][0]")).remainders
    plain = code.format("g->cur[i - 1]").encode()
    request = Request("/t.c", plain, parser_arguments((), "gcc"), 1 << 32, 10, dialect=Dialect(untyped=True))
    untyped = parse(request)
    assert isinstance(untyped, SourceFile) and not untyped.remainders  # a store may change a pointer
    moved = code.format("g->cur[i - 1]").replace("double *tmp", "g = h; double *tmp")
    assert not read(moved).remainders


@pytest.mark.parametrize(
    ("read_by", "function"),
    [
        ("at(g, i - 1)", "double at(const grid *s, int i) { return s->cur[i]; }"),
        ("now(i)", "double now(int i) { return u[i]; }"),
    ],
)
def test_functions_that_read_what_is_exchanged(read_by: str, function: str) -> None:
    code = f"""typedef struct {{ double *cur, *next; }} grid; double *u, *v; static {function}
        static double twice(const double *p, int i) {{ return p[i] * 2; }}
        void f(grid *g, int n, int steps) {{ for (int t = 0; t < steps; t++) {{
            for (int i = 1; i < n; i++) %s = {read_by}; double *tmp = %s; %s = %s; %s = tmp; }} }}"""
    names = ("g->cur", "g->next") if "at(" in read_by else ("u", "v")
    parts = (names[1] + "[i]", names[0], names[0], names[1], names[1])
    assert not read(code % parts).remainders
    assert read((code % parts).replace(f"= {read_by};", f"= twice({names[0]}, i);")).remainders


def test_steps_whose_sum_wraps_around() -> None:
    code = """static double b[4][64]; void f(int n, unsigned steps) { for (unsigned t = 1; t < steps; t++)
        { for (int i = 1; i < n; i++) b[(t + %s) %% %d][i] = b[3][i - 1]; } }"""
    assert read(code % ("1", 2)).remainders
    assert not read(code % ("4294967295u", 3)).remainders


def test_loops_around_take_no_exchange_that_lasts() -> None:
    code = f"""void f(int n, int steps, double *x, double *y) {{ for (int r = 0; r < 3; r++) {{
        double *a = x, *b = y; for (int t = 0; t < steps; t++) {{ {STEP} {SWAP} }} a[0] = r; }} }}"""
    source = read(code)
    assert [lines(n)[0] for n in source.nests] == ["for t_round = 0 to t_rounds"]
    assert len(source.rejections) == 1


def test_what_the_loop_moves_along_keeps_it_from_going_on() -> None:
    code = over_time(
        STEP + SWAP + "b[0] = k;", "int k = 0; for (int t = 0; t < steps; t++, k += 2)", behind="b[1] = k;"
    )
    assert not read(code).remainders


def test_integers_that_the_header_sets_are_not_what_they_were_before() -> None:
    code = """static double buf[2][64]; int f(int n, int steps) { int cur = 1, t; for (t = 0, cur = 0; t < steps; t++) {
        for (int i = 1; i < n; i++) buf[1 - cur][i] = buf[cur][i - 1]; cur = 1 - cur; } return cur; }"""
    assert not read(code).remainders
    sums = over_time(
        STEP + SWAP + "s += b[1];", "double s; int t; for (t = 0, s = 0; t < steps; t++)", behind="a[0] = s;"
    )
    assert lines(read(sums).nests[0])[:2] == ["s = 0", "for t_round = 0 to t_rounds"] and read(sums).remainders


@pytest.mark.parametrize(
    ("head", "first"),
    [
        ("while (steps-- > 0)", "(long)(steps) + -1L + -2L * steps_rounds + 1L"),
        ("for (int t = steps; t-- > 0;)", "((long)(steps) + -1L) + -2L * t_rounds"),
        ("for (size_t t = 7; t < (size_t)steps; t += 3)", "7L + 6L * t_rounds"),
        ("for (unsigned t = n; t > 5; t--)", "(long)(n) + -2L * t_rounds"),
    ],
)
def test_where_it_goes_on(head: str, first: str) -> None:
    found = read("#include <stddef.h>\n" + over_time(STEP + SWAP, head)).remainders["f_0"]
    assert found.first.replace("(", "").replace(")", "") == first.replace("(", "").replace(")", "")
    assert found.whole is head.startswith("while")


@pytest.mark.parametrize(
    "head",
    [
        "for (int t = 0; t < steps && t < n; t++)",  # a minimum
        "for (int t = 0; t < (int)b[0]; t++)",
        "for (int t = 0; t < *last; t++)",
        "int t; for (t = 0; t < steps; t++) if (n)",
        "for (t = 0; t < steps; t++)",  # not local
    ],
)
def test_headers_that_say_no_number_of_rounds(head: str) -> None:
    assert not read("int t; " + over_time(STEP + SWAP, head, ", int *last")).remainders


def test_what_the_body_does_to_the_iterator() -> None:
    assert not read(over_time("if (n > 9) t = 3;" + STEP + SWAP)).remainders
    assert not read(over_time("int *p = &t; *p += 1;" + STEP + SWAP)).remainders


def test_a_thread_of_a_team_exchanges_for_all() -> None:
    code = f"""void f(int n, int steps, double *a, double *b) {{
#pragma omp parallel
    for (int t = 0; t < steps; t++) {{
#pragma omp for
        {STEP}
#pragma omp single
        {{ {SWAP} }}
    }}
}}"""
    source = read(code)
    assert lines(source.nests[0]) == PAIR
    assert [s.loop for s in source.sharing["f_0"].shared] == ["i", "i_2"]
    other = read(code.replace(SWAP, "a[0] += 1;"))
    assert "there is '#pragma omp single' inside the loop" in [r.reason for r in other.rejections]


def test_what_threads_have_their_own_of_is_private_in_each_copy() -> None:
    loops = """\n#pragma omp parallel for private(j, s)
        for (i = 0; i < n; i++) { s = 0; for (j = 0; j < n; j++) s += a[j]; b[i] = s; }\n"""
    found = read(over_time(loops + SWAP, "int i, j; double s; for (int t = 0; t < steps; t++)"))
    assert found.remainders and not found.rejections
    assert [(a.name, a.scope) for a in found.nests[0].arrays if a.scope] == [("s", "i"), ("s_2", "i_2")]


MAIN = """
#include <stdio.h>
#include <string.h>
static double A[40], B[40], C[40];
typedef struct { double *p, *q; } pair;
static void show(const char *name, const double *p)
{ double x = 0; for (int i = 0; i < 40; i++) x += p[i] * (i + 1); printf("%s %.17g\\n", name, x); }
int main(void) {
    for (int steps = 4; steps < 9; steps++) {
        for (int i = 0; i < 40; i++) { A[i] = i % 5; B[i] = i % 7; C[i] = i % 3; }
        work(36, steps);
        show("A", A); show("B", B); show("C", C);
    }
    return 0;
}
"""
WORKS = {
    "pointers": "double *a = A, *b = B, *tmp; int t; for (t = 0; t < steps; t++) { "
    + STEP
    + " b[0] = t; tmp = a; a = b; b = tmp; } a[1] += t; b[2] -= 1;",
    "three": "double *a = A, *b = B, *c = C; for (int t = steps; t > 0; t -= 1) { double *p = a; a = b; b = c; c = p; "
    "for (int i = 1; i < n; i++) c[i] = a[i - 1] + 0.5 * b[i] + t; } a[1]++; b[2]--; c[3] = 5;",
    "while": "double *a = A, *b = B; int t = 1; while (t <= steps) { " + STEP + SWAP + " t++; } a[1] += t; b[2] -= 1;",
    "index": "static double buf[2][40]; int cur = 1; memcpy(buf[1], A, sizeof A); memcpy(buf[0], B, sizeof B); "
    "for (int t = 0; t < steps; t++) { for (int i = 1; i < n; i++) buf[!cur][i] = buf[cur][i - 1] + 0.5 * t; "
    "cur = 1 - cur; } memcpy(C, buf[cur], sizeof C); A[0] = cur;".replace("!cur", "1 - cur"),
    "members": "pair s = {A, B}, *g = &s; for (int t = 0; t < steps; t++) { "
    "for (int i = 1; i < n; i++) g->q[i] = g->p[i] + g->p[i - 1]; double *t0 = g->p; g->p = g->q; g->q = t0; } "
    "g->p[1] += 2; g->q[2] -= 1;",
}


@pytest.mark.gcc
@pytest.mark.parametrize("name", WORKS)
def test_what_is_written_computes_the_same(name: str, tmp_path: Path) -> None:
    head, _, body = MAIN.partition("int main(void)")
    code = f"{head}__attribute__((noinline)) void work(int n, int steps) {{ {WORKS[name]} }}\nint main(void){body}"
    source = read_file(tmp_path / "t.c", code.encode())
    works = [n for n in source.nests if n.function == "work" and n.name in source.remainders]
    assert works
    written = rewritten(source, [Rewrite(works[-1], parse_schedule(""), 1.0)])
    check_runs(source, written, tmp_path)
    skewed = "shift(i_2, S1, 1); fuse(i, i_2); skew(t_round, i, 2); tile([t_round, i], [2, 8])"
    if name in ("members", "while"):
        check_runs(source, rewritten(source, [Rewrite(works[-1], parse_schedule(skewed), 1.0)]), tmp_path)


@pytest.mark.gcc
def test_teams_go_on_where_the_rounds_end(tmp_path: Path) -> None:
    work = f"""__attribute__((noinline)) void work(int n, int steps) {{
    double *a = A, *b = B;
#pragma omp parallel
    for (int t = 0; t < steps; t++) {{
#pragma omp single
        {{ {SWAP} }}
#pragma omp for
        {STEP}
    }}
    a[1] += 1; b[2] -= 1;
}}
"""
    head, _, body = MAIN.partition("int main(void)")
    source = read_file(tmp_path / "t.c", f"{head}{work}int main(void){body}".encode(), ("-fopenmp",))
    written = in_threads(source, ("-fopenmp",))
    assert b"#pragma omp barrier" in written
    check_runs(source, written, tmp_path)


def test_fewer_steps_than_a_round_run_as_written() -> None:
    assert [str(c.affine) for c in read(over_time(STEP + SWAP)).nests[0].assumptions] == ["t_rounds - 1"]
