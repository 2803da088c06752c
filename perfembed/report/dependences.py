"""The dependences of a nest as a table, with a small drawing of the direction in every common loop."""

from __future__ import annotations

from collections.abc import Sequence

from perfembed.inspection.views import DependenceView
from perfembed.report.html import cell, html_cell, name_cell, paragraph, row, table, text
from perfembed.report.inspection import distance_text, example_text

_MOST = 40  # rows
_CELL, _HEIGHT = 44, 40  # pixels
_HEAD = ("kind", "from → to", "on", "distance", "direction", "carried by", "example")
_ABOUT = (
    "Each row is a pair of statements that touch the same element, so that the first must stay before the second. The "
    "distance is that of the second from the first in every common loop: an arrow to the right is a greater value of "
    "the loop's iterator, one to the left a smaller one, = the same, two heads any. A loop that carries it (red: the "
    "first that may) cannot run its iterations in another order, or side by side, unless the dependence is kept."
)


def dependence_parts(dependences: Sequence[DependenceView]) -> list[str]:
    """Rows that differ in their kind only are one."""
    if not dependences:
        return [paragraph("None: all statement instances are independent of each other.")]
    alike: dict[tuple[object, ...], tuple[DependenceView, list[str]]] = {}
    for d in dependences:
        key = (d.source, d.sink, d.array, d.reduction, d.exact, d.distance)
        _, kinds = alike.setdefault(key, (d, []))
        if d.kind not in kinds:
            kinds.append(d.kind)
    shown = list(alike.values())[:_MOST]
    parts = [paragraph(_ABOUT, "note"), table(_HEAD, (_row(d, kinds) for d, kinds in shown), "Dependences")]
    if len(alike) > len(shown):
        parts.append(paragraph(f"… and {len(alike) - len(shown)} more (perfembed inspect -v shows all)", "note"))
    return parts


def _row(d: DependenceView, kinds: list[str]) -> str:
    note = (" (reduction)" if d.reduction else "") + ("" if d.exact else " (may)")
    return row(
        cell(", ".join(kinds)),
        name_cell(f"{d.source} → {d.sink}"),
        html_cell(f'<code class="name">{text(d.array)}</code>{text(note)}'),
        name_cell(distance_text(d)),
        html_cell(_drawing(d)),
        cell(carried_by(d)),
        name_cell(example_text(d)),
    )


def carried_by(d: DependenceView) -> str:
    """The outermost loops that may carry it (Allen and Kennedy); loop-independent ones are kept by statement order."""
    found: list[str] = []
    for loop, low, high in d.distance:
        if low == high == 0:
            continue
        found.append(loop)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return " or ".join(found)
    if not found:
        return "no loop" if d.distance else "no common loop"
    return " or ".join([*found, "no loop"]) if d.source != d.sink else " or ".join(found)


def direction(low: int | None, high: int | None) -> str:
    """One of = < > * <= >= as direction vectors are written (Wolfe): < is from a smaller to a greater iterator."""
    if low is not None and low >= 0:
        return "<" if low > 0 else "=" if high == 0 else "<="
    if high is not None and high <= 0:
        return ">" if high < 0 else ">="
    return "*"


_SAID = {
    "=": "the same value",
    "<": "a greater value",
    ">": "a smaller value",
    "<=": "the same or a greater value",
    ">=": "the same or a smaller value",
    "*": "any value",
}


def _drawing(d: DependenceView) -> str:
    """A box for each common loop with its arrow; the one that carries the dependence first in red."""
    if not d.distance:
        return ""
    said = ", ".join(f"{loop}: {_SAID[direction(low, high)]}" for loop, low, high in d.distance)
    width = _CELL * len(d.distance)
    parts = [
        f'<svg width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" role="img" aria-label="{text(said)}">'
    ]
    carries = True
    for number, (loop, low, high) in enumerate(d.distance):
        sign = direction(low, high)
        kind = "arrow carries" if carries and sign != "=" else "arrow"
        carries = carries and sign == "="
        left = _CELL * number
        parts.append(f'<rect class="box" x="{left + 1}" y="1" width="{_CELL - 3}" height="22" rx="3"/>')
        parts.append(f'<path class="{kind}" d="{_arrow(sign, left + _CELL // 2 - 1)}"/>')
        short = loop if len(loop) <= 6 else loop[:5] + "…"
        parts.append(
            f'<text class="code soft" x="{left + _CELL // 2 - 1}" y="36" text-anchor="middle">{text(short)}</text>'
        )
    return "".join((*parts, "</svg>"))


def _arrow(sign: str, middle: int) -> str:
    """Around (middle, 12)."""
    m = middle
    right, left = f"M{m + 8} 7L{m + 13} 12L{m + 8} 17", f"M{m - 8} 7L{m - 13} 12L{m - 8} 17"
    equals = f"M{m - 7} 9H{m + 7}M{m - 7} 15H{m + 7}"
    shaft = f"M{m - 13} 12H{m + 13}"
    below = f"M{m - 6} 20H{m + 6}"
    return {
        "=": equals,
        "<": shaft + right,
        ">": shaft + left,
        "<=": shaft + right + below,
        ">=": shaft + left + below,
        "*": shaft + right + left,
    }[sign]
