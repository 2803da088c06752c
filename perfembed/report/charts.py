"""Charts as inline SVG. Places across are shares of the width, which is the reader's; up and down they are pixels.

So text keeps its size on a telephone and on a wide screen. Every chart has a title and a description for those who do
not see it, and says nothing that the table beside it does not say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfembed.report.html import text

COLORS = 8  # classes c0 … c7 of the style sheet
_BAR = 24  # pixels
_LEAST, _MOST = 1e-100, 1e100  # that are drawn
_LEAST_LABEL = 0.09  # of the width, for a bar to carry its name


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to shares 0 … 1 of a length. A logarithmic one needs `low` > 0. `low` < `high`, both finite."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value stands; what lies beyond an end stands at it."""
        clamped = min(max(value, self.low), self.high)
        if self.logarithmic:
            return math.log(clamped / self.low) / math.log(self.high / self.low)
        return (clamped - self.low) / (self.high - self.low)

    def ticks(self) -> tuple[float, ...]:
        """Round values within, three to ten of them; below 0 there is room for labels only."""
        if not self.logarithmic:
            step = _round_step((self.high - self.low) / 5)
            first = math.ceil(max(self.low, 0.0) / step - 1e-9)
            return tuple(step * k for k in range(first, first + 12) if step * k <= self.high * (1 + 1e-9))
        decades = math.log10(self.high / self.low)
        factors = (1, 2, 5) if decades <= 2 else (1,)
        every = max(1, math.ceil(decades / 6))
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = (f * 10.0**e for e in exponents if e % every == 0 for f in factors)
        return tuple(value for value in found if self.low <= value <= self.high)


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * f for f in (1, 2, 5, 10) if rough <= power * f * (1 + 1e-9))


def of_this_world(value: float) -> bool:
    """Whether a positive value can be drawn: a document may hold any, whose products and quotients are infinite."""
    return _LEAST < value < _MOST


def linear(last: float, before: float, behind: float) -> Scale:
    """From 0 to `last`, with room for these shares of it before and behind; `last` that cannot be drawn counts as 1."""
    last = last if of_this_world(last) else 1.0
    return Scale(-before * last, (1 + behind) * last)


def logarithmic(values: Iterable[float], below: float, above: float) -> Scale:
    """Around all values that can be drawn, with room for the factors below and above them."""
    found = [value for value in values if of_this_world(value)] or [1.0]
    return Scale(min(found) / below, max(found) * above, logarithmic=True)


@dataclass(frozen=True, slots=True)
class Plot:
    """The area that two scales span: `height` pixels, of which the lowest 22 are for the ticks of the x axis."""

    x: Scale
    y: Scale
    height: int

    def across(self, value: float) -> str:
        return f"{100 * self.x.at(value):.2f}%"

    def down(self, value: float) -> float:
        return round((1 - self.y.at(value)) * (self.height - 22), 1)

    def line(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
        (x1, y1), (x2, y2) = start, end
        return (
            f'<line class="{kind}" x1="{self.across(x1)}" y1="{self.down(y1)}" x2="{self.across(x2)}" '
            f'y2="{self.down(y2)}"/>'
        )

    def mark(self, shape: str, at: tuple[float, float], kind: str, said: str) -> str:
        """A shape of `SHAPES` at a place."""
        return self.mark_at(shape, at[0], self.down(at[1]), kind, said)

    def mark_at(self, shape: str, x: float, y: float, kind: str, said: str) -> str:
        """The same with pixels down."""
        return (
            f'<svg x="{self.across(x)}" y="{y}" overflow="visible" width="1" height="1">'
            f'<path class="{kind}" d="{SHAPES[shape]}"><title>{text(said)}</title></path></svg>'
        )

    def label(self, at: tuple[float, float], said: str, *, dx: int = 0, dy: int = 0, kind: str = "halo") -> str:
        """Beside a place, to its right in the left part of the plot and to its left in the right part."""
        share = self.x.at(at[0])
        anchor, shift = ("start", dx) if share < 0.55 else ("end", -dx)
        return written(f"{100 * share:.2f}%", self.down(at[1]) + dy, said, anchor=anchor, dx=shift, kind=kind)

    def axes(self, x_name: str, y_name: str) -> list[str]:
        """Grid lines with their values; the names of both axes."""
        parts: list[str] = []
        for value in self.y.ticks():
            parts.append(f'<line class="grid" x1="0" x2="100%" y1="{self.down(value)}" y2="{self.down(value)}"/>')
        bottom = self.height - 22
        for value in self.x.ticks():
            share = self.x.at(value)
            anchor = "start" if share < 0.03 else "end" if share > 0.97 else "middle"
            parts.append(
                f'<line class="grid" x1="{self.across(value)}" x2="{self.across(value)}" y1="0" y2="{bottom}"/>'
            )
            parts.append(written(self.across(value), bottom + 14, number(value), anchor=anchor, kind="soft"))
        for value in self.y.ticks():
            parts.append(written("0", self.down(value) - 3, number(value), kind="halo soft"))
        parts.append(written("0", -8, y_name, kind="soft"))
        parts.append(written("100%", self.height + 8, x_name, anchor="end", kind="soft"))
        return parts


SHAPES = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "diamond": "M0 -8L8 0L0 8L-8 0z",
    "up": "M0 -6L6 5L-6 5z",
    "cross": "M-5 -5L5 5M-5 5L5 -5",
}


def written(x: str, y: float, said: str, *, anchor: str = "start", dx: int = 0, kind: str = "") -> str:
    """A text of a drawing."""
    shift = f' dx="{dx}"' if dx else ""
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{shift} text-anchor="{anchor}"{name}>{text(said)}</text>'


def chart(name: str, height: int, title: str, description: str, parts: Iterable[str], *, above: int = 0) -> str:
    """A drawing as wide as its place; `name` is its own on the page, `above` are pixels left free on top."""
    return "\n".join(
        (
            f'<svg class="chart" height="{height + above}" role="img" aria-labelledby="{name}-title {name}-text">',
            f'<title id="{name}-title">{text(title)}</title><desc id="{name}-text">{text(description)}</desc>',
            f'<svg y="{above}" width="100%" height="{height}" overflow="visible">',
            *parts,
            "</svg></svg>",
        )
    )


def number(value: float) -> str:
    """0.02, 1.5, 3000, 2e+05"""
    return f"{value:g}" if 1e-3 <= abs(value) < 1e5 and float(f"{value:.3g}") == value else f"{value:.3g}"


# ------------------------------------------------------------------------------------------ bars


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar. `color`: a number below `COLORS`; `said`: what it is, with its value."""

    label: str
    value: float
    color: int
    said: str


def bar(segments: Sequence[Segment], whole: float, y: float) -> list[str]:
    """Segments side by side, `whole` as wide as the chart. Those that are too narrow for their name are without."""
    parts: list[str] = []
    start = 0.0
    for segment in segments:
        share = segment.value / whole if whole > 0 else 0.0
        label = written("5", 16, segment.label, kind="on") if share >= _LEAST_LABEL else ""
        parts.append(
            f'<svg x="{100 * start:.3f}%" y="{y}" width="{100 * share:.3f}%" height="{_BAR}">'
            f'<rect class="edge c{segment.color % COLORS}" width="100%" height="100%">'
            f"<title>{text(segment.said)}</title></rect>{label}</svg>"
        )
        start += share
    return parts


def swatch(color: int) -> str:
    """A small square in the colour of a segment, for tables."""
    return f'<span class="swatch c{color % COLORS}" aria-hidden="true"></span>'
