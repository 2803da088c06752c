"""The map of the embedding space as one self-contained page: no network, hover shows the nest."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfembed.mapping.plane import Point

_SIZE = 760  # pixels
_TEXT = 1500  # characters of a nest that are shown
_OWN = (
    " A diamond is a nest of the file. The others are laid out by t-SNE without it; it stands at the weighted mean of"
    " the places of the nests whose embeddings are nearest to its own, which need not be near each other."
)


def map_page(points: Sequence[Point], title: str, group: str = "algorithm") -> str:
    """HTML with the points as data and the script that draws them; `group` is what their `algorithm` is called."""
    rows = [
        {
            "name": p.name,
            "place": p.place,
            "algorithm": p.algorithm,
            "x": round(x, 1),
            "y": round(y, 1),
            "text": p.text[:_TEXT] + ("\n…" if len(p.text) > _TEXT else ""),
            "speedup": None if p.speedup is None else round(p.speedup, 2),
            "schedule": p.schedule,
            "steps": p.steps,
            "own": p.own,
            "metrics": {name: float(f"{value:.4g}") for name, value in p.metrics.items() if math.isfinite(value)},
        }
        for p, (x, y) in zip(points, _scaled(points), strict=True)
    ]
    data = json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")  # what is in there must not end the script
    placed = any(p.own for p in points) and not all(p.own for p in points)
    own = _OWN if placed else ""
    template = files("perfembed.report").joinpath("map_page.html").read_text(encoding="utf-8")
    for name, text in (
        ("TITLE", escape(title)),
        ("SIZE", str(_SIZE)),
        ("GROUP", escape(group)),
        ("OWN", own),
        ("DATA", data),
    ):
        template = template.replace(f"@{name}@", text)
    return template


def _scaled(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Into the drawing, with a margin; y grows downwards there."""
    if not points:
        return []
    left, right = min(p.x for p in points), max(p.x for p in points)
    low, high = min(p.y for p in points), max(p.y for p in points)
    span = max(right - left, high - low) or 1.0
    inside, margin = _SIZE * 0.94, _SIZE * 0.03
    return [(margin + (p.x - left) / span * inside, margin + (high - p.y) / span * inside) for p in points]
