"""What OpenMP pragmas mean for the loops under them."""

from __future__ import annotations

import pytest

from scheduler.frontend import RACE, Sharing
from scheduler.ir.walk import loops
from tests.scheduler.frontend.support import read

HEAD = """#include <omp.h>
double s, x[100], y[100], A[100][100], h[8];
int n, p[100], t_global;
"""


def only(body: str, before: str = "") -> Sharing:
    """What is known of the one nest of a function."""
    found = read(HEAD + before + "void f(void) {\n  int i, j, k; double t, q = 0; double w[100];\n" + body + "\n}\n")
    assert not found.rejections, found.rejections
    (nest,) = found.nests
    return found.sharing[nest.name]


def refusal(body: str, before: str = "") -> str:
    found = read(HEAD + before + "void f(void) {\n  int i, j, k; double t, q = 0; double w[100];\n" + body + "\n}\n")
    assert found.rejections, found.nests
    return found.rejections[0].reason


def test_a_loop_and_its_clauses() -> None:
    found = only(
        "#pragma omp parallel for private(j, t) schedule(static, 4) num_threads(2) default(shared)\n"
        "for (i = 0; i < 100; i++) { t = 0; for (j = 0; j < 100; j++) t += A[i][j]; x[i] = t; }"
    )
    (shared,) = found.shared
    assert (shared.loop, shared.name, shared.threads) == ("i", "parallel for", True)
    assert shared.clauses == ("schedule(static, 4)", "num_threads(2)")
    assert found.context == "" and not found.reordered


def test_reductions_are_in_the_names_of_the_nest() -> None:
    found = only(
        "#pragma omp parallel for reduction(+: s, q) reduction(max: t_global)\n"
        "for (i = 0; i < n; i++) { s += x[i]; q += y[i]; }"
    )
    assert found.shared[0].reductions == (("+", "s"), ("+", "q"))
    assert found.reordered == ("q", "s")
    found = only("#pragma omp parallel for reduction(+: h[:8])\nfor (i = 0; i < n; i++) h[p[i] & 7] += 1;")
    assert found.shared[0].reductions == (("+", "h[:8]"),)


@pytest.mark.parametrize(
    ("around", "context"),
    [
        ("#pragma omp parallel\n{{\n#pragma omp for\n{0}\n}}", "team"),
        ("#pragma omp for\n{0}", "team"),  # the region is in a caller
        ("#pragma omp parallel\n#pragma omp for nowait\n{0}", "team"),
        ("#pragma omp parallel\n{{ {0} }}", "thread"),
        ("#pragma omp parallel\n{{\n#pragma omp single\n{0}\n}}", "thread"),
        ("#pragma omp critical\n{{ {0} }}", "thread"),
        ("#pragma omp parallel for\nfor (int m = 0; m < n; m++) {{ omp_get_wtime(); {0} }}", "thread"),
    ],
)
def test_who_runs_it(around: str, context: str) -> None:
    loop = "for (int v = 0; v < 100; v++) x[v] = y[v];"
    found = read(HEAD + "void f(void) {\n" + around.format(loop) + "\n}\n")
    (nest,) = found.nests
    assert found.sharing[nest.name].context == context


def test_the_text_of_the_pragma_belongs_to_the_nest() -> None:
    code = HEAD + (
        "void f(void) {\n  #ifdef _OPENMP\n  #pragma omp parallel for\n"
        "  #endif\n  for (int i = 0; i < n; i++) x[i] = 0;\n}\n"
    )
    found = read(code)
    (nest,) = found.nests
    assert nest.span is not None
    assert code[nest.span.begin : nest.span.end].startswith("#ifdef _OPENMP")
    assert nest.span.line == 8
    assert [n.span for n in read(code, "-fopenmp").nests] == [nest.span]
    code = code.replace("#ifdef _OPENMP", "#if FAST\n#pragma omp parallel for schedule(dynamic)\n#else")
    (nest,) = read(code).nests
    assert nest.span is not None and code[nest.span.begin :].startswith("#if FAST") and nest.span.line == 10
    for between in ("n = 3;", "#pragma omp parallel\n{"):
        other = read(code.replace("schedule(dynamic)", f"schedule(dynamic)\n{between}"))
        assert "stands under a condition" in other.rejections[0].reason


def test_a_parallel_region_does_not_belong_to_the_loop_under_it() -> None:
    code = HEAD + "void f(void) {\n#pragma omp parallel\n#pragma omp for\nfor (int i = 0; i < n; i++) x[i] = 0;\n}\n"
    (nest,) = read(code).nests
    assert nest.span is not None and code[nest.span.begin :].startswith("#pragma omp for")


def test_what_one_thread_at_a_time_runs() -> None:
    found = only("#pragma omp parallel for\nfor (i = 0; i < n; i++) {\n#pragma omp atomic\nh[p[i] & 7] += 1;\n}")
    ((_, _, text),) = found.protected
    assert text == "omp atomic" and found.reordered == ("h",)
    found = only(
        "#pragma omp parallel for\nfor (i = 0; i < n; i++) {\n#pragma omp critical (name)\n{ s += x[i]; h[0] += 1; }\n}"
    )
    assert found.protected[0][2] == "omp critical (name)" and found.reordered == ("h", "s")


