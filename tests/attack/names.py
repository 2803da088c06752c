"""Names that mean something to us, to isl or to generated code, used for everything a name can stand for."""

from __future__ import annotations

from tests.attack.registry import UNDERSTOOD, case, nest

_NEST = frozenset((0,))
_ISL = ("max", "min", "floor", "floord", "ceil", "mod", "and", "or", "not", "exists", "implies", "infty", "nan", "rat")
_MORE_ISL = ("true", "false", "domain", "schedule", "filter", "context", "mark", "set", "leaf", "Max", "AND")
_OURS = (
    "S0",
    "S1",
    "pe_min",
    "pe_max",
    "pe_alloc",
    "pe_threads",
    "pe_v4d",
    "i_t",
    "i_2",
    "i_",
    "taken",
    "s",
    "t",
    "c0",
)
_INTERNAL = ("__a0", "__lo_p", "__hi_p", "_0", "_", "__", "i__o", "src", "snk", "e0", "acc", "tile", "pack", "nest")
_TOGETHER = 9  # names in a file


def register() -> None:
    everything = (*_ISL, *_MORE_ISL, *_OURS, *_INTERNAL)
    for first in range(0, len(everything), _TOGETHER):
        names = everything[first : first + _TOGETHER]
        case(f"names-{names[0]}-to-{names[-1]}", "".join(map(_everywhere, names)), _NEST)
    case("names-all-isl", _together((*_ISL, *_MORE_ISL)), _NEST)
    case("names-all-ours", _together((*_OURS, *_INTERNAL)), _NEST)
    transposed = (
        "for (int {0} = 0; {0} < n; {0}++) for (int {1} = 0; {1} < n; {1}++) A[{0} * n + {1}] = A[{1} * n + {0}];"
    )
    case(
        "iterators-that-isl-confuses",
        nest(transposed.format("max", "max_")),
        _NEST,
        said="anti",
        open="isl_name gives max and max_ the same name: the dependence is lost, the loops are called parallel",
    )
    case("iterators-with-our-suffix", nest(transposed.format("i", "i_t")), _NEST, said="anti")
    case(
        "parameter-with-our-suffix",
        nest("for (int i = 1; i < n; i++) A[i] = A[i - i_t];", parameters="int n, int i_t, double *A"),
        _NEST,
        said="anti",
        open="the suffix _t of sink iterators makes i_t of i: the dependence is lost, the loop is called parallel",
    )
    case(
        "parameters-that-isl-confuses",
        nest("for (int i = max_; i < max; i++) A[i] = A[i + max - max_];", parameters="int max, int max_, double *A"),
        _NEST,
        open="isl_name gives max and max_ the same name: exit code 70",
    )
    case(
        "parameters-with-our-prefix",
        nest(
            "for (int i = 1; i < n; i++) A[i] = A[i - __a0] + A[i + __lo_p];",
            parameters="int n, int __a0, int __lo_p, double *A",
        ),
        _NEST,
        said="anti",
    )
    case(
        "names-with-dollar",
        nest("for (int $i = 0; $i < $; $i++) $A[$i] = $A[$i + $];", parameters="int $, double *$A"),
        UNDERSTOOD,
    )
    case(
        "names-by-case",
        nest(
            "for (int i = 0; i < n; i++) for (int I = 0; I < N; I++) a[i * N + I] = A[I * n + i];",
            parameters="int n, int N, double *restrict a, double *restrict A",
        ),
        _NEST,
    )
    case(
        "same-name-everywhere",
        "struct x { double x; } x;\nvoid f(int n, double *restrict A) {\n"
        "x: for (int x = 0; x < n; x++) { { struct x x; x.x = 1; } A[x] += x; { double x = 2; A[0] += x; } } goto x; }\n",
        UNDERSTOOD,
    )
    case(
        "shadowed-iterators",
        nest(
            "for (int i = 0; i < n; i++) { for (int i = 0; i < n; i++) A[i] += 1; B[i] = 1; for (int i = n; i > 0; i--) { int i = 3; A[i] += 2; } }"
        ),
        _NEST,
    )
    case(
        "shadowed-parameter",
        nest("for (int i = 0; i < n; i++) { int n = 5; A[i] += n; for (int j = 0; j < n; j++) A[j] += 1; }"),
        UNDERSTOOD,
    )
    case(
        "shadowed-array",
        nest("for (int i = 0; i < n; i++) { double A[4]; for (int j = 0; j < 4; j++) A[j] = i; B[i] = A[2]; }"),
        _NEST,
    )
    case(
        "iterator-is-array",
        nest("double i[9]; for (int j = 0; j < 9; j++) i[j] = 1; { for (int i = 0; i < 9; i++) A[i] = 1; }"),
        UNDERSTOOD,
    )
    case("function-is-array", "double f[9];\nvoid g(void) { for (int g = 0; g < 9; g++) f[g] = g; }\n", _NEST)
    case("typedef-is-iterator", "typedef int i;\nvoid f(double *A) { for (i i = 0; i < 9; i++) A[i] = i; }\n", _NEST)
    case(
        "keywords-of-cpp",
        nest(
            "for (int class = 0; class < n; class++) A[class] = new + this;",
            parameters="int n, double *A, double new, double this",
        ),
        _NEST,
    )
    case(
        "libm-names",
        nest(
            "for (int j0 = 0; j0 < n; j0++) for (int y1 = 0; y1 < n; y1++) gamma[j0 + y1] += 1;",
            parameters="int n, double *gamma",
        ),
        UNDERSTOOD,
    )
    case(
        "own-sqrt",
        nest(
            "for (int i = 0; i < n; i++) A[i] = sqrt(B[i]);",
            "double sqrt(double x) { static double c; return c += x; }",
        ),
        UNDERSTOOD,
    )
    case("sqrt-is-a-variable", nest("for (int sqrt = 0; sqrt < n; sqrt++) A[sqrt] = sqrt;"), _NEST)
    case("sqrt-undeclared", nest("for (int i = 0; i < n; i++) A[i] = sqrt(B[i]);"), UNDERSTOOD)
    case(
        "long-names",
        nest(
            "".join(f"for (int {c * 5000} = 0; {c * 5000} < n; {c * 5000}++) " for c in "ijk")
            + f"A[{'i' * 5000} + {'j' * 5000} - {'k' * 5000}] = 1;"
        ),
        UNDERSTOOD,
    )
    case(
        "statement-names",
        "".join(f"double S{k}[99];" for k in range(4))
        + nest(
            "for (int i = 1; i < n; i++) { S1[i] = S0[i - 1]; S0[i] = S1[i]; for (int S2 = 0; S2 < i; S2++) S3[S2] += S0[i]; }"
        ),
        _NEST,
    )


