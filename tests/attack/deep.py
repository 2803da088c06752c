"""Inputs that are too deep, too large, or too many of something."""

from __future__ import annotations

import os
from pathlib import Path

from tests.attack.registry import ANY as _ANY
from tests.attack.registry import CASES, REJECTED, UNDERSTOOD, case, loops, mark_slow, nest

ANY = _ANY | {9}  # also more than there is time for
_NEST = frozenset((0,))
_NONE = frozenset((3,))


_SLOW = """
loops-250 stencils-40 loops-6 braces-200 braces-5000 parentheses-200 ifs-60 open-parentheses open-brackets
subscript-product divisions recursive-call zero-array zero-rows arrays-300 parameters-120 pointers-60 holes floors
large-factors many-statements macro-recursive macro-header macro-keywords macro-semicolon counter
conditional-in-loop warning-directive include-itself-once include-itself-by-macro include-folder include-chain
include-loop-body line-nonsense line-in-loop nests-300 moduli
triangles-6 loops-3000 triangles-250 triangles-3000 braces-100000 parentheses-100000 ifs-5000 else-ifs switches
labels whiles structs typedefs casts dereferences sum-20000 subscript-terms modulos commas assignments calls call-chain mutual-calls long-number long-name long-string string-pieces dimensions-12 dimensions-300 dimensions-5000
huge-rows negative-array statements-5000 nests-3000 functions-3000 refusals-2000 enumerators warnings-5000 cases
islands negated limits larger-factors all-coupled many-accesses macro-sum macro-parameters macro-unclosed
stringizing macro-huge conditionals-deep include-nothing include-zero include-random include-huge include-itself-twice include-whole include-self-link line-overflow line-same-name
"""  # mostly those that are stopped for the time they take


def register() -> None:
    before = set(CASES)
    _register()
    mark_slow(before, frozenset(_SLOW.split()))


def _register() -> None:
    _nesting()
    _expressions()
    _many()
    _polyhedra()
    _preprocessor()


def _nesting() -> None:
    for depth, codes in ((6, _NEST), (30, UNDERSTOOD), (250, ANY), (3_000, ANY)):
        head = "".join(f"for (int i{k} = 0; i{k} < 2; i{k}++) " for k in range(depth))
        case(f"loops-{depth}", nest(f"{head} A[i0] = i{depth - 1};"), codes)
        case(
            f"triangles-{depth}",
            nest(f"for (int i0 = 0; i0 < n; i0++) {''.join(_triangle(k) for k in range(1, depth))} A[i0] += 1;"),
            ANY,
        )
    for depth in (200, 5_000, 100_000):
        case(f"braces-{depth}", loops("{" * depth + "A[i] = 1;" + "}" * depth), ANY)
        case(f"parentheses-{depth}", loops("A[i] = " + "(" * depth + "B[i]" + ")" * depth + ";"), ANY)
    for depth in (60, 300, 5_000):
        case(f"ifs-{depth}", loops("".join(f"if (n > {k}) " for k in range(depth)) + "A[i] = 1;"), ANY)
    case("else-ifs", loops(" else ".join(f"if (B[i] > {k}) A[i] = {k};" for k in range(2_000))), ANY)
    case("open-braces", "void f(void) { " + "{" * 100_000, REJECTED)
    case("open-parentheses", "int x = " + "(" * 100_000, REJECTED)
    case("open-brackets", "int x" + "[" * 50_000, REJECTED)
    case("closing-braces", "}" * 5_000, REJECTED)
    case("switches", loops("switch (i) { case 0: " * 300 + ";" + "}" * 300), ANY)
    case("labels", loops("".join(f"l{k}: " for k in range(3_000)) + "A[i] = 1;"), ANY)
    case("whiles", loops("while (n) " * 3_000 + "A[i] = 1;"), ANY)
    case("structs", "struct a { " * 400 + "int x; " + "} s; " * 399 + "};\n", ANY)
    case("typedefs", "typedef int t0;" + "".join(f"typedef t{k} *t{k + 1};" for k in range(2_000)) + "t2000 x;\n", ANY)
    case("pointers", f"void f(double {'*' * 3_000}A) {{ for (int i = 0; i < 9; i++) {'*' * 2_999}A[i] = 0; }}\n", ANY)
    case("declarators", "int " + "(" * 5_000 + "x" + ")" * 5_000 + ";\n", ANY)


