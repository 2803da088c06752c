"""A written file compiled with other macros, flags and headers than it was tuned with prints what the original does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scheduler.codegen.runtime_checks.source_assumptions import Untestable
from tests.rewriting import identity, read, surveyed, without_originals

pytestmark = pytest.mark.gcc

_HEAD = "#include <stdio.h>\n#include <stdlib.h>\n"


@dataclass(frozen=True)
class Case:
    """A program, how it is tuned, and what it is compiled with later; `header` and `later` are those of `h.h`."""

    source: str
    other: tuple[tuple[str, ...], ...]
    flags: tuple[str, ...] = ()
    header: str = ""
    later: str | None = None
    alike: tuple[tuple[str, ...], ...] = field(default=())  # flags that change nothing: the written loops run


CASES = {
    "sizes": Case(
        """#ifndef N
#define N 100
#endif
double A[N][N]; double s;
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = i + 2 * j;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            s += A[i][j];
    printf("%g\\n", s);
}""",
        (("-DN=150",), ("-DN=7",), ("-DN=(10*11)",)),
        alike=(("-O3",), ("-DM=3",), ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")),
    ),
    "local size": Case(
        """#ifndef N
#define N 100
#endif
double A[200];
int main(void) { int n = N, m = n / 2; for (int i = 0; i < n; i++) A[i] = i; double s = 0;
 for (int i = 0; i < m; i++) s += A[2 * i]; printf("%g\\n", s); }""",
        (("-DN=150",), ("-DN=7",)),
    ),
    "enumerator": Case(
        """#ifdef BIG
enum { N = 150, K = 3 };
#else
enum { N = 100, K = 2 };
#endif
int A[200]; int main(void) { for (int i = 0; i < N; i++) A[i] = i * K; printf("%d %d\\n", A[99], A[149]); }""",
        (("-DBIG",),),
    ),
    "constant": Case(
        """#ifdef BIG
static const int n = 150;
#else
static const int n = 100;
#endif
int A[200]; int main(void) { for (int i = 0; i < n; i++) A[i] = i; printf("%d %d\\n", A[99], A[149]); }""",
        (("-DBIG",),),
    ),
    "element type": Case(
        """#ifdef SINGLE
typedef float real;
#else
typedef double real;
#endif
real A[100], B[100];
int main(void) { for (int i = 0; i < 100; i++) A[i] = (real)1 / (i + 3);
 real t; for (int i = 0; i < 100; i++) { t = A[i]; B[i] = t * t; } printf("%.17g\\n", (double)B[77]); }""",
        (("-DSINGLE",),),
    ),
    "size of a type": Case(
        """struct cell { int a;
#ifdef BIG
 double b;
#endif
}; long A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = i * sizeof(struct cell);
 printf("%ld\\n", A[99]); }""",
        (("-DBIG",),),
    ),
    "member": Case(
        """struct m { int n;
#ifdef SINGLE
 float *p;
#else
 double *p;
#endif
}; int main(void) { struct m m; m.n = 100; m.p = calloc(m.n, sizeof *m.p);
 for (int i = 0; i < m.n; i++) m.p[i] = i * 0.1; printf("%.17g\\n", (double)m.p[3]); }""",
        (("-DSINGLE",),),
    ),
    "keyword": Case(
        """double A[100]; int main(void) { for (int i = 0; i < 100; i++) { double t = 0.1 * i; A[i] = t * t; }
 printf("%.17g\\n", A[33]); }""",
        (("-Ddouble=float",),),
    ),
    "function": Case(
        """#include <math.h>
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = sqrt(i + 0.5);
 printf("%.17g\\n", A[33]); }""",
        (("-Dsqrt=cbrt",), ("-Dsqrt(x)=((x)*2)",)),
    ),
    "operation": Case(
        """#ifndef OP
