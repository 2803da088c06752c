"""Functions that never return: declared so, or seen in their bodies."""

import pytest

from tests.scheduler.frontend.support import read

LOOP = """#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
static jmp_buf out;
%s
void f(double *restrict a, const double *restrict x, int n) {
    for (int i = 0; i < n; i++) { if (x[i] < 0) stop(i); a[i] = x[i]; } }"""


@pytest.mark.parametrize(
    "declared",
    [
        "void stop(int) __attribute__((noreturn));",
        "_Noreturn void stop(int);",
        "extern __attribute__((__noreturn__)) void stop(int k);",
        '#include <stdnoreturn.h>\nnoreturn void stop(int k) { printf("%d", k); for (;;) ; }',
        "static void stop(int k) { printf(\"%d\", k); exit(k); }",
        "static void stop(int k) { if (k > 3) exit(k); else abort(); }",
        "static void stop(int k) { if (k > 3) exit(k); longjmp(out, 1); }",
        "static void stop(int k) { abort(); }\n#define stop(k) do { puts(\"stop\"); stop(k); } while (0)",
        "static void last(int k) { printf(\"%d\", k); _Exit(1); }\nstatic void stop(int k) { last(k + 1); }",
    ],
)  # fmt: skip
def test_never_returns(declared: str) -> None:
    found = read(LOOP % declared)
    inspector = found.assumptions["f_0"].inspector
    assert inspector is not None and not [r for r in found.rejections if r.function == "f"]


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("void stop(int);", "calls 'stop', which may have side effects"),
        ("static void stop(int k) { if (k > 3) exit(k); puts(\"on\"); }", "calls 'stop', where at "),
        ("static void stop(int k) { if (k < 3) return; exit(k); }", "calls 'stop', where at "),
        ("static void stop(int k) { for (; k < 9; k++) exit(1); }", "calls 'stop'"),
        ("static void stop(int k) { if (k) goto on; exit(1); on: puts(\"on\"); }", "calls 'stop', which has a goto"),
        ("__attribute__((weak)) void stop(int k) { exit(k); }", "calls 'stop', which has the attribute 'weak'"),
        ("static void stop(int k) { if (k) stop(k - 1); }", "calls 'stop', which calls itself"),
        ("static void exit_(int k) { printf(\"%d\", k); }\n#define stop exit_", "calls 'exit_', where at "),
    ],
)  # fmt: skip
def test_may_return(declared: str, reason: str) -> None:
    found = read(LOOP % declared)
    reasons = [r.reason for r in found.rejections if r.function == "f"]
    assert len(reasons) == 1 and reasons[0].startswith(reason), reasons


def test_a_function_of_the_program_with_the_name_of_one_that_never_returns() -> None:
    own = 'void quick_exit(int k) { printf("%d", k); }\n#define stop quick_exit'
    text = LOOP.replace("#include <stdlib.h>", "") % own
    assert "which may have side effects" in read(text).rejections[0].reason