def _everywhere(name: str) -> str:
    """As an iterator, a parameter, a scalar, an array, a function, a member and a label; and in opaque bounds."""
    return f"""
struct s_{name} {{ int {name}; }};
void as_iterator_{name}(int n, double *A) {{ for (int {name} = 0; {name} < n; {name}++) for (int j = 0; j < {name}; j++) A[j] += {name}; }}
void as_size_{name}(int {name}, double *A) {{ for (int i = 0; i < {name}; i++) A[i + {name}] = A[i] / {name}; }}
void as_array_{name}(int n, double {name}[n][n]) {{ for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) {name}[i][j] = {name}[i - 1][j]; }}
void as_bounds_{name}(int n, int *{name}, double *A) {{ for (int i = 0; i < n; i++) for (int p = {name}[i]; p < {name}[i + 1]; p++) A[i] += p; }}
void as_opaque_{name}(int n, int *r, double *A) {{ for (int i = 0; i < n; i++) for (int {name} = r[i]; {name} < r[i + 1]; {name}++) A[{name}] += i; }}
double as_scalar_{name}(int n, double *A) {{ double {name} = 0; for (int i = 0; i < n; i++) {name} += A[i]; return {name}; }}
void as_local_{name}(int n, double *A) {{ for (int i = 0; i < n; i++) {{ double {name} = A[i]; A[i] = {name} * {name}; }} }}
void as_member_{name}(struct s_{name} *s, double *A) {{ for (int i = 0; i < s->{name}; i++) A[i] = s->{name}; }}
"""


def _together(names: tuple[str, ...]) -> str:
    sizes = ", ".join(f"int {name}" for name in names)
    body = "\n".join(f"for (int i = {name}; i < 2 * {name}; i++) A[i] = A[i - {name}] + {name};" for name in names)
    loops = "".join(f"for (int {name} = 0; {name} < n; {name}++) " for name in names[:6])
    return nest(body, parameters=f"{sizes}, double *A") + nest(f"{loops} A[{' + '.join(names[:6])}] += 1;").replace(
        "f(", "g("
    )
