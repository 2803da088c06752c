"""Programs for `tune` whose main misbehaves while it is profiled, captured or compared, or whose nests do."""

from __future__ import annotations

from dataclasses import dataclass, replace

DONE, FAILED, NOTHING, STOPPED = frozenset((0,)), frozenset((4,)), frozenset((3,)), frozenset((130,))

_HEAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define N 200
static double A[N][N], B[N][N], C[N][N];
static void work(int n)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                A[i][j] += B[k][j] * C[i][k];
}
static void print(void)
{
    unsigned long long h = 1; unsigned char *p = (unsigned char *)A; size_t k = sizeof A;
    while (k--) { h ^= *p++; h *= 1099511628211ull; }
    printf("%llx\n", h);
}
"""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`stop_after_s`: the command is interrupted then. `changes`: the program itself changes its source.

    `slow`: of the half that need not run every time; `open`: why this is known not to work yet.
    """

    name: str
    source: bytes
    codes: frozenset[int]
    said: str = ""
    options: tuple[str, ...] = ()
    stop_after_s: float | None = None
    changes: bool = False
    file: str = "a.c"
    slow: bool = False
    open: str = ""


BEHAVIOURS: dict[str, Behaviour] = {}


def _main(
    name: str,
    body: str,
    codes: frozenset[int] = DONE,
    said: str = "",
    *,
    before: str = "",
    options: tuple[str, ...] = (),
    stop_after_s: float | None = None,
    changes: bool = False,
    file: str = "a.c",
    slow: bool = False,
    open: str = "",
) -> None:
    source = f"{_HEAD}{before}\nint main(int argc, char **argv)\n{{\n    (void)argc; (void)argv; B[3][4] = 2; C[5][3] = 3; C[N - 1][3] = 7; B[3][N - 1] = 4;\n    {body}\n}}\n"
    BEHAVIOURS[name] = Behaviour(name, source.encode(), codes, said, options, stop_after_s, changes, file, slow, open)


_WORK = "for (int r = 0; r < 5; r++) work(N);"
_END = "print(); return 0;"

# It does not come to an end: interrupted by the user.
_main("hangs", f"{_WORK} for (;;) ;", STOPPED, stop_after_s=3)
_main(
    "hangs-deaf",
    f"sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); for (int k = 1; k < 65; k++) signal(k, SIG_IGN); {_WORK} for (;;) sleep(100);",
    STOPPED,
    stop_after_s=3,
)
_main(
    "hangs-with-children",
    f"for (int k = 0; k < 4; k++) if (!fork()) {{ setsid(); if (!fork()) for (;;) pause(); for (;;) pause(); }} {_WORK} for (;;) pause();",
    STOPPED,
    stop_after_s=3,
)
_main(
    "prints-for-ever",
    f'{_WORK} for (;;) puts("more and more and more and more and more and more");',
    STOPPED,
    stop_after_s=3,
)
_main("stops-itself", f"{_WORK} raise(SIGSTOP); {_END}", STOPPED, stop_after_s=3)

# It ends badly.
_main("segfaults", f"{_WORK} *(volatile int *)8 = 1; {_END}", FAILED, "SIGSEGV")
_main("aborts", f'{_WORK} fputs("bad \\033[31m things\\n", stderr); abort();', FAILED, "SIGABRT")
_main(
    "overflows-the-stack",
    f"{_WORK} down(argc); {_END}",
    FAILED,
    "SIGSEGV",
    before="static int down(int n) { volatile char a[4096]; a[n] = n; return down(n + 1) + a[n]; }",
    options=("--cflags=-O0",),
)
_main("ends-with-3", f"{_WORK} return 3;", FAILED, "exit code 3")
_main("ends-by-_exit", f"{_WORK} print(); fflush(stdout); _exit(0);", FAILED, "exit handlers")
_main("becomes-another", f'{_WORK} execl("/bin/true", "true", (char *)0); return 0;', FAILED, "exit handlers")
_main("kills-its-parent", f"{_WORK} kill(getppid(), SIGKILL); {_END}", frozenset((5,)), "supervisor")
_main("kills-its-group", f"{_WORK} kill(0, SIGKILL); {_END}", FAILED | frozenset((5,)))
_main("terminates-its-parent", f"{_WORK} kill(getppid(), SIGTERM); {_END}", FAILED | frozenset((5, 0)))
_main("does-not-link", f"{_WORK} nowhere(); {_END}", FAILED, "nowhere", before="void nowhere(void);")
_main(
    "fork-bomb",
    f"{_WORK} for (int k = 0; k < 400; k++) if (fork() == 0) {{ sleep(50); _exit(0); }} {_END}",
    DONE | FAILED,
)