def _triangle(k: int) -> str:
    return f"for (int i{k} = i{k - 1}; i{k} < n; i{k}++) "


def _expressions() -> None:
    case("unary-minus", loops("A[i] = " + "- " * 10_000 + "B[i];"), ANY)
    case("casts", loops("A[i] = " + "(float)(double)" * 2_000 + "B[i];"), ANY)
    case("dereferences", loops("A[i] = " + "*&" * 2_000 + "B[i];"), ANY)
    case("sum-300", loops("A[i] = " + " + ".join(f"B[i + {k}]" for k in range(300)) + ";"), ANY)
    case("sum-20000", loops("A[i] = " + " + ".join(["B[i]"] * 20_000) + ";"), ANY)
    case("product-tree", loops(f"A[i] = {_tree(11)};"), ANY)
    case("subscript-sum", loops("A[" + " + ".join(["i"] * 3_000) + "] = 0;"), ANY)
    case("subscript-terms", loops("A[" + " + ".join(f"{k} * i" for k in range(3_000)) + "] = 0;"), ANY)
    case("subscript-product", loops("A[" + " * ".join(["i"] * 200) + "] = 0;"), ANY)
    case("subscript-power", loops(f"A[{_power('(i + n + 1)', 7)}] = 0;"), ANY)
    case("subscript-of-subscript", loops("A[" + "P[" * 300 + "i" + "]" * 300 + "] = 0;", "int P[9];"), ANY)
    case("divisions", loops("A[" + "(" * 40 + "i" + " / 2 + n)" * 40 + "] = 0;"), ANY)
    case("modulos", loops("A[" + "(" * 20 + "i" + "".join(f" % {k})" for k in range(50, 30, -1)) + "] = 0;"), ANY)
    case("conditionals", loops("A[i] = " + "".join(f"B[i] > {k} ? {k} : " for k in range(2_000)) + "0;"), ANY)
    case("commas", loops(", ".join(f"A[i] = {k}" for k in range(3_000)) + ";"), ANY)
    case("assignments", loops(" = ".join(f"A[i + {k}]" for k in range(500)) + " = 0;"), ANY)
    case(
        "calls",
        loops("A[i] = " + "h(" * 400 + "B[i]" + ")" * 400 + ";", "static double h(double x) { return x + 1; }"),
        ANY,
    )
    case(
        "call-chain",
        loops(
            "A[i] = h200(B[i]);",
            "static double h0(double x) { return x; }\n"
            + "".join(f"static double h{k}(double x) {{ return h{k - 1}(x) + h{k - 1}(x); }}\n" for k in range(1, 201)),
        ),
        ANY,
    )
    case(
        "call-doubling",
        loops(
            "A[i] = h16(B[i]);",
            "static double h0(double x) { return x; }\n"
            + "".join(
                f"static double h{k}(double x) {{ return h{k - 1}(x) + h{k - 1}(x + {k}); }}\n" for k in range(1, 17)
            ),
        ),
        ANY,
    )
    case("recursive-call", loops("A[i] = h(B[i]);", "static double h(double x) { return x > 1 ? h(x - 1) : x; }"), ANY)
    case(
        "mutual-calls",
        loops(
            "A[i] = g(B[i]);",
            "static double h(double); static double g(double x) { return h(x); }\nstatic double h(double x) { return g(x); }",
        ),
        ANY,
    )
    case(
        "substitutions",
        nest(
            "int t0 = n;\n"
            + "".join(f"int t{k} = t{k - 1} * t{k - 1} + n;\n" for k in range(1, 20))
            + "for (int i = 0; i < t19; i++) A[i] = 0;"
        ),
        ANY,
    )
    case(
        "substitutions-inside",
        loops("int t0 = i;\n" + "".join(f"int t{k} = t{k - 1} + t{k - 1};\n" for k in range(1, 60)) + "A[t59] = 0;"),
        ANY,
    )
    case(
        "doubled-expressions",
        loops(
            "double t0 = B[i];\n"
            + "".join(f"double t{k} = t{k - 1} * t{k - 1} + 1;\n" for k in range(1, 60))
            + "A[i] = t59;"
        ),
        ANY,
    )
    case("long-number", loops("A[i] = " + "9" * 10_000 + ";"), ANY)
    case("long-fraction", loops("A[i] = 0." + "1" * 100_000 + ";"), ANY)
    case("long-name", loops(f"A[i] = {'x' * 100_000};", f"double {'x' * 100_000};"), ANY)
    case("long-string", loops("A[i] = sizeof s;", f'static const char s[] = "{"x" * 1_000_000}";'), ANY)
    case("string-pieces", "char *s = " + '"a" ' * 50_000 + ";\n", ANY)


