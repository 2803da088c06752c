"""Programs that are refused, and what the advice makes of them: those of advice.txt, and some with long texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEAD = """#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""
MAIN = """#include <stdio.h>
void f(int n, int m, double *a, double *b, int *x);
double a[1024], b[1024]; int x[1024];
double absolute(double v) { return v < 0 ? -v : v; }
int main(void)
{
    for (int i = 0; i < 1024; i++) { a[i] = i % 7 + 0.5; b[i] = i * 3 % 11 - 4.0; x[i] = i * 5 % 13; }
    f(12, 5, a, b, x);
    for (int i = 0; i < 1024; i++) printf("%.9g %.9g %d\\n", a[i], b[i], x[i]);
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """`before` and `after` are bodies of a function: the first is refused at the line with `//!` for `reason`, the
    second is what the advice says. `top`: what stands in front. `defined`: whether C says what the first computes.
    """

    advice: str
    reason: str
    before: str
    after: str
    top: str = ""
    top_after: str | None = None
    flags: tuple[str, ...] = ()
    flags_after: tuple[str, ...] | None = None
    defined: bool = True

    @property
    def refused(self) -> str:
        return program(self.top, self.before)

    @property
    def followed(self) -> str:
        return program(self.top if self.top_after is None else self.top_after, self.after)

    @property
    def line(self) -> int:
        """Where it is refused."""
        return next(k for k, line in enumerate(self.refused.split("\n"), 1) if "//!" in line)


def program(top: str, body: str) -> str:
    return f"{HEAD}{top}\nvoid f(int n, int m, double *a, double *b, int *x)\n{{\n{body}\n}}\n"


def _given() -> Iterator[Row]:
    text = Path(__file__).with_name("advice.txt").read_text(encoding="utf-8")
    for block in text.split("== advice: ")[1:]:
        advice, *sections = block.rstrip().split("\n== ")
        found: dict[str, str] = {}
        for section in sections:
            key, _, value = section.partition(":")
            found[key] = value.removeprefix(" ").removeprefix("\n")
        flags, after = found.get("flags", ""), found.get("flags after")
        yield Row(
            advice,
            found.get("reason", ""),
            found["refused"],
            found["followed"],
            found.get("top", ""),
            found.get("top after"),
            tuple(flags.split()),
            None if after is None else tuple(after.split()),
            "undefined" not in found,
        )


def _loops(count: int, marked: int = -1) -> str:
    return "\n".join(f"    for (int i{k} = 0; i{k} < 1; i{k}++){' //!' * (k == marked)}" for k in range(count))


_TABLE = f"const int t[80] = {{{', '.join(str(k * 7 % 5 + 1) for k in range(80))}}};"
_LOOP = "    for (int i = 0; i < n; i++)"
_CHAIN = "".join(f"if (i == {k}) a[i] = {k}; else " for k in range(3000, 2580, -1))
_SUMS = "".join(f"        double s{k} = {f's{k - 1}' if k else 'b[i]'}{' + 1' * 50};\n" for k in range(9))
_HALF = "static void {}(int i, double *a) {{ if (i >= {} && i < {}) a[i] = i; }}\n"

ADVICE = (
    *_given(),
    Row(
        "make it a const array in front of the loop",
        "'t' has a long initializer",
        f"{_LOOP} {{\n        {_TABLE} //!\n        x[i] = t[i];\n    }}",
        f"    {_TABLE}\n{_LOOP}\n        x[i] = t[i];",
    ),
    Row(
        "split them into functions",
        "the loops are nested too deeply",
        f"{_loops(26, 24)}\n        a[0] += 1;",
        f"{_loops(13)}\n        inner(a);",
        top_after=f"static void inner(double *a)\n{{\n{_loops(13)}\n        a[0] += 1;\n}}",
    ),
    Row(
        "compute it in several statements",
        "uses an expression nested too deeply",
        f"{_LOOP}\n        a[i] = b[i]{' + 1' * 450}; //!",
        f"{_LOOP} {{\n{_SUMS}        a[i] = s8;\n    }}",
    ),
    Row(
        "use expressions of fewer levels",
        "more than 150 levels",
        f"{_LOOP} //!\n        a[i] = b[i]{' + a[i]' * 300};",
        f"{_LOOP} {{\n        double s = b[i];\n        for (int k = 0; k < 300; k++)\n"
        "            s += a[i];\n        a[i] = s;\n    }",
    ),
    Row(
        "split it into functions",
        "the code is nested too deeply",
        f"{_LOOP}\n        {_CHAIN}{{ a[i] = 1; }} //!",
        f"{_LOOP} {{\n        a[i] = 1;\n        first(i, a);\n        second(i, a);\n    }}",
        top_after=_HALF.format("first", 2790, 3001) + _HALF.format("second", 2581, 2790),
    ),
)
