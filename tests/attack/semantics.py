"""Loops at the edges of arithmetic: overflow, zero and negative trips, steps of zero, endless loops."""

from __future__ import annotations

from tests.attack.registry import UNDERSTOOD, case, nest

_NEST = frozenset((0,))
_NONE = frozenset((3,))
_LIMITS = "#include <limits.h>\n#include <stddef.h>\n#include <stdint.h>"


_HEADERS = {
    "int-max": "int i = 0; i <= INT_MAX; i++",
    "int-min": "int i = 0; i >= INT_MIN; i--",
    "int-all": "int i = INT_MIN; i < INT_MAX; i++",
    "int-huge-step": "int i = 0; i < n; i += INT_MAX",
    "int-past-end": "int i = INT_MAX - 5; i < INT_MAX; i += 4",
    "int-wraps": "int i = n; i < n + INT_MAX; i++",
    "llong-min": "long long i = LLONG_MIN; i < 0; i++",
    "llong-all": "long long i = LLONG_MIN; i < LLONG_MAX; i++",
    "llong-down": "long long i = LLONG_MAX; i > LLONG_MIN; i -= LLONG_MAX",
    "two-to-63": "unsigned long i = 0; i < 1ul << 63; i++",
    "two-to-64": "unsigned long i = 0; i <= ULONG_MAX; i++",
    "size-all": "size_t i = 0; i < SIZE_MAX; i++",
    "size-down": "size_t i = n - 1; i >= 0; i--",
    "unsigned-wraps": "unsigned i = 5; i < 10; i -= 3",
    "unsigned-up-past": "unsigned i = 4000000000u; i < 100u; i++",
    "unsigned-big": "unsigned i = 0; i < 4294967295u; i += 4294967295u",
    "short-overflows": "short i = 0; i < 40000; i++",
    "char-overflows": "unsigned char i = 0; i < 256; i++",
    "char-down": "unsigned char i = 5; i >= 0; i--",
    "signed-unsigned": "int i = -1; i < (unsigned)n; i++",
    "step-zero": "int i = 0; i < n; i += 0",
    "step-minus-zero": "int i = 0; i < n; i -= 0",
    "step-unknown": "int i = 0; i < n; i += n",
    "step-self": "int i = 1; i < n; i += i",
    "step-doubling": "int i = 1; i < n; i *= 2",
    "step-shifted": "int i = 1; i < n; i <<= 1",
    "step-large": "int i = 0; i < n; i += 1000000007",
    "step-wrong-way": "int i = 0; i < n; i--",
    "step-not": "int i = 0; i < n;",
    "step-expression": "int i = 0; i < n; i += 3 - 2",
    "zero-trips": "int i = 0; i < 0; i++",
    "negative-trips": "int i = 100; i < -100; i++",
    "one-trip": "int i = 7; i < 8; i++",
    "zero-down": "int i = -1; i >= 0; i--",
    "not-equal": "int i = 0; i != n; i++",
    "not-equal-steps": "int i = 0; i != 10; i += 3",
    "not-equal-behind": "int i = 10; i != 5; i++",
    "equal": "int i = 0; i == 0; i++",
    "no-condition": "int i = 0; ; i++",
    "nothing": ";;",
    "constant-condition": "int i = 0; 1; i++",
    "own-limit": "int i = 0; i < i + 1; i++",
    "limit-of-iterator": "int i = 0; 2 * i < n; i++",
    "squared-limit": "int i = 0; i * i < n; i++",
    "cubed-limit": "int i = 0; i < n * n * n; i++",
    "divided-limit": "int i = 0; i < n / 0; i++",
    "modulo-zero": "int i = 0; i < n % 0; i++",
    "shifted-limit": "long i = 0; i < 1l << n; i++",
    "overflowing-constant": "int i = 0; i < INT_MAX + 1; i++",
    "float-limit": "int i = 0; i < 1e300; i++",
    "nan-limit": "int i = 0; i < 0.0 / 0.0; i++",
    "pointer-limit-value": "long i = 0; i < (long)A; i++",
    "character-limit": "int i = '\\0'; i < '\\xff'; i++",
    "conditional-limit": "int i = 0; i < (n > 5 ? n : 5); i++",
    "xor-limit": "int i = 0; i < (n ^ 1); i++",
    "not-limit": "int i = 0; i < ~n; i++",
    "hexadecimal-float": "int i = 0; i < 0x1p3; i++",
}
_SUBSCRIPTS = {
    "cubic": "n * n * n * i",
    "mixed": "i * n * n + i * n + i",
    "quadratic": "i * i",
    "quadratic-difference": "i * i - (i - 1) * (i + 1)",
    "divided-by-zero": "i / 0",
    "modulo-zero": "i % 0",
    "divided-by-minus-one": "i / -1",
    "divided-by-huge": "i / 2147483647 + i % 2147483647",
    "negative-modulo": "(i - 10) % 3 + (i - 10) / 3",
    "huge-offset": "i + 2147483647",
    "huger-offset": "i + 9223372036854775807",
    "huge-factor": "2147483647 * i",
    "llong-min": "i - 9223372036854775807 - 1",
    "unsigned-minus-one": "i - 1u",
    "truncated": "(unsigned char)i",
    "truncated-large": "(short)(i * 70000)",
    "shifted": "i << 33",
    "shifted-back": "(i << 3) >> 2",
    "bit-and": "i & 7",
    "complement": "~i + n",
    "boolean": "!i + (i && n) + (i < n)",
    "floating": "(int)(i * 0.5)",
    "conditional": "i > 5 ? i : 2 * i",
    "comma": "(n, i)",
}
_TOGETHER = 12  # loops in a file


