"""Programs in which a nest must not have threads, or not be rewritten, told from those that only look so."""

import re

import pytest

from scheduler.codegen.emit.team_text import definition
from scheduler.frontend import SourceFile
from scheduler.frontend.clang.processes import ASKED, Processes, processes
from tests.scheduler.frontend.support import read

HEAD = """
#include <setjmp.h>
#include <signal.h>
static double a[100], b[100];
static sigjmp_buf env;
static volatile sig_atomic_t seen;
void f(void) { for (int i = 0; i < 100; i++) a[i] += b[i]; }
"""
LEAVES = "static void leave(int n) { siglongjmp(env, n); }\nstatic void on(int n) { leave(n); }\n"
INSTALLED = {
    "signal": "void g(void) { signal(SIGALRM, on); }",
    "cast": "void g(void) { signal(SIGALRM, (void (*)(int))&on); }",
    "sigaction": "void g(void) { struct sigaction s = {0}; s.sa_handler = seen ? on : on; sigaction(SIGINT, &s, 0); }",
    "initializer": "void g(void) { struct sigaction s = {.sa_handler = on}; sigaction(2, &s, 0); }",
    "in a function": "static void set(void (*h)(int)) { signal(14, h); }\nvoid g(void) { set(on); }",
    "in a table": "static void (*table[])(int) = {on};\nvoid g(void) { signal(14, table[0]); }",
    "in a macro": "#define CATCH(n) signal(n, \\\n on)\nvoid g(void) { CATCH(14); }",
    "old style": "void g(void) { bsd_signal(SIGALRM, on); }",
}


def contexts(source: SourceFile) -> list[str]:
    return [source.sharing[n.name].reason if n.name in source.sharing else "" for n in source.nests]


@pytest.mark.parametrize("how", INSTALLED)
def test_handlers_that_jump(how: str) -> None:
    (reason,) = contexts(read(HEAD + LEAVES + INSTALLED[how]))
    assert reason == "'on', which may be a signal handler, may leave the loop by 'siglongjmp'"


@pytest.mark.parametrize("jump", ["longjmp(env, 1)", "__builtin_longjmp(pad, 1)", "THROW(1)", "swapcontext(&x, &y)"])
def test_ways_to_jump(jump: str) -> None:
    before = (
        "#include <ucontext.h>\n#define THROW(n) siglongjmp(env, n)\nstatic void *pad[5]; static ucontext_t x, y;\n"
    )
    code = f"static void on(int n) {{ seen = n; if (n) {jump}; }}\n{INSTALLED['signal']}"
    assert contexts(read(HEAD + before + code))[0]


@pytest.mark.parametrize(
    "code",
    [
        "static void on(int n) { seen = n; }\nvoid g(void) { signal(SIGALRM, on); }",
        "void g(void) { signal(SIGPIPE, SIG_IGN); }\nvoid h(int n) { if (n) longjmp(env, n); }",
        LEAVES + "void g(void) { on(3); }",  # nobody interrupts with it
        "/* signal(SIGALRM, on); */ static void on(int n) { longjmp(env, n); }\nvoid (*h)(int) = on;",
        'void g(void) { const char *s = "unshare(seccomp) signal(2, f)"; (void)s; }',
        "void g(void) { raise(SIGABRT); }",
        "static double signal_[9];\n#define signal signal_\nvoid h(int n) { longjmp(env, (int)signal[n]); }\n"
        "void (*p)(int) = h;",
    ],
)
def test_others_may_have_threads(code: str) -> None:
    assert contexts(read(HEAD + code)) == [""]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("int unshare(int);\nvoid g(void) { unshare(1 << 28); }", "'unshare'"),
        ("int prctl(int, ...);\nenum { PR_SET_SECCOMP = 22 };\nvoid g(void) { prctl(PR_SET_SECCOMP, 1); }", "SECCOMP"),
    ],
)
def test_what_is_for_one_thread(code: str, said: str) -> None:
    assert said in contexts(read(HEAD + code))[0]


@pytest.mark.parametrize(
    "code",
    [
        "static int omp_get_thread_num(void) { return 0; }\nint g(void) { return omp_get_thread_num(); }",
        "static long syscall[9];\nlong g(int n) { return syscall[n]; }",
        "char *getenv(const char *name) { return (char *)name; }",
    ],
)
def test_what_threads_would_ask_of_the_program(code: str) -> None:
    """They ask it by names that the assembler knows once a file."""
    assert "of its own, where threads need the system's" in contexts(read(HEAD + code))[0]


@pytest.mark.parametrize(
    "code",
    [
        "#define syscall number\nstatic long syscall(int n) { return n; }\nlong g(void) { return syscall(1); }",
        "int getpid(void);\nint g(void) { static int syscall; return getpid() + ++syscall; }",
    ],
)
def test_the_systems_own_are_no_problem(code: str) -> None:
    assert contexts(read(HEAD + code)) == [""]


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("typedef unsigned long size;\nvoid *malloc(size n) { return a + n; }", True),
        (
            "#define free(p) ((p) = 0)\nvoid *malloc(unsigned long);\nvoid g(void *p) { if (malloc(3)) { free(p); } }",
            False,
        ),
    ],
)
def test_functions_that_allocate(code: str, own: bool) -> None:
    found = read(HEAD + code)
    assert (not found.nests) == own
    assert own == any("of its own, which tuned loops would call" in r.reason for r in found.rejections)


def test_all_that_threads_ask_is_known() -> None:
    asked = set(re.findall(r'__asm__\("(\w+)"\)', definition(errno=True)))
    assert asked == ASKED


@pytest.mark.parametrize("call", ["f", "between"])
def test_a_nest_that_a_handler_runs_is_left_alone(call: str) -> None:
    code = f"static void between(void) {{ f(); }}\nstatic void on(int n) {{ {call}(); seen = n; between(); }}\n"
    found = read(HEAD + code + INSTALLED["sigaction"] + "void other(void) { for (int i = 0; i < 9; i++) b[i] *= 2; }")
    assert [nest.function for nest in found.nests] == ["other"]
    assert [r.reason for r in found.rejections if "signal handler runs it" in r.reason]


def test_handlers_of_another_file() -> None:
    one = processes([b"void on(int n) { leave(n); }\nvoid leave(int n) { siglongjmp(env, n); }"])
    other = processes([b"void on(int); int main(void) { signal(SIGALRM, on); return 0; }"])
    assert not one.alone() and not other.alone()
    assert "'on'" in Processes().united((one, other)).alone()


def test_unbalanced_text() -> None:
    text = b"void one(void) {\n#if A\n if (x) {\n#else\n {\n#endif\n y(); }\n}\nvoid two(int n) { longjmp(e, n); }\n"
    assert processes([text]).mentions["two"] == {"longjmp"}
