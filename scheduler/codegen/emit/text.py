"""Small helpers for lines of C text: indentation, declarations, the `pe_` helper functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from scheduler.codegen.emit.team_text import definition as team_definition
from scheduler.codegen.runtime_checks.assumption_tests import DEFINITIONS
from scheduler.codegen.runtime_checks.intervals_text import DEFINITION as RANGES
from scheduler.codegen.runtime_checks.rows_text import DEFINITION as ROWS
from scheduler.frontend.clang.preprocessing import Macro
from scheduler.ir.nest import LoopNest

INDENT = "    "
VERBATIM = "\0"  # encloses text of the user's (bytes as Latin-1), which keeps its indentation and line ends

LOOKED_AT = frozenset(("errno", "FE_INVALID"))
"""Macros of a file that may look at what `sqrt` reports besides its value."""


def _exact_root(ctype: str, suffix: str) -> str:
    return (
        f"static inline __attribute__((__unused__)) {ctype} pe_sqrt{suffix}({ctype} pe_x)"
        f" {{ return __builtin_sqrt{suffix}(pe_x); }}"
    )


def _root(ctype: str, suffix: str, glibc_type: str, glibc_suffix: str) -> str:
    looked_at = " && ".join(f"!defined {name}" for name in sorted(LOOKED_AT, reverse=True))
    return f"""#if __GNUC__ >= 7 && !defined __clang__ && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 227 && \\
    !defined __STRICT_ANSI__ && {looked_at}
/* A root that need not set errno, which nothing here looks at: so gcc makes vectors of loops with it. */
__extension__ extern {glibc_type} sqrt{glibc_suffix}({glibc_type}) __attribute__((__const__));
static inline __attribute__((__unused__)) {ctype} pe_sqrt{suffix}({ctype} pe_x) {{ return sqrt{glibc_suffix}(pe_x); }}
#else
{_exact_root(ctype, suffix)}
#endif"""