def register() -> None:
    _grouped(
        "for",
        {name: f"for ({header}) A[{'0' if header == ';;' else 'i'}] = A[3] + 1;" for name, header in _HEADERS.items()},
    )
    _grouped("at", {name: f"for (int i = 0; i < n; i++) A[{at}] += B[i];" for name, at in _SUBSCRIPTS.items()})
    case("for-big-literal", nest("for (int i = 0; i < 99999999999999999999; i++) A[i] = 1;"), frozenset((3,)))
    case("contradiction", nest("for (int i = 0; i < n; i++) if (i > n) A[i] = 1;"), UNDERSTOOD)
    case("tautology", nest("for (int i = 0; i < n; i++) if (i < n || 1) A[i] = 1; else A[i] = 2;"), UNDERSTOOD)
    case("dead-if", nest("for (int i = 0; i < n; i++) if (0) A[i] = 1;"), UNDERSTOOD)
    case("assumption-conflict", nest("if (n < 0) for (unsigned i = 0; i < n - 1; i++) A[i] = 1;"), UNDERSTOOD)
    case("endless-inside", nest("for (int i = 0; i < n; i++) for (;;) A[i] = 1;"), UNDERSTOOD)
    case(
        "uninitialised",
        nest("int m; for (int i = 0; i < m; i++) A[i] = 1; for (int j; j < n; j++) A[j] = 1;"),
        UNDERSTOOD,
    )
    case("self-initialised", nest("for (int i = i; i < n; i++) A[i] = 1;"), UNDERSTOOD)
    case(
        "out-of-bounds",
        "double T[4][4];\nvoid f(void) { for (int i = 0; i < 4; i++) for (int j = 0; j < 9; j++) T[i][j] = T[j][i]; }\n",
        UNDERSTOOD,
    )
    case("null", "void f(void) { double *p = 0; for (int i = 0; i < 9; i++) p[i] = 1; }\n", UNDERSTOOD)


def _grouped(kind: str, loops: dict[str, str]) -> None:
    """Files with a function for each loop."""
    names = list(loops)
    for first in range(0, len(names), _TOGETHER):
        group = names[first : first + _TOGETHER]
        functions = [nest(loops[name]).replace("f(", f"f_{name.replace('-', '_')}(") for name in group]
        case(f"{kind}-{group[0]}-to-{group[-1]}", _LIMITS + "".join(functions), _NEST)