#define OP(a, b) ((a) + (b))
#endif
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = OP(i, 3) / 7.0; printf("%g\\n", A[33]); }""",
        (("-DOP(a,b)=((a)*(b))",), ("-DOP(x,b)=((x)-(b))",)),
    ),
    "pasted": Case(
        """#ifndef WHICH
#define WHICH 1
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define K1 3
#define K2 4
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = i * JOIN(K, WHICH); printf("%g\\n", A[33]); }""",
        (("-DWHICH=2",),),
    ),
    "statement after": Case(
        """double A[100]; int main(void) { double t = 5; for (int i = 0; i < 100; i++) { t = i * 0.1; A[i] = t * t; }
#ifdef DEBUG
 printf("%g\\n", t);
#endif
 printf("%g\\n", A[33]); }""",
        (("-DDEBUG",),),
    ),
    "macro after": Case(
        """#ifdef DEBUG
#define LOG(x) printf("%g\\n", x)
#else
#define LOG(x)
#endif
double A[100]; int main(void) { double t = 5; for (int i = 0; i < 100; i++) { t = i * 0.1; A[i] = t * t; }
 LOG(t); printf("%g\\n", A[33]); }""",
        (("-DDEBUG",),),
    ),
    "hidden macro after": Case(
        """#ifdef DEBUG
#define LOG() printf("%g\\n", t)
#else
#define LOG()
#endif
double A[100]; int main(void) { double t = 5; for (int i = 0; i < 100; i++) { t = i * 0.1; A[i] = t * t; }
 LOG(); printf("%g\\n", A[33]); }""",
        (("-DDEBUG",),),
    ),
    "assertion after": Case(
        """#include <assert.h>
double A[100]; int main(void) { double t = 5; for (int i = 0; i < 100; i++) { t = i * 0.1; A[i] = t * t; }
 assert(t > 9); printf("%g\\n", A[33]); }""",
        (("-UNDEBUG",),),
        flags=("-DNDEBUG",),
    ),
    "assertion inside": Case(
        """#include <assert.h>
double A[100]; int main(void) { for (int i = 0; i < 100; i++) { assert((A[i] = 5) > 0); A[i] += i * 0.1; }
 printf("%g\\n", A[33]); }""",
        (("-UNDEBUG",),),
        flags=("-DNDEBUG",),
    ),
    "helper": Case(
        """#ifndef K
#define K 2
#endif
static double f(double x)
{
#ifdef SQUARE
    return x * x;
#else
    return x * K;
#endif
}
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = f(i); printf("%g\\n", A[33]); }""",
        (("-DSQUARE",), ("-DK=3",)),
    ),
    "two helpers": Case(
        """#ifdef SQUARE
static double f(double x) { return x * x; }
#else
static double f(double x) { return x + x; }
#endif
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = f(i); printf("%g\\n", A[33]); }""",
        (("-DSQUARE",),),
    ),
    "helper with a loop": Case(
        """#ifndef FROM
#define FROM 1
#endif
#ifndef real
#define real double
#endif
#ifdef HALF
#define SCALE(x) ((x) * 0.5)
#else
#define SCALE(x) (x)
#endif
static void scan(real *p, int n)
{
    for (int k = FROM; k < n; k++)
        p[k] = SCALE(p[k - 1] + 0.1);
}
real A[10][100]; int main(void) { for (int i = 0; i < 10; i++) scan(A[i], 100);
 printf("%.17g\\n", (double)A[3][99]); }""",
        (("-DFROM=50",), ("-DHALF",), ("-Dreal=float",), ("-Dscan(p,n)=((void)0)",)),
        alike=(("-O3",), ("-DM=3",)),
    ),
    "helpers of helpers": Case(
        """#ifdef FAST
static double near(double x) { return x * 0.5; }
#else
static double near(double x) { return x * 0.25; }
#endif
static double sum(const double *p, int n) { double s = 0; for (int k = 0; k < n; k++) s += near(p[k]); return s; }
double A[10][50], B[10]; int main(void) { for (int i = 0; i < 10; i++) { A[i][i] = i; B[i] += sum(A[i], 50); }
 printf("%g\\n", B[7]); }""",
        (("-DFAST",),),
        alike=(("-O3",),),
    ),
    "loop macro": Case(
        """#ifdef BACK
