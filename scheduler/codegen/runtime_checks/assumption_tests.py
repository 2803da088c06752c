"""The tests of a nest's assumptions in C, and the macros and functions that they call.

Names of the user's are safe ones there (`scheduler.ir.names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.codegen.emit.expr import Printer
from scheduler.frontend.model import SourceAssumptions
from scheduler.ir.names import safe_text
from scheduler.ir.types import FUNCTIONS

LINES_BELOW = 3  # by one also __COUNTER__ goes on
_LONGEST = 3000  # C99 compilers take literals of 4095 characters
_WIDTH = 100
_OF_ONE = frozenset(("log", "log2", "log10", "acos", "acosh"))
_UNKNOWN = frozenset(("rint", "nearbyint"))  # to gcc, whatever the number

TEXT = "#define pe_text_(...) #__VA_ARGS__\n#define pe_text(...) pe_text_(__VA_ARGS__)\n"

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "pe_same",
        "/* Whether macros expand to what they did when the loops were tuned. */\n"
        + TEXT
        + "#define pe_same(text, ...) (!__builtin_strcmp(text, pe_text(__VA_ARGS__)))",
    ),
    (
        "pe_is",
        "/* Whether an object or a type name has the type it had. */\n"
        "#define pe_is(what, type) __builtin_types_compatible_p(__typeof__(what), type)",
    ),
    (
        "pe_exact",
        """/* Whether signed arithmetic does not wrap around (-fwrapv), for which compilers have no macro. */
static inline __attribute__((__unused__)) int pe_exact(void)
{
#ifdef __clang__
    static volatile int pe_any;
    int pe_a = pe_any;
    return __builtin_constant_p(pe_a + 1 > pe_a);
#else
    int pe_a = 0;
    return __builtin_choose_expr(__builtin_constant_p(pe_a + 1 > pe_a), 1, 0);
#endif
}""",
    ),
    (
        "pe_library",
        """/* Whether the compiler knows what a mathematical function gives (not with -fno-builtin). */
#ifdef __clang__
#define pe_library(call) 1
#else
#define pe_library(call) __builtin_choose_expr(__builtin_constant_p(call), 1, 0)
#endif""",
    ),
    (
        "pe_agree",
        """/* Whether a function gives the number it gave. */
static inline __attribute__((__unused__)) int pe_agree(double pe_a, double pe_b)
{
    return pe_a == pe_b || (pe_a != pe_a && pe_b != pe_b);
}""",
    ),
)


def on_its_line(once: str, again: str) -> str | None:
    """A literal that says the line it stands in where `once` does; None where what it says `LINES_BELOW` (`again`)
    differs in more than that."""
    parts, others = (re.split(r"(?<![\w.])(\d+)(?![\w.])", text) for text in (once, again))
    moved = {(a, b) for a, b in zip(parts, others, strict=False) if a != b}
    if len(parts) != len(others) or len(moved) != 1:
        return None
    ((line, below),) = moved
    if not (line.isdigit() and below.isdigit() and int(below) == int(line) + LINES_BELOW):
        return None
    return "".join(safe_text(a) if a == b else '" pe_text(__LINE__) "' for a, b in zip(parts, others, strict=True))


def same_tests(texts: list[tuple[str, str]]) -> Iterator[str]:
    """Tests of what texts expand to, as few as compilers take."""
    texts = [(safe_text(item), safe_text(literal)) for item, literal in texts]
    for item, literal in texts:
        if literal == '""':  # compilers do not agree on the white space around nothing
            yield f"pe_same({literal}, {item})"
    group: list[tuple[str, str]] = []
    for item, literal in [*(t for t in texts if t[1] != '""'), ("", "")]:
        size = sum(len(a) + 2 for _, a in group)
        if group and (not item or size + len(literal) > _LONGEST):
            expected = ", ".join(a[1:-1] for _, a in group)
            yield _wrapped(f'pe_same("{expected}"', [i for i, _ in group])
            group = []
        group.append((item, literal))


def _wrapped(head: str, items: list[str]) -> str:
    """A call with its arguments on lines of their own."""
    lines = [f"{head},", "    "]
    for number, item in enumerate(items, 1):
        if len(lines[-1]) + len(item) > _WIDTH:
            lines.append("    ")
        lines[-1] += f"{item}, " if number < len(items) else item
    return "\n    ".join(line.rstrip() for line in lines) + ")"


def types_tests(assumptions: SourceAssumptions) -> Iterator[str]:
    """Of objects and type names."""
    for text, ctype in assumptions.types:
        yield f"pe_is({safe_text(text)}, {safe_text(ctype)})"


def values_tests(assumptions: SourceAssumptions) -> Iterator[str]:
    """Of enumerators, sizes and constants."""
    for text, value in assumptions.values:
        yield f"{safe_text(text)} == {safe_text(value)}"


def arithmetic_tests(assumptions: SourceAssumptions) -> Iterator[str]:
    """That signed arithmetic does not wrap around, and that functions are those of the C library."""
    if assumptions.exact:
        yield "pe_exact()"
    for name in assumptions.library:
        if name.removesuffix("f") in _UNKNOWN:
            continue
        parameters, _ = FUNCTIONS[name]
        first = "1" if name.removesuffix("f") in _OF_ONE else "0"  # of these numbers compilers know the values
        arguments = [first, *("1" for _ in parameters[1:])]
        suffix = {"float": ".0f", "double": ".0"}.get(parameters[0], "")
        yield f"pe_library({name}({', '.join(a + suffix for a in arguments)}))"


def samples_tests(assumptions: SourceAssumptions) -> Iterator[str]:
    """Of functions of other files that give numbers for numbers."""
    printer = Printer()
    for call, result in assumptions.samples:
        yield f"pe_agree({safe_text(call)}, {printer.expr(result)[0]})"