_HELPERS: tuple[tuple[str, str], ...] = (
    # name, definition; without headers, which may be missing, or broken by macros
    *DEFINITIONS,
    (
        "simd",
        """#ifdef __clang__ /* which warns of loops it does not vectorize at the function's line */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif""",
    ),
    (
        "pe_min",
        """static inline __attribute__((__unused__)) long pe_min(long pe_a, long pe_b)
{
    return pe_a < pe_b ? pe_a : pe_b;
}""",
    ),
    (
        "pe_max",
        """static inline __attribute__((__unused__)) long pe_max(long pe_a, long pe_b)
{
    return pe_a > pe_b ? pe_a : pe_b;
}""",
    ),
    (
        "pe_moderate",
        """/* Whether a number is so far from the ends of long that no sum that loops make of it overflows. */
static inline __attribute__((__unused__)) int pe_moderate(long pe_n)
{
    return -0x800000000000 <= pe_n && pe_n < 0x800000000000;
}""",
    ),
    *(
        (
            name,
            f"""/* A bound as a long, those that no loop comes to as 2^62. */
static inline __attribute__((__unused__)) long {name}({ctype} pe_n)
{{
    return {test}pe_n > 0x4000000000000000 ? 0x4000000000000000 : (long)pe_n;
}}""",
        )
        for name, ctype, test in (
            ("pe_clip", "long", "pe_n < -0x4000000000000000 ? -0x4000000000000000 : "),
            ("pe_clipu", "unsigned long", ""),
        )
    ),
    (
        "pe_floord",
        """static inline __attribute__((__unused__)) long pe_floord(long pe_a, long pe_b)
{
    return pe_a / pe_b - (pe_a % pe_b < 0);
}""",
    ),
    (
        "pe_alloc",
        """/* Memory aligned to 64 bytes, NULL on failure; pe_free releases it. */
static inline __attribute__((__unused__)) void *pe_alloc(unsigned long pe_size)
{
    char *pe_raw = pe_size > -129ul ? 0 : __builtin_malloc(pe_size + 128);
    if (!pe_raw)
        return 0;
    char *pe_at = pe_raw + 128 - (unsigned long)pe_raw % 64;
    ((void **)pe_at)[-1] = pe_raw;
    return pe_at;
}""",
    ),
    (
        "pe_free",
        """static inline __attribute__((__unused__)) void pe_free(void *pe_p)
{
    if (pe_p)
        __builtin_free(((void **)pe_p)[-1]);
}""",
    ),
    ("pe_sqrt", _root("double", "", "_Float64", "f64")),
    ("pe_sqrtf", _root("float", "f", "_Float32", "f32")),
    ("pe_threads", team_definition(errno=False)),
    (
        "pe_stream",
        """/* Copies to memory past the caches, where the machine can; pe_streamed before others read it. */
#if defined __SSE2__ && defined __GNUC__
typedef long long pe_line __attribute__((__vector_size__(16), __may_alias__));
#ifdef __clang__
#define pe_past(pe_to, pe_value) __builtin_nontemporal_store(pe_value, pe_to)
#else
#define pe_past(pe_to, pe_value) __builtin_ia32_movntdq(pe_to, pe_value)
#endif
static inline __attribute__((__unused__)) void pe_stream(void *pe_to, const void *pe_from, unsigned long pe_bytes)
{
    char *pe_t = pe_to;
    const char *pe_f = pe_from;
    unsigned long pe_k = 0;
    for (; pe_k < pe_bytes && (unsigned long)(pe_t + pe_k) % 16; pe_k++)
        pe_t[pe_k] = pe_f[pe_k];
    for (; pe_k + 16 <= pe_bytes; pe_k += 16) {
        pe_line pe_value;
        __builtin_memcpy(&pe_value, pe_f + pe_k, 16);
        pe_past((pe_line *)(void *)(pe_t + pe_k), pe_value);
    }
    for (; pe_k < pe_bytes; pe_k++)
        pe_t[pe_k] = pe_f[pe_k];
}
static inline __attribute__((__unused__)) void pe_streamed(void) { __builtin_ia32_sfence(); }
#else
static inline __attribute__((__unused__)) void pe_stream(void *pe_to, const void *pe_from, unsigned long pe_bytes)
{
    __builtin_memcpy(pe_to, pe_from, pe_bytes);
}
static inline __attribute__((__unused__)) void pe_streamed(void) { }
#endif""",
    ),
    (
        "pe_rows",
        ROWS,
    ),
    (
        "pe_spanned",
        RANGES,
    ),
    (
        "pe_apart",
        """/* Whether two address ranges [a, a_end) and [b, b_end) do not overlap. */
static inline __attribute__((__unused__)) int
pe_apart(const void *pe_a, const void *pe_a_end, const void *pe_b, const void *pe_b_end)
{
    return (unsigned long)pe_a_end <= (unsigned long)pe_b || (unsigned long)pe_b_end <= (unsigned long)pe_a;
}""",
    ),
)


def values_in_front(nest: LoopNest) -> tuple[str, ...]:
    """Declarations of the parameters that are members of structures, for code of the nest and its run-time tests."""
    return tuple(f"const {p.ctype} {p.name} = {p.text};" for p in nest.parameters if p.base is not None)


_VECTOR = re.compile(r"\bpe_(?:select_)?(v(\d+)([dfil]))\b")
_SELECT = re.compile(r"\bpe_select_(v(\d+)([dfil]))\b")
_MASK = {"d": "l", "f": "i", "i": "i", "l": "l"}  # the integer vector a comparison gives
_ELEMENT = {"d": ("double", 8), "f": ("float", 4), "i": ("int", 4), "l": ("long", 8)}


def vector_type(element: str, lanes: int) -> str | None:
    """The name of the vector type with so many elements, e.g. `pe_v4d`."""
    for letter, (ctype, _) in _ELEMENT.items():
        if ctype == element:
            return f"pe_v{lanes}{letter}"
    return None


def _typedef(lanes: int, letter: str) -> str:
    element, width = _ELEMENT[letter]
    attributes = f"__vector_size__({lanes * width}), __aligned__({width}), __may_alias__"
    return f"typedef {element} pe_v{lanes}{letter} __attribute__(({attributes}));"