#define FOR(i, n) for (int i = (n) - 1; i >= 0; i--)
#else
#define FOR(i, n) for (int i = 0; i < (n); i++)
#endif
#ifdef SKIP
#define DO(x) if (k) x
#else
#define DO(x) do { x; } while (0)
#endif
double A[100][100]; int k;
int main(void) { FOR(i, 100) FOR(j, 100) DO(A[i][j] = i && j ? A[i - 1][j - 1] * 0.5 + j : i);
 printf("%.17g\\n", A[99][98] + A[40][60]); }""",
        (("-DBACK",), ("-DSKIP",), ("-Dfor(x)=while(1)",)),
        alike=(("-O3",), ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")),
    ),
    "whole loop in a macro": Case(
        """#ifndef STEP
#define STEP 1
#endif
#define FILL(a, n, v) do { for (int q = 0; q < (n); q += STEP) (a)[q] = (v); } while (0)
#define OPEN(i, n) for (int i = 0; i < n; i++) {
#define CLOSE }
int A[100]; int main(void) { FILL(A, 100, q + 3); OPEN(i, 50) A[i] += i * STEP; CLOSE
 printf("%d %d\\n", A[33], A[40]); }""",
        (("-DSTEP=2",), ("-DSTEP=3",)),
        alike=(("-O3",),),
    ),
    "loop macro of a header": Case(
        """#include "h.h"
int A[100][100]; int main(void) { int n = 0; EACH(i, j) { A[i][j] = ++n; } FOR(i) CELL(i, 3) += 5;
 printf("%d %d\\n", A[50][20], A[7][3]); }""",
        ((), ("-O0",)),
        header="""#define FOR(i) for (int i = 0; i < 100; i++)
#define EACH(i, j) FOR(i) FOR(j)
#define CELL(i, j) A[i][j]
""",
        later="""#define FOR(i) for (int i = 0; i < 100; i++)
#define EACH(i, j) FOR(j) FOR(i)
#define CELL(i, j) A[j][i]
""",
        alike=(("-O0",), ("-O3",)),
    ),
    "pointers": Case(
        """static double *make(double *other) {
#ifdef SHARE
 return other;
#else
 return 0;
#endif
}
int main(void) { double *a = malloc(800), *b = make(a); if (!b) b = malloc(800);
 for (int i = 0; i < 100; i++) a[i] = b[i] = i;
 for (int i = 1; i < 100; i++) a[i] = b[i - 1] + 1; printf("%g\\n", a[99]); }""",
        (("-DSHARE",),),
    ),
    "allocation": Case(
        """static double pool[100];
#ifdef SHARE
#define ALLOCATE(n) pool
#else
#define ALLOCATE(n) malloc(n)
#endif
int main(void) { double *a = ALLOCATE(800), *b = ALLOCATE(800);
 for (int i = 0; i < 100; i++) a[i] = b[i] = i;
 for (int i = 1; i < 100; i++) a[i] = b[i - 1] + 1; printf("%g\\n", a[99]); }""",
        (("-DSHARE",),),
    ),
    "header": Case(
        """#include "h.h"
real A[N]; int main(void) { for (int i = 0; i < COUNT; i++) A[i] = 0.1 * i * K; printf("%.17g\\n", (double)A[33]); }""",
        ((), ("-DX",)),
        header="#define N 200\n#define COUNT 100\nenum { K = 2 };\ntypedef double real;\n",
        later="#define N 100\n#define COUNT 60\nenum { K = 3 };\ntypedef float real;\n",
    ),
    "function of a header": Case(
        """#include "h.h"