# It does unusual things, and ends well.
_main(
    "daemonizes",
    f"if (!fork()) {{ setsid(); if (!fork()) {{ signal(SIGTERM, SIG_IGN); sleep(600); }} _exit(0); }} {_WORK} {_END}",
)
_main("needs-input", f"char line[99]; if (fgets(line, 99, stdin)) return 9; {_WORK} {_END}")
_main("prints-a-lot", f'{_WORK} for (int k = 0; k < 400000; k++) puts("line after line"); {_END}')
_main(
    "prints-the-time",
    f'struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); {_WORK} clock_gettime(CLOCK_MONOTONIC, &b); print(); printf("%ld ns\\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec); return 0;',
)
_main("closes-everything", f"for (int k = 0; k < 1024; k++) close(k); {_WORK} return 0;", DONE | FAILED)
_main(
    "moves-away",
    f'if (chdir("/") || setenv("TMPDIR", "/none", 1)) return 1; umask(0777); clearenv(); {_WORK} {_END}',
    before="#include <sys/stat.h>",
)
_main("deletes-its-source", f"{_WORK} remove(__FILE__); {_END}", changes=True)
_main("empties-its-source", f'{_WORK} fclose(fopen(__FILE__, "w")); {_END}', changes=True)
_main(
    "signals-and-timers",
    f"signal(SIGALRM, tick); struct itimerval t = {{{{0, 2000}}, {{0, 2000}}}}; setitimer(ITIMER_REAL, &t, 0); {_WORK} {_END}",
    before="static volatile sig_atomic_t ticks; static void tick(int s) { ticks += s; }",
)
_main(
    "threads",
    f"pthread_t t[2]; for (int k = 0; k < 2; k++) pthread_create(&t[k], 0, run, 0); for (int k = 0; k < 2; k++) pthread_join(t[k], 0); {_END}",
    said="threads",
    before="static void *run(void *p) { static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); work(N); pthread_mutex_unlock(&m); return p; }",
    options=("--cflags=-O2 -pthread",),
)
_main("never-runs-it", "return 0; work(N);", said="never ran")
_main(
    "jumps-away",
    f"if (!setjmp(b)) {{ {_WORK} longjmp(b, 1); }} {_END}",
    before="#include <setjmp.h>\nstatic jmp_buf b;",
)
_main("limits-itself", f"struct rlimit r = {{2, 2}}; setrlimit(RLIMIT_NOFILE, &r); {_WORK} {_END}", DONE | FAILED)
_main("odd-name", f"{_WORK} {_END}", file="-a 'b\\\".c")
_main("line-directive", f"{_WORK} {_END}", before='#line 3 "/none/\\"other\\".c"')

# Its nests are dangerous to run on other data, or cannot be guarded.
_main(
    "overlapping",
    f"for (int r = 0; r < 20; r++) {{ shift(N * N - 9, A[0], A[0] + 1); shift(N * N - 9, A[0] + 1, A[0]); shift(N * N, A[0], B[0]); }} {_END}",
    before="static void shift(int n, double *to, double *from) { for (int i = 0; i < n; i++) to[i] = from[i] * 0.5 + 1; }",
)
_main(
    "beyond-its-array",
    f"double *p = malloc(8 * N); memset(p, 0, 8 * N); for (int r = 0; r < 2000; r++) over(N + 2, p); A[0][0] = p[5]; {_END}",
    DONE | FAILED,
    before="static void over(int n, double *p) { for (int i = 0; i < n; i++) p[i] = p[i] * 0.5 + i; }",
)
_main(
    "unknown-overlap",
    f"int *at = calloc(N, sizeof *at); for (int k = 0; k < N; k++) at[k] = k * 7 % N; for (int r = 0; r < 5; r++) gather(N, at, A[0], B[0]); {_END}",
    before="void gather(int n, int *at, double *to, double *from) { for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) to[i * n + j] += C[k][j] * from[at[k]]; }",
    open="CodegenUnsupported of runtime_condition ends in exit code 70",
)
_main(
    "old-standard",
    "{ int r; for (r = 0; r < 5; r++) old(N); } " + _END,
    before="static void old(n) int n; { int i, j, k; for (j = 0; j < n; j++) for (i = 0; i < n; i++) for (k = 0; k < n; k++) A[i][j] += B[k][j] * C[i][k]; }",
    options=("-std=gnu89",),
)
BEHAVIOURS["old-standard"] = Behaviour(
    "old-standard",
    BEHAVIOURS["old-standard"].source.replace(b"for (int j", b"int i, j, k; for (j").replace(b"for (int ", b"for ("),
    DONE,
    options=("-std=gnu89",),
)
_main("needs-a-size", "return 0;", NOTHING | DONE, options=("--function", "work"))
for _name, _source in {
    "library": b"void f(int n, double *restrict a, double *restrict b) { for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) a[i * n + j] += b[j]; }\n",
    "library-unbounded": b"void f(int n, int *r, double *a) { for (int i = 0; i < n; i++) for (int p = r[i]; p < r[i + 1]; p++) a[r[p]] += p; }\n",
    "library-overflowing": b"void f(double *a) { for (long i = 0; i < 1l << 62; i++) a[i] = 1; for (unsigned char c = 5; c >= 0; c--) a[c] += 1; }\n",
    "library-dividing": b"void f(int n, int *a) { for (int i = 0; i < n; i++) a[i / (n - 1000)] += 100 / a[i]; }\n",
}.items():
    BEHAVIOURS[_name] = Behaviour(_name, _source, DONE | NOTHING, options=("--param", "n=1000"))
for _name in (
    "stops-itself", "ends-by-_exit", "kills-its-group", "terminates-its-parent", "fork-bomb", "prints-a-lot", "jumps-away",
    "closes-everything", "deletes-its-source", "limits-itself", "needs-input", "line-directive", "moves-away", "unknown-overlap",
):  # fmt: skip
    BEHAVIOURS[_name] = replace(BEHAVIOURS[_name], slow=True)