def _tree(depth: int) -> str:
    return "B[i]" if depth == 0 else f"({_tree(depth - 1)} * {_tree(depth - 1)})"


def _power(text: str, doublings: int) -> str:
    for _ in range(doublings):
        text = f"{text} * {text}" if len(text) < 4_000 else text
    return text


def _many() -> None:
    case(
        "dimensions-12",
        nest(
            "".join(f"for (int i{k} = 0; i{k} < 2; i{k}++) " for k in range(12))
            + "T"
            + "".join(f"[i{k}]" for k in range(12))
            + " += 1;",
            "double T" + "[2]" * 12 + ";",
        ),
        ANY,
    )
    case("dimensions-300", loops("T" + "[0]" * 299 + "[i] = 1;", "double T" + "[1]" * 299 + "[9];"), ANY)
    case("dimensions-5000", "double T" + "[1]" * 5_000 + ";\n", ANY)
    case("huge-array", loops("T[i] = 1;", "static double T[1l << 40];"), UNDERSTOOD)
    case("too-huge-array", loops("T[i] = 1;", "static double T[1ul << 63];"), ANY)
    case("huge-rows", loops("T[i][i][i] = 1;", "double T[1 << 20][1 << 20][1 << 10];"), ANY)
    case("negative-array", loops("T[i] = 1;", "double T[-1];"), REJECTED)
    case("zero-array", loops("T[i] = 1;", "double T[0];"), UNDERSTOOD)
    case("zero-rows", loops("T[i][i] = 1;", "double T[9][0];"), UNDERSTOOD)
    case("statements-400", loops("\n".join(f"A[i + {k}] = B[i] * {k};" for k in range(400))), ANY)
    case("statements-5000", loops("\n".join(f"A[i] += {k};" for k in range(5_000))), ANY)
    case("nests-300", nest("\n".join("for (int i = 0; i < n; i++) A[i] += B[i];" for _ in range(300))), ANY)
    case("nests-3000", nest("\n".join("for (int i = 0; i < n; i++) A[i] += 1;" for _ in range(3_000))), ANY)
    case(
        "stencils-40",
        nest(
            "\n".join(
                "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) T[i][j] = U[i-1][j] + U[i][j-1] + U[i+1][j] + U[i][j+1];"
                for _ in range(40)
            ),
            "double T[99][99], U[99][99];",
        ),
        ANY,
    )
    case(
        "functions-3000",
        "".join(f"void f{k}(double *A) {{ for (int i = 0; i < 9; i++) A[i] = {k}; }}\n" for k in range(3_000)),
        ANY,
    )
    case(
        "refusals-2000", nest("\n".join("for (int i = 0; i < n; i++) g(i);" for _ in range(2_000)), "void g(int);"), ANY
    )
    case(
        "arrays-300",
        loops(
            "\n".join(f"T{k}[i] = T{k + 1}[i];" for k in range(299)), "".join(f"double T{k}[99];" for k in range(300))
        ),
        ANY,
    )
    case(
        "parameters-120",
        nest(
            "for (int i = 0; i < " + " + ".join(f"p{k}" for k in range(120)) + "; i++) A[i] = 0;",
            parameters=", ".join(f"int p{k}" for k in range(120)) + ", double *A",
        ),
        ANY,
    )
    case(
        "pointers-60",
        loops(
            "\n".join(f"p{k}[i] = p{(k + 7) % 60}[i + 1];" for k in range(60)),
            parameters="int n, " + ", ".join(f"double *p{k}" for k in range(60)),
        ),
        ANY,
    )
    case(
        "initializers",
        "static const int T[] = {" + ", ".join(map(str, range(200_000))) + "};\n" + loops("A[i] = T[i];"),
        ANY,
    )
    case("enumerators", "enum e {" + ", ".join(f"e{k}" for k in range(20_000)) + "};\n" + loops("A[i] = e777;"), ANY)
    case("errors-5000", "int x = y;\n" * 5_000, REJECTED)
    case("warnings-5000", "int f(void);\n" * 5_000, _NONE)
    case("cases", loops("switch (i) {" + "".join(f"case {k}: A[{k}] = 1; break;" for k in range(5_000)) + "}"), ANY)