double A[100]; int main(void) { for (int i = 0; i < 100; i++) A[i] = f(0.1 * i, i); printf("%.17g\\n", A[33]); }""",
        ((), ("-O0",)),
        header="static inline double f(double x, int k) { if (k > 2) return x * x + k; return x; }\n",
        later="static inline double f(double x, int k) { return x * x - k; }\n",
        alike=(("-O0",), ("-O3", "-march=native", "-ffp-contract=fast")),
    ),
    "function of a header with arrays": Case(
        """#include "h.h"
struct m a; double A[100]; int main(void) { make(&a); for (int i = 0; i < 100; i++) A[i] = at(&a, i) + i;
 printf("%.17g %.17g\\n", A[33], A[7]); }""",
        (("-DSTEP=3",), ("-DWHOLE",), ("-DFROM=4",), ("-DFACTOR=2.5",), ("-DTWICE",), ("-Ddouble=float",)),
        header="""#ifndef H
#define H
#ifndef STEP
#define STEP 1
#endif
#ifndef FROM
#define FROM 0
#endif
#ifndef FACTOR
#define FACTOR 1.5
#endif
enum { FIRST = FROM };
struct m { int step; double data[500]; };
static inline void make(struct m *a) { a->step = STEP; for (int i = 0; i < 500; i++) a->data[i] = 0.3 * i; }
#ifdef WHOLE
static inline double at(const struct m *a, int i) { return a->data[i]; }
#else
static inline double at(const struct m *a, int i) { return a->data[STEP * i + FIRST] * FACTOR; }
#endif
#ifdef TWICE
#define at(a, i) (2 * at(a, i))
#endif
#endif
""",
        alike=(("-O0",), ("-O3", "-DOTHER=3")),
    ),
    "unsigned char": Case(
        """char A[300]; int B[300]; int main(void) { for (int i = 0; i < 300; i++) A[i] = (char)i;
 for (int i = 0; i < 300; i++) B[i] = A[i] * 2; printf("%d\\n", B[200]); }""",
        (("-funsigned-char",),),
    ),
    "index type": Case(
        """#ifdef NARROW
typedef unsigned char index_t;
#else
typedef int index_t;
#endif
int A[400]; int main(void) { index_t n = 300 % 301;
 for (index_t i = 0; i < n; i++) A[i] = i; printf("%d\\n", A[270]); }""",
        (("-DNARROW",),),
    ),
    "names inside": Case(
        """#ifndef K
#define K 4
#endif
static int f(int x) { enum { L = 3 }; return x * L + (int)sizeof(x); }
int A[100], B[100]; int main(void) { enum { M = K };
 for (int i = 0; i < 100; i++) { enum { P = 2 }; typedef short narrow; narrow t = i; A[i] = t * M + P; }
 for (int i = 0; i < 100; i++) { double t = A[i]; B[i] = f(A[i]) + sizeof(t); } printf("%d\\n", B[33]); }""",
        (("-DK=5",),),
    ),
    "conditionals inside": Case(
        """#ifndef K
#define K 3
#endif
double A[100], B[100], s;
int main(void) { int i, j;
 for (i = 0; i < 100; i++) {
#ifdef ZERO
   A[i] = 0;
#else
   A[i] = i;
# if K > 5
   A[i] = -1;
# elif defined TWICE
   A[i] *= 2;
# endif
#endif
   for (j = 0; j < K; j++)
#if defined(MINUS) && \\
    !defined(ZERO)
     B[i] -= A[j];
#else
     B[i] += A[j] /* #endif */;
#endif
 }
 for (i = 0; i < 100; i++) s += A[i] + (i + 1) * B[i];
 printf("%g\\n", s); }""",
        (("-DZERO",), ("-DTWICE",), ("-DK=4",), ("-DK=6", "-DTWICE"), ("-DMINUS",), ("-DMINUS", "-DZERO")),
        alike=(("-DK=3",), ("-DOTHER",)),
    ),
    "left out inside": Case(
        """double A[100];