def helpers_for(text: str) -> tuple[tuple[str, str], ...]:
    """Names with their definitions that the text needs, in the order to emit them."""
    definitions: list[tuple[str, str]] = []
    vectors = {(lanes, letter) for _, lanes, letter in _VECTOR.findall(text)}
    vectors |= {(lanes, _MASK[letter]) for _, lanes, letter in _SELECT.findall(text)}
    definitions += [(f"pe_v{lanes}{letter}", _typedef(int(lanes), letter)) for lanes, letter in sorted(vectors)]
    for name, lanes, letter in sorted(set(_SELECT.findall(text))):
        mask = f"pe_v{lanes}{_MASK[letter]}"
        select = f"pe_select_{name}"
        blend = f"((pe_{name})((({mask})(a) & (mask)) | (({mask})(b) & ~(mask))))"
        definitions.append((select, f"#define {select}(mask, a, b) {blend}"))
    definitions += [(name, definition) for name, definition in _HELPERS if re.search(rf"\b{name}\b", text)]
    return tuple(definitions)


_WITH_ERRNO = {
    "pe_sqrt": _exact_root("double", ""),
    "pe_sqrtf": _exact_root("float", "f"),
    "pe_threads": team_definition(errno=True),
}


def preamble(text: str, again: bool = False, errno: bool = False, contained: bool = False) -> str:
    """Definitions for a file that holds the text; `again`: it may have been given some of them before.

    `errno`: the program looks at what mathematical functions report besides their values. `contained`: the file becomes
    a process of our own, which neither forks nor limits its threads.
    """
    lines: list[str] = []
    for name, definition in helpers_for(text):
        definition = _WITH_ERRNO.get(name, definition) if errno else definition
        if contained and name == "pe_threads":
            definition = team_definition(errno, contained=True)
        guard = f"pe_has_{name.removeprefix('pe_')}"
        lines += [f"#ifndef {guard}", f"#define {guard}", definition, "#endif"] if again else [definition]
    return "".join(line + "\n" for line in lines)


_WORDS = re.compile(
    r"\b(?:(?:un)?signed|char|short|int|long|float|double|static|void|struct|extern|for|if|else|return|sizeof"
    r"|omp|parallel|simd|schedule|dynamic|reduction|collapse|unroll|num_threads|nowait|min|max|declare|initializer"
    r"|__attribute__|__extension__|__inline__|__restrict__|__typeof__|__asm__)\b"
)
_UNCALLED = frozenset(("min", "max", "parallel", "simd", "dynamic", "omp", "unroll", "declare", "long", "static"))
_EVERYWHERE = tuple(
    ["for", "if", "else", "long", "static", "return", "__attribute__", "__typeof__", "omp", "parallel", "simd"]
)


def words(text: str) -> tuple[str, ...]:
    """Those of the text, of its types and pragmas, that another meaning as a macro would break."""
    return tuple(sorted(set(_WORDS.findall(text))))


def means_itself(word: str, macros: Mapping[str, Macro]) -> bool:
    """Whether one of `words` has its own meaning in our text, with these macros in force."""
    macro = macros.get(word)
    return macro is None or macro.body == word or (macro.parameters is not None and word in _UNCALLED)


def changed_word(macros: Mapping[str, Macro]) -> str | None:
    """One of the words that stand in nearly every text of ours and means something else; None where all are free."""
    return next((word for word in _EVERYWHERE if not means_itself(word, macros)), None)


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Preprocessor lines stay in the first column's logic: they are indented like the rest."""
    return [INDENT * levels + line if line and not line.startswith(VERBATIM) else line for line in lines]


def block(head: str, lines: Iterable[str]) -> list[str]:
    """`head {`, the lines, `}`."""
    return [f"{head} {{" if head else "{", *indented(lines), "}"]


def declarator(ctype: str, name: str, extents: Iterable[str]) -> str:
    return f"{ctype} {name}" + "".join(f"[{e}]" for e in extents)