def _polyhedra() -> None:
    """Small texts whose iteration sets or dependences explode."""
    case("holes", loops("if (" + " && ".join(f"i != {3 * k}" for k in range(14)) + ") A[i] = A[i - 1];"), ANY)
    case("holes-40", loops("if (" + " && ".join(f"i != {3 * k}" for k in range(40)) + ") A[i] = A[i - 1];"), ANY)
    case("islands", loops("if (" + " || ".join(f"i == {3 * k}" for k in range(300)) + ") A[i] = A[i - 1];"), ANY)
    case("conditions", loops("if (" + " && ".join(f"(i != {k} || n != {k})" for k in range(20)) + ") A[i] = 1;"), ANY)
    case("negated", loops("if (!(" + " || ".join(f"(i > {k} && n < {k} + i)" for k in range(12)) + ")) A[i] = 1;"), ANY)
    case(
        "limits",
        nest(
            "for (int i = 0; " + " && ".join(f"i < p{k}" for k in range(60)) + "; i++) A[i] = A[i - 1];",
            parameters=", ".join(f"int p{k}" for k in range(60)) + ", double *A",
        ),
        ANY,
    )
    case(
        "floors",
        nest(
            "for (int i = 0; i < n; i++) for (int j = i / 3; j < i / 5 + n / 7; j++) A[i / 2 + j / 3] += A[j / 5 + i / 7];"
        ),
        ANY,
    )
    case("moduli", loops("if (i % 97 == 3 && i % 89 == 5 && i % 83 == 7 && n % 79 == 11) A[i / 73] = A[i / 71];"), ANY)
    case("large-factors", loops("A[123456789 * i] = A[987654321 * i + 1];"), ANY)
    case(
        "larger-factors",
        nest("for (long i = 0; i < n; i++) A[4611686018427387847 * i] = A[4611686018427387761 * i + 1];"),
        ANY,
    )
    case(
        "determinants",
        nest(
            "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(7))
            + "A["
            + " + ".join(f"{3 ** (k + 5)} * i{k}" for k in range(7))
            + "] = A["
            + " + ".join(f"{5 ** (k + 4)} * i{6 - k}" for k in range(7))
            + "];"
        ),
        ANY,
    )
    case(
        "all-coupled",
        nest(
            "".join(
                f"for (int i{k} = {' + '.join(f'i{j}' for j in range(k)) or '0'}; i{k} < n; i{k}++) " for k in range(8)
            )
            + "A["
            + " + ".join(f"i{k}" for k in range(8))
            + "] += A["
            + " + ".join(f"{k + 1} * i{k}" for k in range(8))
            + "];"
        ),
        ANY,
    )
    case(
        "many-accesses",
        nest(
            "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) for (int k = 1; k < n - 1; k++) T[i][j][k] = "
            + " + ".join(f"T[i{a:+d}][j{b:+d}][k{c:+d}]" for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1))
            + ";",
            "double T[99][99][99];",
        ),
        ANY,
    )
    case(
        "many-statements",
        nest(
            "for (int t = 0; t < n; t++) {\n"
            + "\n".join(
                f"for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) T{k % 3}[i][j] = T{(k + 1) % 3}[i - 1][j] + T{(k + 2) % 3}[i][j + 1];"
                for k in range(16)
            )
            + "\n}",
            "double T0[99][99], T1[99][99], T2[99][99];",
        ),
        ANY,
    )


