"""Everything C and its extensions have to offer besides plain loops over arrays."""

from __future__ import annotations

from dataclasses import replace

from tests.attack.registry import ANY, CASES, REJECTED, UNDERSTOOD, case, loops, nest

_NONE = frozenset((3,))
_NEST = frozenset((0,))


_EVERY_TIME = """
k-and-r nested-function statement-expression generic vla-in-struct vla-size-changes inline-asm asm-label computed-goto goto-into-loop labels-in-loop empty-bodies static-in-loop volatile volatile-limit atomic thread-local thread-local-array complex float16 bit-fields union struct-copy flexible-member pointer-cast pointer-from-integer address-of-iterator signal-handler cleanup attributes openmp condition-with-effects iterator-changed limit-changed order-of-evaluation short-circuit intrinsics implicit-function cpp rust main-is-a-variable unknown-standard json-rejected
json-refused json-nests
"""  # the others are of the slow half


def register() -> None:
    before = set(CASES)
    _register()
    names = frozenset(_EVERY_TIME.split())
    assert set(CASES) >= names, names - set(CASES)
    for name in set(CASES) - before - names:
        CASES[name] = replace(CASES[name], slow=True)


def _register() -> None:
    case(
        "k-and-r",
        "f(n, A) int n; double *A; { int i; for (i = 0; i < n; i++) A[i] = 1; }\n",
        UNDERSTOOD,
        options=("-std=c89",),
    )
    case(
        "k-and-r-main",
        "main() { double a[9]; register i; for (i = 0; i < 9; i++) a[i] = i; return a[3]; }\n",
        ANY,
        options=("-std=c89",),
    )
    case("nested-function", nest("double g(int i) { return A[i] + n; }\nfor (int i = 0; i < n; i++) B[i] = g(i);"), ANY)
    case("statement-expression", loops("A[i] = ({ double t = B[i]; t * t; });"), UNDERSTOOD)
    case(
        "loop-in-statement-expression",
        nest("n = ({ int s = 0; for (int i = 0; i < n; i++) s += A[i]; s; });"),
        UNDERSTOOD,
    )
    case("generic", loops("A[i] = _Generic(B[i], double: B[i] * 2, default: 0);"), UNDERSTOOD)
    case("vla-in-struct", nest("struct { double a[n]; } s; for (int i = 0; i < n; i++) s.a[i] = 1;"), ANY)
    case("vla-of-vla", nest("double T[n][n * n][n + 1]; for (int i = 0; i < n; i++) T[i][i][i] = A[i];"), UNDERSTOOD)
    case(
        "vla-size-changes",
        nest(
            "double T[n]; n = 3; for (int i = 0; i < n; i++) T[i] = A[i]; for (int i = 0; i < sizeof T / 8; i++) A[i] = T[i];"
        ),
        UNDERSTOOD,
    )
    case(
        "vla-with-effects",
        nest("double T[n++][g()]; for (int i = 0; i < n; i++) T[i][i] = A[i];", "int g(void);"),
        UNDERSTOOD,
    )
    case(
        "vla-parameter-star",
        "void f(int n, double A[n][*]);\nvoid f(int n, double A[n][n]) { for (int i = 0; i < n; i++) A[i][i] = 1; }\n",
        _NEST,
    )
    case(
        "vla-parameter-effects",
        "int g(void);\nvoid f(int n, double A[n][g()]) { for (int i = 0; i < n; i++) A[i][i] = 1; }\n",
        UNDERSTOOD,
    )
    case(
        "static-parameter",
        "void f(double A[static restrict const 9]) { for (int i = 0; i < 9; i++) A[i] = 1; }\n",
        _NEST,
    )
    case("inline-asm", loops('__asm__ volatile("" : "+m"(A[i]) : : "memory");'), _NONE)
    case("asm-goto", loops('__asm__ goto("" : : : : out); A[i] = 1; out:;'), UNDERSTOOD)
    case("asm-at-file-scope", '__asm__(".globl x\\nx:");\n' + loops("A[i] = 1;"), _NEST)
    case("asm-label", 'double x asm("y");\n' + loops("A[i] = x;"), UNDERSTOOD)
    case("asm-register", nest('register int i asm("rbx"); for (i = 0; i < n; i++) A[i] = 1;'), UNDERSTOOD)
    case("asm-nonsense", 'void f(void) { __asm__("this is no instruction %z9"); }\n', ANY)
    case(
        "computed-goto",
        nest("void *p[] = {&&a, &&b}; a: for (int i = 0; i < n; i++) { A[i] = 1; goto *p[i & 1]; } b:;"),
        UNDERSTOOD,
    )
    case("goto-into-loop", nest("int i; goto in; for (i = 0; i < n; i++) { A[i] = 1; in: A[0] = 2; }"), UNDERSTOOD)
    case("goto-out-of-loop", loops("A[i] = 1; if (A[i] > B[i]) goto out;").replace("}\n}", "}\nout:;\n}"), UNDERSTOOD)
    case(
        "goto-backwards", nest("again: for (int i = 0; i < n; i++) A[i] += 1; if (A[0] < 100) goto again;"), UNDERSTOOD
    )
    case(
        "duff",
        nest(
            "int i = 0; switch (n % 4) { for (; i < n; ) { case 0: A[i++] = 1; case 3: A[i++] = 1; case 2: A[i++] = 1; case 1: A[i++] = 1; } }"
        ),
        UNDERSTOOD,
    )
    case("switch-around", nest("switch (n) for (int i = 0; i < n; i++) { case 1: A[0] = 1; }"), UNDERSTOOD)
    case("case-ranges", loops("switch (i) { case 0 ... 5: A[i] = 1; }"), UNDERSTOOD)
    case("labels-in-loop", loops("l: A[i] = 1; { __label__ m; m: B[i] = 1; }"), UNDERSTOOD)
    case(
        "empty-bodies",
        nest("for (int i = 0; i < n; i++); for (int i = 0; i < n; i++) {} for (int i = 0; i < n; i++) { ; ; {} }"),
        UNDERSTOOD,
    )
    case("empty-function", "void f(void) {}\nint main(void) {}\n", _NONE)
    case("empty-statement-loop", nest("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) ;"), UNDERSTOOD)
    case("only-declarations", loops("int x; double y[3]; struct { int a; } z; typedef int t;"), UNDERSTOOD)
    case("static-in-loop", loops("static int c; A[i] = c++;"), _NONE)
    case("extern-in-loop", loops("extern double c; A[i] = c;"), UNDERSTOOD)
    case("function-in-loop", loops("double g(double); A[i] = g(i);"), UNDERSTOOD)
    case("volatile", nest("for (int i = 0; i < n; i++) A[i] = 1;", parameters="int n, volatile double *A"), _NONE)
    case("volatile-iterator", nest("for (volatile int i = 0; i < n; i++) A[i] = 1;"), _NONE)
    case(
        "volatile-limit",
        nest("for (int i = 0; i < n; i++) A[i] = 1;", parameters="volatile int n, double *A"),
        UNDERSTOOD,
    )
    case("volatile-cast", loops("*(volatile double *)&A[i] = 1;"), _NONE)
    case("volatile-member", loops("s.x[i] = A[i];", "struct { volatile double x[9]; } s;"), _NONE)
    case("atomic", nest("for (int i = 0; i < n; i++) A[i] += 1;", parameters="int n, _Atomic double *A"), ANY)
    case("atomic-scalar", loops("c++; A[i] = c;", "_Atomic int c;"), UNDERSTOOD)
    case("thread-local", loops("c += A[i];", "static _Thread_local double c;"), UNDERSTOOD)
    case("thread-local-array", loops("c[i] = A[i];", "_Thread_local double c[99];"), UNDERSTOOD)
    case(
        "complex", nest("for (int i = 0; i < n; i++) A[i] *= A[i];", parameters="int n, double _Complex *A"), UNDERSTOOD
    )
    case("imaginary-literal", loops("A[i] = 1.0i * 2;"), UNDERSTOOD)
    case("int128", nest("for (__int128 i = 0; i < n; i++) A[i] = i;", parameters="int n, __int128 *A"), UNDERSTOOD)
    case("long-double", nest("for (int i = 0; i < n; i++) A[i] += 1;", parameters="int n, long double *A"), UNDERSTOOD)
    case("float128", nest("for (int i = 0; i < n; i++) A[i] += 1;", parameters="int n, __float128 *A"), ANY)
    case("float16", nest("for (int i = 0; i < n; i++) A[i] += 1;", parameters="int n, _Float16 *A"), ANY)
    case("bool", nest("for (_Bool i = 0; i < 1; i++) A[i] = !A[i];", parameters="_Bool *A"), UNDERSTOOD)
    case("bit-fields", loops("s[i].x++; A[i] = s[i].y;", "struct { int x : 3; unsigned y : 31; } s[99];"), UNDERSTOOD)
    case("union", loops("u.d = A[i]; B[i] = u.f;", "union { double d; float f; } u;"), UNDERSTOOD)
    case("union-array", loops("u[i].d = u[i + 1].f;", "union { double d; float f; } u[99];"), UNDERSTOOD)
    case("struct-array", loops("s[i].x = s[i].y[i % 3];", "struct { double x, y[3]; } s[99];"), UNDERSTOOD)
    case("struct-copy", loops("s[i] = s[i + 1];", "struct { double x; } s[99];"), UNDERSTOOD)
    case("struct-return", loops("A[i] = g(i).x[1];", "struct r { double x[3]; }; struct r g(int);"), UNDERSTOOD)
    case(
        "flexible-member",
        nest("for (int i = 0; i < s->n; i++) s->a[i] = 1;", "struct s { int n; double a[]; };", "struct s *s"),
        UNDERSTOOD,
    )
    case(
        "anonymous-members",
        loops("s.x[i] = s.y;", "struct { union { double x[9]; int z; }; double y; } s;"),
        UNDERSTOOD,
    )
    case("compound-literal", loops("A[i] = (double[]){1, 2, 3}[i % 3];"), UNDERSTOOD)
    case("designators", loops("double t[] = {[2] = B[i], [0 ... 1] = 5}; A[i] = t[i % 3];"), UNDERSTOOD)
    case("string-subscript", loops('A[i] = "abc"[i % 3] + (i % 3)["abc"];'), UNDERSTOOD)
    case("turned-subscript", loops("i[A] = (i + 1)[B];"), UNDERSTOOD)
    case("negative-subscript", loops("A[-i] = A[i - n];"), _NEST)
    case("pointer-walk", nest("for (double *p = A; p < A + n; p++) *p = 1;"), UNDERSTOOD)
    case(
        "pointer-in-pointer",
        nest(
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[j][i];", parameters="int n, double **A"
        ),
        UNDERSTOOD,
    )
    case(
        "pointer-to-array",
        nest("for (int i = 0; i < n; i++) (*A)[i] = (*A)[i + 1];", parameters="int n, double (*A)[100]"),
        UNDERSTOOD,
    )
    case("pointer-cast", loops("((float *)A)[i] = ((int *)B)[2 * i];"), UNDERSTOOD)
    case("pointer-from-integer", loops("((double *)0xdeadbeef)[i] = A[i]; *(double *)(long)i = 1;"), UNDERSTOOD)
    case(
        "pointer-to-function",
        nest("for (int i = 0; i < n; i++) A[i] = g(i);", parameters="int n, double *A, double (*g)(int)"),
        _NONE,
    )
    case("pointer-difference", nest("for (int i = 0; i < A - B; i++) A[i] = B[i];"), UNDERSTOOD)
    case("address-of-iterator", loops("int *p = &i; A[*p] = 1;"), UNDERSTOOD)
    case(
        "list",
        nest(
            "for (struct s *p = s; p; p = p->next) p->x = 1;", "struct s { struct s *next; double x; };", "struct s *s"
        ),
        UNDERSTOOD,
    )
    case(
        "void-pointer",
        nest("for (int i = 0; i < n; i++) ((char *)(A + i))[0] = 1;", parameters="int n, void *A"),
        UNDERSTOOD,
    )
    case("alloca", loops("double *t = __builtin_alloca(8 * n); t[0] = i; A[i] = t[0];"), UNDERSTOOD)
    case(
        "malloc-in-loop",
        loops("double *t = malloc(8); t[0] = i; A[i] = t[0]; free(t);", "#include <stdlib.h>"),
        UNDERSTOOD,
    )
    case("setjmp", loops("if (setjmp(b)) A[i] = 1; else longjmp(b, 1);", "#include <setjmp.h>\njmp_buf b;"), UNDERSTOOD)
    case(
        "signal-handler",
        loops(
            "if (stop) break; A[i] = 1;", "#include <signal.h>\nvolatile sig_atomic_t stop; void h(int s) { stop = s; }"
        ),
        UNDERSTOOD,
    )
    case(
        "varargs",
        "#include <stdarg.h>\ndouble f(int n, ...) { va_list v; va_start(v, n); double s = 0; for (int i = 0; i < n; i++) s += va_arg(v, double); va_end(v); return s; }\n",
        UNDERSTOOD,
    )
    case(
        "vector-type",
        nest(
            "for (int i = 0; i < n; i++) A[i] = A[i] * A[i + 1];",
            "typedef double v4 __attribute__((vector_size(32)));",
            "int n, v4 *A",
        ),
        UNDERSTOOD,
    )
    case(
        "vector-element",
        nest(
            "for (int i = 0; i < n; i++) A[i][i % 4] = 1;",
            "typedef double v4 __attribute__((vector_size(32)));",
            "int n, v4 *A",
        ),
        UNDERSTOOD,
    )
    case(
        "intrinsics",
        nest("for (int i = 0; i < n; i += 4) _mm256_storeu_pd(A + i, _mm256_setzero_pd());", "#include <immintrin.h>"),
        ANY,
    )
    case(
        "builtins",
        loops(
            'A[i] = __builtin_expect(B[i] > 0, 1) ? __builtin_inf() : __builtin_nan(""); __builtin_prefetch(&A[i + 8]);'
        ),
        UNDERSTOOD,
    )
    case(
        "unreachable", loops("if (n < 0) __builtin_unreachable(); A[i] = 1; if (n > 99) __builtin_trap();"), UNDERSTOOD
    )
    case(
        "typeof",
        nest("__typeof__(n) m = n; for (__typeof__(m) i = 0; i < m; i++) { __auto_type t = B[i]; A[i] = t; }"),
        UNDERSTOOD,
    )
    case(
        "alignas",
        "_Alignas(64) double T[99];\nvoid f(void) { for (int i = 0; i < 99; i++) T[i] = _Alignof(double); }\n",
        _NEST,
    )
    case("static-assert", loops('_Static_assert(sizeof(int) == 4, "x"); A[i] = 1;'), UNDERSTOOD)
    case("static-assert-fails", '_Static_assert(0, "on purpose");\n', REJECTED, said="on purpose")
    case("noreturn", loops("if (B[i] > 0) stop(); A[i] = 1;", "_Noreturn void stop(void);"), UNDERSTOOD)
    case("cleanup", loops("__attribute__((cleanup(g))) double t = B[i]; A[i] = t;", "void g(double *p);"), UNDERSTOOD)
    case(
        "attributes",
        '__attribute__((noinline, cold, section("x"))) '
        + loops("__attribute__((unused)) double t = 1; A[i] = t;").lstrip(),
        UNDERSTOOD,
    )
    case(
        "attribute-on-loop",
        nest(
            "#pragma GCC unroll 4\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma GCC ivdep\nfor (int i = 0; i < n; i++) A[i] = 1;"
        ),
        UNDERSTOOD,
    )
    case(
        "openmp",
        nest(
            "#pragma omp parallel for\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma omp parallel\n{ for (int i = 0; i < n; i++) B[i] = 1; }"
        ),
        UNDERSTOOD,
    )
    case(
        "scop-pragmas",
        nest("#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma endscop\n#pragma scop\n"),
        UNDERSTOOD,
    )
    case(
        "condition-with-effects",
        nest(
            "for (int i = 0; i < n--; i++) A[i] = 1; for (int i = 0; (A[i] = i) < 9; i++) ; for (int i = 0; g(), i < n; i++) A[i] = 1;",
            "void g(void);",
        ),
        UNDERSTOOD,
    )
    case("two-iterators", nest("for (int i = 0, j = n; i < j; i++, j--) A[i] = A[j];"), UNDERSTOOD)
    case("iterator-changed", loops("if (B[i] > 0) i += 2; A[i] = 1;"), _NONE)
    case("limit-changed", loops("A[i] = 1; if (A[i] > 3) n--;"), UNDERSTOOD)
    case("float-iterator", nest("for (double x = 0; x < 1; x += 0.1) A[(int)(x * 10)] = x;"), UNDERSTOOD)
    case("char-iterator", nest("for (char c = 0; c < 200; c++) A[c & 7] = 1;"), UNDERSTOOD)
    case("enum-iterator", nest("for (enum e i = a; i < c; i++) A[i] = 1;", "enum e { a, b, c };"), UNDERSTOOD)
    case(
        "pointer-limit",
        nest("for (int i = 0; i < *m; i++) { A[i] = 1; *m = 3; }", parameters="int *m, double *A"),
        UNDERSTOOD,
    )
    case("assignment-in-subscript", loops("A[i = i + 1] = 0;"), UNDERSTOOD)
    case("increment-in-subscript", nest("int k = 0; for (int i = 0; i < n; i++) A[k++] = B[--k + 1];"), UNDERSTOOD)
    case("assignment-in-condition", loops("if ((A[i] = B[i]) > 0 && (B[i] = 1)) A[i] = 2;"), UNDERSTOOD)
    case("order-of-evaluation", loops("A[i] = A[i]++ + ++A[i];"), UNDERSTOOD)
    case(
        "short-circuit", loops("if (i > 0 && A[i - 1] > 0 || B[-1] > 2) A[i] = i && B[i] ? n || A[i] : 0;"), UNDERSTOOD
    )
    case("sizeof-effects", loops("A[i] = sizeof(n++) + sizeof(double[n++]);"), UNDERSTOOD)
    case("errno", loops("A[i] = log(B[i]); if (errno) A[i] = 0;", "#include <math.h>\n#include <errno.h>"), UNDERSTOOD)
    case(
        "fenv",
        loops("A[i] = B[i] / 3; if (i == 5) fesetround(FE_UPWARD);", "#include <fenv.h>\n#pragma STDC FENV_ACCESS ON"),
        UNDERSTOOD,
    )
    case("undeclared", loops("A[i] = nowhere[i];"), REJECTED, said="nowhere")
    case("implicit-function", loops("A[i] = unknown(i);"), UNDERSTOOD | REJECTED)
    case("wrong-types", loops("A[A[i]] = B; A = 3.5 % i;"), REJECTED)
    case("incomplete-type", loops("s.x = 1;", "struct t s;"), REJECTED)
    case("duplicate-main", "int main(void) { return 0; }\nint main(void) { return 1; }\n", REJECTED)
    case("main-is-a-variable", "double main[9];\nvoid f(void) { for (int i = 0; i < 9; i++) main[i] = 1; }\n", ANY)
    case(
        "cpp",
        "#include <vector>\ntemplate <class T> void f(std::vector<T> &a) { for (auto &x : a) x = 1; }\n",
        REJECTED,
    )
    case("rust", 'fn main() { for i in 0..10 { println!("{}", i); } }\n', REJECTED)
    case("fortran", "      DO 10 I = 1, N\n      A(I) = 1\n 10   CONTINUE\n", REJECTED)
    case("python", "for i in range(10):\n    print(i)\n", REJECTED)
    case("blocks", loops("void (^b)(void) = ^{ A[i] = 1; }; b();"), ANY, options=("--cflags=-fblocks",))
    case("clang-only", loops("A[i] = __builtin_shufflevector(B, B);"), REJECTED)
    case(
        "c23",
        "constexpr int n = 9;\nvoid f(double *A) { for (auto i = 0; i < n; i++) A[i] = nullptr == 0; }\n",
        ANY,
        options=("-std=c2x",),
    )
    case("c89-declaration", loops("A[i] = 1;"), ANY, options=("-std=c89",))
    case("unknown-standard", loops("A[i] = 1;"), ANY, options=("-std=c3000",))
    case("json-rejected", "int x = y;\n", REJECTED, options=("--json",), said="schema_version")
    case(
        "json-refused",
        loops("g(i); /* \u202e\033 \xff */", "void g(int);").encode("latin-1", "replace"),
        _NONE,
        options=("--json",),
    )
    case("json-nests", loops("A[i] = B[i + 1]; B[i] = A[i - 1];"), _NEST, options=("--json", "-v"))
