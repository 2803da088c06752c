"""The tests of a nest's premises in C: calls of the macros and the function that `premises.DEFINITIONS` has."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.codegen.expr import Printer
from scheduler.frontend.model import Premises

_LONGEST = 3000  # C99 compilers take literals of 4095 characters
_WIDTH = 100


def same_tests(texts: list[tuple[str, str]]) -> Iterator[str]:
    """Tests of what texts expand to, as few as compilers take."""
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


def types_tests(premises: Premises) -> Iterator[str]:
    """Of objects and type names."""
    for text, ctype in premises.types:
        yield f"pe_is({text}, {ctype})"


def values_tests(premises: Premises) -> Iterator[str]:
    """Of enumerators, sizes and constants."""
    for text, value in premises.values:
        yield f"{text} == {value}"


def samples_tests(premises: Premises) -> Iterator[str]:
    """Of functions of other files that give numbers for numbers."""
    printer = Printer()
    for call, result in premises.samples:
        yield f"pe_agree({call}, {printer.expr(result)[0]})"