def test_hints_to_the_compiler() -> None:
    found = only("#pragma GCC ivdep\nfor (i = 0; i < n; i++) x[i] = y[p[i]];")
    assert found.hints == (("i", "GCC ivdep"),) and not found.shared


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        ("#pragma omp parallel for\nfor (i = 0; i < n; i++) { t = x[i]; y[i] = t; }", "t"),
        ("#pragma omp parallel for\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) A[i][j] = 0;", "j"),
        ("#pragma omp parallel for\nfor (i = 0; i < n; i++) s += x[i];", "s"),
        ("#pragma omp parallel for\nfor (i = 0; i < n; i++) if (x[i] > 1) t_global = i;", "t_global"),
        ("#pragma omp parallel for private(t)\nfor (i = 0; i < n; i++) { t += x[i]; y[i] = t; }", "t"),
    ],
)
def test_scalars_that_threads_share_are_races(body: str, variable: str) -> None:
    reason = refusal(body)
    assert reason.startswith(RACE) and f"'{variable}'" in reason


@pytest.mark.parametrize(
    "body",
    [
        "#pragma omp parallel for lastprivate(t)\nfor (i = 0; i < n; i++) { t = x[i]; y[i] = t; }",
        (
            "#pragma omp parallel for private(w, j)\n"
            "for (i = 0; i < 9; i++) { for (j = 0; j < 9; j++) w[j] = i; x[i] = w[i]; }"
        ),
        "#pragma omp parallel for collapse(2)\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) A[i][j] = 0;",
        "#pragma omp parallel for firstprivate(q)\nfor (i = 0; i < n; i++) x[i] = q;",
        "#pragma omp parallel for private(i)\nfor (i = 0; i < n; i++) x[i] = 1;",
    ],
)
def test_clauses_that_make_it_none(body: str) -> None:
    assert only(body).shared


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "int me = omp_get_thread_num();\n#pragma omp for\nfor (i = 0; i < n; i++) x[i] = me;",
            "depends on which thread",
        ),
        (
            (
                "#pragma omp parallel\n{ double mine = 0;\n#pragma omp for\n"
                "for (i = 0; i < n; i++) mine += x[i];\ns = mine; }"
            ),
            "'mine'",
        ),
        ("#pragma omp parallel\n{ double own[9];\n#pragma omp for\nfor (i = 0; i < 9; i++) own[i] = x[i];\n}", "'own'"),
        (
            (
                "#pragma omp parallel\n{ double *own = malloc(80), *part = own + 3;\n#pragma omp for\n"
                "for (i = 0; i < n; i++) part[0] = x[i];\n}"
            ),
            "'part'",
        ),
        (
            (
                "#pragma omp parallel private(i, j)\nfor (j = 0; j < 9; j++) {\n"
                "#pragma omp for\nfor (i = 0; i < n; i++) x[i] = 1;\ny[0] += 1; }"
            ),
            "every thread of the parallel region runs this",
        ),
        (
            "#pragma omp parallel\n{\n#pragma omp parallel for\nfor (i = 0; i < n; i++) x[i] = 1;\n}",
            "stands in another one",
        ),
    ],
)
def test_what_differs_from_thread_to_thread(body: str, reason: str) -> None:
    assert reason in refusal(body)


def test_a_pointer_that_is_the_same_for_all_threads() -> None:
    body = "#pragma omp parallel\n{ double *part = x + 3;\n#pragma omp for\nfor (int i = 0; i < n; i++) part[i] = 1;\n}"
    found = read(f"{HEAD}void f(void) {{\n{body}\n}}\n")
    assert len(found.nests) == 1


def test_a_thread_number_is_followed_through_calls() -> None:
    before = "static void g(int who) {\n#pragma omp for\nfor (int i = 0; i < n; i++) x[i] = who;\n}\n"
    found = read(HEAD + before + "void f(void) {\n#pragma omp parallel\ng(omp_get_thread_num());\n}\n")
    assert "'who'" in found.rejections[0].reason
    found = read(HEAD + before + "void f(void) {\n#pragma omp parallel\ng(3);\n}\n")
    assert len(found.nests) == 1


def test_threadprivate() -> None:
    before = "double own;\n#pragma omp threadprivate(own)\n"
    assert "thread-local" in refusal("#pragma omp parallel for\nfor (i = 0; i < n; i++) x[i] = own;", before)


CALLED = """static void smooth(double *restrict to, double *restrict from) {
  int i; double t;
#pragma omp parallel for private(t)
  for (i = 1; i < 99; i++) { t = from[i - 1] + from[i + 1]; to[i] = t; }
}
"""


def test_the_pragmas_of_functions_that_are_called() -> None:
    steps = "for (k = 0; k < n; k++) { smooth(y, x); smooth(x, y); }"
    found = read(f"{HEAD}{CALLED}void f(void) {{ int k; {steps} }}")
    shared = found.sharing["f_0"].shared
    inner = [loop.name for loop in loops(found.nests[-1])][1:]
    assert [(s.loop, s.name) for s in shared] == [(name, "parallel for") for name in inner]
    assert [a.name for a in found.nests[-1].arrays if a.name[0] == "t"] == ["t", "t_2"]
    within = "#pragma omp parallel for\nfor (k = 0; k < n; k++) { smooth(A[k], x); }"
    assert refusal(within, CALLED) == "calls 'smooth', which has a pragma"
    alone = "#pragma omp parallel\n{ for (k = 0; k < n; k++) { smooth(A[k], x); } }"
    assert refusal(alone, CALLED) == "calls 'smooth', which has a pragma"
    for other in ("#pragma omp parallel\n#pragma omp for private(t)", "#pragma omp critical"):
        function = CALLED.replace("#pragma omp parallel for private(t)", other)
        assert refusal("for (k = 0; k < n; k++) smooth(A[k], x);", function).startswith("calls 'smooth', which has a")