int main(void) { for (int i = 0; i < 100; i++) {
#ifdef OUTSIDE
#include "h.h"
   if (i > 50) { A[i] = 3;
#else
   if (i > 50) {
#endif
   A[i] += i; }
 } printf("%g\\n", A[60]); }""",
        (("-DOUTSIDE",),),
        header="A[i] = 5;\n",
    ),
    "conditional pragmas": Case(
        """int A[100], B[100], last;
int main(void) { int i = 0, t = 0;
#ifdef SHARED
#pragma omp parallel for lastprivate(t)
#else
#pragma omp parallel for firstprivate(t)
#endif
 for (i = 0; i < 100; i++) { t = i; A[i] = t; }
 last = t;
 printf("%d %d %d\\n", A[99], B[99], last); }""",
        (("-DSHARED",), ("-fno-openmp",), ("-fno-openmp", "-DSHARED")),
    ),
    "macros in a pragma": Case(
        """#ifndef KEPT
#define KEPT private
#endif
int A[100];
int main(void) { int t = 7;
#pragma omp parallel for KEPT(t)
 for (int i = 0; i < 100; i++) { t = i; A[i] = t; }
 printf("%d %d\\n", t, A[50]); }""",
        (("-DKEPT=lastprivate",),),
        alike=(("-DKEPT=private",),),
    ),
    "order of definitions": Case(
        """#define FAST 1
double A[100];
static void f(void) {
#if FAST
 for (int i = 0; i < 100; i++) A[i] = i * 0.5;
#else
 A[3] = 1;
#endif
}
int main(void) { f(); printf("%g\\n", A[33]); }""",
        ((),),
    ),
}


def printed(path: Path, flags: tuple[str, ...]) -> tuple[int, bytes]:
    """What a program prints; the compiler's verdict where it does not compile."""
    program = path.with_suffix("")
    command = ["gcc", "-O1", "-fopenmp", "-ffp-contract=off", *flags, str(path), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, timeout=60)
    if built.returncode:
        return built.returncode, b"no program"
    done = subprocess.run([str(program)], capture_output=True, timeout=20)
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", CASES)
def test_other_conditions(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    header = tmp_path / "h.h"
    header.write_text(case.header)
    original, written, alone = (tmp_path / f"{kind}.c" for kind in ("original", "written", "alone"))
    source = read(original, (_HEAD + case.source).encode(), case.flags)
    assert source.nests, source.rejections
    text = identity(source, case.flags)
    assert b"pe_tuned" in text
    written.write_bytes(text)
    alone.write_bytes(without_originals(text))
    for flags in ((), *case.alike):  # under the conditions it was tuned for, the written loops run
        assert printed(alone, (*case.flags, *flags)) == printed(original, (*case.flags, *flags)), text.decode()
    header.write_text(case.header if case.later is None else case.later)
    for flags in case.other:
        expected = printed(original, (*case.flags, *flags))
        assert printed(written, (*case.flags, *flags)) == expected, text.decode()


@pytest.mark.parametrize(
    ("flags", "tested"),
    [(("-march=znver3",), True), (("-march=sapphirerapids",), True), (("-mfpmath=387",), False)],
)
def test_how_the_target_evaluates_floating_point(flags: tuple[str, ...], tested: bool, tmp_path: Path) -> None:
    """Where vectors have half precision, gcc says 16 of it, which is 0 for what is not; the x87 has more precision."""
    text = b"double a[9];\nvoid f(void)\n{\n    for (int i = 0; i < 9; i++) a[i] = i;\n}\n"
    source = read(tmp_path / "a.c", text)
    found = surveyed(source, flags).tests[source.nests[0].name]
    assert isinstance(found, Untestable) != tested, found


def test_text_that_depends_on_its_line_is_left_alone(tmp_path: Path) -> None:
    text = b"int A[9];\nvoid f(void) { for (int i = 0; i < 9; i++) A[i] = i + __LINE__; }\n"
    source = read(tmp_path / "a.c", text)
    assert source.nests
    assert all(isinstance(tests, Untestable) for tests in surveyed(source).tests.values())


LINES = """#include <stdio.h>
#include <stdlib.h>
#define CHECK(c) if (!(c)) { printf("%d: no " #c, __LINE__); exit(1); }
#define NEXT 45
double a[99];
int main(void)
{
    for (int i = 0; i < 99; i++) a[i] = i;
    for (int i = 0; i < 99; i++) {
        CHECK(a[i] >= 0);
        if (a[i] > 99) { printf("line %d of %s", __LINE__, __FILE__); return 2; }
        a[i] += NEXT; }
    printf("%g", a[44]);
    return 0;
}
"""


@pytest.mark.gcc
def test_exits_that_say_in_which_line_they_are(tmp_path: Path) -> None:
    """What a macro expands to is tested without the number of its line, and what only runs in an exit is not tested."""
    source = read(tmp_path / "a.c", LINES.encode())
    assert len(source.nests) == 2 and not any(isinstance(t, Untestable) for t in surveyed(source).tests.values())
    written = identity(source)
    (tmp_path / "w.c").write_bytes(without_originals(written))

    def run(*flags: str) -> tuple[int, str]:
        subprocess.run(["gcc", "-w", *flags, tmp_path / "w.c", "-o", tmp_path / "w"], check=True)
        ran = subprocess.run([tmp_path / "w"], capture_output=True, text=True)
        return ran.returncode, ran.stdout

    assert run() == (0, "89")
    for old, new in (('"%d: no "', '"%d: not "'), ("exit(1)", "exit(2)"), ("NEXT 45", "NEXT 46")):
        changed = without_originals(written).replace(old.encode(), new.encode(), 1)
        (tmp_path / "w.c").write_bytes(changed)
        assert run()[0] == -6, old
    text = LINES.replace("a[i] += NEXT", "a[i] += __LINE__")
    assert isinstance(surveyed(read(tmp_path / "b.c", text.encode())).tests["main_1"], Untestable)
    text = LINES.replace("__LINE__); exit", "__COUNTER__); exit")
    assert isinstance(surveyed(read(tmp_path / "c.c", text.encode())).tests["main_1"], Untestable)


UNKNOWN = {
    "preprocessor lines": "static double f(const double *p, int i) {\n#ifdef X\ni++;\n#endif\nreturn p[i] * 2; }\n",
    "condition with arguments": "#define HAS(x) x\n#if HAS(1)\n"
    "static double f(const double *p, int i) { return p[i]; }\n#endif\n",
    "made by a macro": "#define F(n) static double n(const double *p, int i) { return p[i] * 2; }\nF(f)\n",
    "changed on the way": "#define T 2\nstatic double f(const double *p, int i) { return p[i] * T; }\n"
    "#undef T\n#define T 3\n",
}


def test_another_header_with_a_function_of_the_same_name(tmp_path: Path) -> None:
    """Which one is included, the file says and not the headers."""
    body = "static inline double at(const double *p, int i) { return p[%s]; }\n"
    (tmp_path / "near.h").write_text(body % "i")
    (tmp_path / "far.h").write_text(body % "99 - i")
    code = """#ifdef FAR
#include "far.h"
#else
#include "near.h"
#endif
double A[100], B[100]; int main(void) { for (int i = 0; i < 100; i++) B[i] = i * 0.5;
 for (int i = 0; i < 100; i++) A[i] = at(B, i); printf("%g %g\\n", A[3], A[70]); }"""
    original, written = tmp_path / "original.c", tmp_path / "written.c"
    source = read(original, (_HEAD + code).encode())
    written.write_bytes(identity(source, ()))
    for flags in ((), ("-DFAR",)):
        assert printed(written, flags) == printed(original, flags)


@pytest.mark.parametrize("name", UNKNOWN)
def test_function_of_a_header_that_cannot_be_tested(name: str, tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text(UNKNOWN[name])
    text = b'#include "h.h"\ndouble A[9], B[9];\nvoid g(void) { for (int i = 0; i < 9; i++) A[i] = f(B, i); }\n'
    source = read(tmp_path / "a.c", text)
    (tests,) = surveyed(source).tests.values()
    assert isinstance(tests, Untestable) and "'f'" in tests.reason


CHANGED = {
    "macro": "#ifndef T\n#define T 2\n#endif\n%s\n#undef T\n#define T 3\n",
    "macro inside": "#ifndef S\n#define S 2\n#endif\n#define T S\n%s\n#undef S\n#define S 3\n",
    "condition": "#ifdef S\n#define T 2\n%s\n#else\n#define T 3\n%s\n#endif\n#undef S\n",
    "file": '#include "before.h"\n%s\n#include "after.h"\n',
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_function_that_was_read_under_other_macros_is_not_tested(name: str, tmp_path: Path) -> None:
    (tmp_path / "before.h").write_text("#define T 2\n")
    (tmp_path / "after.h").write_text("#undef T\n#define T 3\n")
    helper = "static void f(double *p, int n) { for (int k = 0; k < n; k++) p[k] += T; }"
    text = CHANGED[name].replace("%s", helper) + "double A[9];\nvoid g(void) { for (int i = 0; i < 9; i++) f(A, i); }\n"
    source = read(tmp_path / "a.c", text.encode())
    tests = surveyed(source).tests
    assert not isinstance(tests["f_0"], Untestable)
    last = tests["g_0"]
    assert isinstance(last, Untestable) and "a function that it calls" in last.reason


def test_conditions_that_changed_on_the_way_are_not_tested(tmp_path: Path) -> None:
    text = b"""#define A 1
int a[9];
void f(void) { double t = 0;
#undef A
for (int i = 0; i < 9; i++) { t = i; a[i] = t; }
#ifdef A
a[0] = t;
#endif
}
void g(void) {
#define A
 for (int i = 0; i < 9; i++) a[i] = i;
#ifdef A
#undef A
a[0] = 2;
#endif
}
"""
    source = read(tmp_path / "a.c", text)
    assert len(source.nests) == 2
    written = identity(source)
    assert written.count(b"#if defined pe_tuned") == 2


def test_macros_of_the_pragma_around(tmp_path: Path) -> None:
    text = """int a[9], b[9];
#define REGION parallel OWN(i)
#define OWN(x) private(x)
void f(void) { int i;
#pragma omp REGION // all
{
#pragma omp for
 for (i = 0; i < 9; i++) a[i] = i;
%s
#pragma omp for
 for (i = 0; i < 9; i++) b[i] = i;
} }
"""
    found = surveyed(read(tmp_path / "a.c", (text % "a[0] = 1;").encode())).tests
    assert all("REGION" in test.condition(None) for test in found.values() if not isinstance(test, Untestable))
    assert len(found) == 2 and not any(isinstance(test, Untestable) for test in found.values())
    found = surveyed(read(tmp_path / "a.c", (text % "#undef OWN\n#define OWN(x)").encode())).tests
    first, second = found.values()
    assert isinstance(second, Untestable) and "'OWN' changes between it and a pragma around it" in second.reason
    assert not isinstance(first, Untestable)


def test_macros_with_half_a_pair_of_parentheses_are_not_tested(tmp_path: Path) -> None:
    text = b"#define CLOSE )\n#define BOTH CLOSE\nvoid f(int n, double *a)\n{\n"
    text += b"for (int i = 0; i < n; i++) a[i] *= (2 + n CLOSE;\nn++;\nfor (int i = 0; i < n; i++) a[i] += (n BOTH;\n"
    text += b"n++;\nfor (int i = 0; i < n; i++) a[i] += n;\n}\n"
    found = surveyed(read(tmp_path / "a.c", text)).tests
    reasons = [t.reason if isinstance(t, Untestable) else "" for t in found.values()]
    assert ["half of a pair" in reason for reason in reasons] == [True, True, False]