def _preprocessor() -> None:
    case(
        "macro-bomb",
        "#define A0 x x\n" + "".join(f"#define A{k} A{k - 1} A{k - 1}\n" for k in range(1, 28)) + "A27\n",
        REJECTED | {9},
    )
    case(
        "macro-sum",
        loops(
            "A[i] = M14;",
            "#define M0 (B[i] + 1)\n" + "".join(f"#define M{k} (M{k - 1} + M{k - 1})\n" for k in range(1, 15)),
        ),
        ANY,
    )
    case(
        "macro-chain",
        "#define M0 1\n" + "".join(f"#define M{k} M{k - 1}\n" for k in range(1, 5_000)) + loops("A[i] = M4999;"),
        ANY,
    )
    case("macro-recursive", "#define f(x) f(f(x))\n#define g g h\nint g;\n" + loops("A[i] = f(g);"), ANY)
    case("macro-loop", "#define LOOP for (int i = 0; i < n; i++)\n" + nest("LOOP A[i] = 1;"))
    case("macro-header", "#define TO(n) i = 0; i < n; i++\n" + nest("int i; for (TO(n)) A[i] = 1;"), UNDERSTOOD)
    case("macro-all", "#define ALL void f(int n, double *A) { for (int i = 0; i < n; i++) A[i] = 1; }\nALL\n", _NONE)
    case(
        "macro-braces",
        "#define BEGIN {\n#define END }\n" + nest("for (int i = 0; i < n; i++) BEGIN A[i] = 1; END"),
        UNDERSTOOD,
    )
    case("macro-keywords", "#define for while\n" + nest("for (n--) A[n] = 1;"), UNDERSTOOD)
    case("macro-for-is-for", "#define for for\n" + nest("for (int i = 0; i < n; i++) A[i] = 1;"), UNDERSTOOD)
    case("macro-if", "#define if(x) if (!(x))\n" + loops("if (i > 3) A[i] = 1;"), UNDERSTOOD)
    case("macro-int", "#define int long\n" + loops("A[i] = 1;"), UNDERSTOOD)
    case("macro-semicolon", "#define S ;\n" + nest("for (int i = 0 S i < n S i++) A[i] = 1 S"), UNDERSTOOD)
    case("macro-huge", "#define BIG " + "1 + " * 100_000 + "1\n" + loops("A[i] = BIG;"), ANY)
    case(
        "macro-parameters",
        f"#define M({', '.join(f'a{k}' for k in range(3_000))}) a0\n" + loops(f"A[i] = M({', '.join('1' * 3_000)});"),
        ANY,
    )
    case("macro-unclosed", "#define M(x) x\n" + loops("A[i] = M(1;"), REJECTED)
    case(
        "pasting",
        "#define P(a, b) a##b\n" + nest("for (int P(i, 1) = 0; P(i, 1) < n; P(i, 1)++) A[P(i, 1)] = 1;"),
        UNDERSTOOD,
    )
    case("stringizing", "#define S(x) #x\n" + loops('A[i] = sizeof S(for (;;) { " });'), ANY)
    case("counter", loops("A[i] = __COUNTER__ + __COUNTER__ + __LINE__;"), UNDERSTOOD)
    case("pragma-operator", loops('_Pragma("omp simd") for (int j = 0; j < n; j++) A[j] = i;'), UNDERSTOOD)
    case("conditional-in-loop", loops("\n#if 1\nA[i] = 1;\n#else\nA[i] = 2;\n#endif\n"), UNDERSTOOD)
    case("conditionals-deep", "#if 1\n" * 3_000 + "int x;\n" + "#endif\n" * 3_000, ANY)
    case("error-directive", "#error no, thanks\n", REJECTED, said="no, thanks")
    case("warning-directive", "#warning careful\n" + loops("A[i] = 1;"), UNDERSTOOD)
    case("include-missing", '#include "none.h"\n' + loops("A[i] = 1;"), REJECTED, said="none.h")
    case("include-itself", '#include "a.c"\n' + loops("A[i] = 1;"), REJECTED)
    case("include-itself-once", '#pragma once\n#include "a.c"\n' + loops("A[i] = 1;"), UNDERSTOOD | REJECTED)
    case(
        "include-itself-by-macro", "#define S __FILE__\n#if __INCLUDE_LEVEL__ < 100\n#include S\n#endif\nint x;\n", ANY
    )
    case("include-itself-twice", '#include "a.c"\n#include "a.c"\n', REJECTED)
    case("include-folder", '#include "."\n', REJECTED)
    case("include-nothing", '#include\n#include ""\n#include <>\n', REJECTED)
    case("include-absolute", '#include "/etc/passwd"\n', ANY)
    case("include-fifo", '#include "pipe.h"\n' + loops("A[i] = 1;"), ANY, prepare=_fifo)
    case("include-zero", '#include "/dev/zero"\n' + loops("A[i] = 1;"), ANY)
    case("include-random", '#include "/dev/urandom"\n' + loops("A[i] = 1;"), ANY)
    case("include-stdin", '#include "/dev/stdin"\n' + loops("A[i] = 1;"), ANY)
    case("include-loop-body", loops('\n#include "body.h"\n'), UNDERSTOOD, prepare=_body)
    case("include-whole", '#include "body.h"\nint x;\n', ANY, prepare=_function)
    case("include-self-link", '#include "link.h"\n', REJECTED, prepare=_link)
    case("include-huge", '#include "big.h"\nint x;\n', ANY, prepare=_big)
    case("include-chain", '#include "h0.h"\n' + loops("A[i] = 1;"), ANY, prepare=_chain)
    case("line-directive", '#line 1000000 "other.c"\n' + loops("g(i);", "void g(int);"), UNDERSTOOD)
    case("line-overflow", "#line 2147483647\n\n\n" + loops("g(i);", "void g(int);"), UNDERSTOOD)
    case("line-same-name", loops("A[i] = 1;") + '#line 1 "a.c"\n' + loops("A[i] = 1;").replace("f(", "g("), UNDERSTOOD)
    case("line-in-loop", loops('\n#line 5 "x.y"\nA[i] = 1;'), UNDERSTOOD)
    case("line-nonsense", '#line x "y"\n', REJECTED)
    case("line-of-escapes", '#line 7 "\\033[31m.c"\nint x = y;\n', REJECTED)
    case("linemarker", '# 1 "/usr/include/stdio.h" 3\n' + loops("A[i] = 1;"), UNDERSTOOD)


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe.h")


def _body(folder: Path) -> None:
    (folder / "body.h").write_text("A[i] = B[i];\n")


def _function(folder: Path) -> None:
    (folder / "body.h").write_text(loops("A[i] = 1;"))


def _link(folder: Path) -> None:
    (folder / "link.h").symlink_to("link.h")


def _big(folder: Path) -> None:
    (folder / "big.h").write_text("int x;\n" * 300_000)


def _chain(folder: Path) -> None:
    for k in range(300):
        (folder / f"h{k}.h").write_text(f'#include "h{k + 1}.h"\n')
    (folder / "h300.h").write_text("")
