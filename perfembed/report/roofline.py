"""The roofline of a nest: what the machine allows, and where the loops as written and as tuned stand.

Source: Williams, Waterman and Patterson 2009, Roofline: an insightful visual performance model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from perfembed.report.charts import Plot, chart, logarithmic, of_this_world
from perfembed.report.html import head_cell, number_cell, paragraph, row, table
from perfembed.report.style import count, day, percent, seconds
from perfembed.tuning.pictures import Ceilings, NestWork
from perfembed.tuning.result import NestReport
from profilers.calibration import Roofline

_HEIGHT = 330
_APART = 14  # pixels between labels
_NONE = (
    "There is no calibration of this machine and compiler for {}, so the limits cannot be drawn. "
    "`perfembed doctor --calibrate` measures them in about 15 s (for 1 thread and for all cores) and keeps them; the "
    "next tuning has them."
)


_CAPTION = (
    "Both axes are logarithmic. Left of the place where a bandwidth's line meets a peak that bandwidth is the limit, "
    "right of it arithmetic is. Operations that a loop repeats without need are not counted. Bytes are the estimated "
    "traffic with memory of one call, with cold caches: a nest whose data stay in a cache may lie above the memory's "
    "line, up to that of its cache."
)


@dataclass(frozen=True, slots=True)
class _Point:
    """One version of a nest. `intensity` in FLOP/byte of traffic with memory, `rate` in FLOP/s."""

    name: str
    shape: str
    kind: str
    seconds: float
    bytes: float
    intensity: float
    rate: float


def roofline_parts(name: str, report: NestReport, ceilings: Ceilings | None, threads: int) -> list[str]:
    """The drawing with its tables, or sentences that say what is missing for it. `name`: its own on the page."""
    work = report.picture.work if report.picture else None
    if work is None:
        problem = report.picture.problem if report.picture else ""
        return [paragraph(f"No roofline: {problem or 'what the nest computes was not counted'}.")]
    points = _points(report, work)
    if work.flops <= 0 or not math.isfinite(work.flops):
        return [paragraph("No roofline: the nest has no floating-point operations.")]
    if not points:
        return [paragraph("No roofline: neither the loops as written nor tuned ones were timed with known traffic.")]
    parts = [_points_table(points, work, ceilings)]
    if ceilings is None:
        return [paragraph(_NONE.format(count(threads, "thread"))), *parts]
    return [_drawing(name, report, work, points, ceilings), *parts, _limits_table(ceilings, _precision(work))]


def _points(report: NestReport, work: NestWork) -> list[_Point]:
    found = []
    for name, shape, kind, taken, moved in (
        ("as written", "circle", "before", report.original_s, work.original_bytes),
        ("as tuned", "diamond", "after", report.tuned_s, work.tuned_bytes),
    ):
        if taken and moved and all(map(of_this_world, (taken, moved, work.flops))):
            point = _Point(name, shape, kind, taken, moved, work.flops / moved, work.flops / taken)
            found += [point] if of_this_world(point.intensity) and of_this_world(point.rate) else []
    return found


def _precision(work: NestWork) -> str:
    return "float" if 2 * work.single > work.flops else "double"


def _limit(ceilings: Ceilings, precision: str) -> Roofline:
    """Of vectors and memory. Both are there in every calibration."""
    return Roofline(_peaks(ceilings, precision)["vector"], ceilings.levels[-1].bandwidth_gbs)


def _peaks(ceilings: Ceilings, precision: str) -> dict[str, float]:
    return {peak.kind: peak.flops for peak in ceilings.peaks if peak.precision == precision}


def usable(ceilings: Ceilings | None) -> bool:
    """Whether all that a drawing needs is there, as positive numbers: a document may hold anything."""
    if ceilings is None or not ceilings.levels:
        return False
    figures = [level.bandwidth_gbs for level in ceilings.levels] + [peak.flops for peak in ceilings.peaks]
    kinds = {(peak.precision, peak.kind) for peak in ceilings.peaks}
    needed = {(precision, kind) for precision in ("float", "double") for kind in ("scalar", "vector")}
    return needed <= kinds and all(1e-9 < figure < 1e30 for figure in figures)


def _drawing(name: str, report: NestReport, work: NestWork, points: list[_Point], ceilings: Ceilings) -> str:
    precision = _precision(work)
    peaks = _peaks(ceilings, precision)
    top, limit = max(peaks.values()), _limit(ceilings, precision)
    moved = work.least_bytes or 0.0
    least = work.flops / moved if of_this_world(moved) else 0.0
    ridges = [Roofline(top, level.bandwidth_gbs).ridge for level in ceilings.levels]
    x = logarithmic([*(p.intensity for p in points), least, *ridges], 4, 4)
    y = logarithmic([*(p.rate / 1e9 for p in points), *(peak / 1e9 for peak in peaks.values())], 6, 3)
    plot = Plot(x, y, _HEIGHT)
    parts = plot.axes("FLOP per byte of memory traffic", "GFLOP/s")
    labels: list[tuple[float, float, str]] = []
    for level, ridge in zip(ceilings.levels, ridges, strict=True):
        begin = max(x.low, y.low / level.bandwidth_gbs)
        if begin < ridge:
            parts.append(plot.line((begin, begin * level.bandwidth_gbs), (ridge, top / 1e9), "roof"))
            labels.append((begin, begin * level.bandwidth_gbs, f"{level.name} {level.bandwidth_gbs:.3g} GB/s"))
    for kind, peak in peaks.items():
        begin = max(x.low, peak / (ceilings.levels[0].bandwidth_gbs * 1e9))
        parts.append(plot.line((begin, peak / 1e9), (x.high, peak / 1e9), "peak"))
        said = f"{kind} peak, {precision}: {peak / 1e9:.3g} GFLOP/s"
        parts.append(plot.label((x.high, peak / 1e9), said, dx=2, dy=-5))
    if least:
        parts.append(plot.line((least, y.low), (least, y.high), "least"))
        parts.append(plot.label((least, y.low), "least traffic", dx=5, dy=-6, kind="halo good"))
    parts += _level_labels(plot, labels)
    parts += _marks(plot, points)
    description = "; ".join(
        f"{p.name}: {p.intensity:.3g} FLOP/byte, {p.rate / 1e9:.3g} GFLOP/s, "
        f"{percent(p.rate / limit.attainable(p.intensity))} of what memory and vectors allow"
        for p in points
    )
    return "\n".join(
        (
            "<figure>",
            chart(name, _HEIGHT + 12, f"Roofline of {report.nest}", description, parts, above=20),
            f"<figcaption>{_CAPTION}</figcaption>",
            "</figure>",
        )
    )


def _marks(plot: Plot, points: list[_Point]) -> list[str]:
    """With their labels beside them, the faster one first; where they would stand on each other one goes down."""
    parts: list[str] = []
    taken = -math.inf
    for point in sorted(points, key=lambda point: -point.rate):
        at = (point.intensity, point.rate / 1e9)
        said = f"{point.name}: {point.rate / 1e9:.3g} GFLOP/s"
        parts.append(plot.mark(point.shape, at, point.kind, said))
        down = max(plot.down(at[1]) + 4, taken + _APART)
        parts.append(plot.label(at, said, dx=13, dy=round(down - plot.down(at[1]))))
        taken = down
    return parts


def _level_labels(plot: Plot, labels: list[tuple[float, float, str]]) -> list[str]:
    """Each at the lower end of its line, pushed apart where they would stand on each other."""
    parts: list[str] = []
    left = [entry for entry in labels if plot.x.at(entry[0]) < 0.02]
    taken = -math.inf
    for at, rate, said in sorted(left, key=lambda entry: plot.down(entry[1])):
        down = max(plot.down(rate) - 4, taken + _APART)
        parts.append(plot.label((at, rate), said, dx=44, dy=round(down - plot.down(rate))))
        taken = down
    bottom = plot.down(plot.y.low) - 6
    for number, (at, rate, said) in enumerate(sorted(set(labels) - set(left))):
        down = bottom - _APART * number
        parts.append(plot.label((at, rate), said, dx=6, dy=round(down - plot.down(rate))))
    return parts


def _points_table(points: list[_Point], work: NestWork, ceilings: Ceilings | None) -> str:
    limit = _limit(ceilings, _precision(work)) if ceilings is not None else None
    head = ["one call", "#time", "#operations", "#memory traffic", "#FLOP/byte", "#GFLOP/s"]
    rows = []
    for p in points:
        cells = [
            head_cell(p.name),
            number_cell(seconds(p.seconds)),
            number_cell(f"{work.flops:.4g} FLOP"),
            number_cell(size(p.bytes)),
            number_cell(f"{p.intensity:.3g}"),
            number_cell(f"{p.rate / 1e9:.3g}"),
        ]
        if limit is not None:
            cells.append(number_cell(percent(p.rate / limit.attainable(p.intensity))))
        rows.append(row(*cells))
    if limit is not None:
        head.append("#of the limit")
    least = ""
    if work.least_bytes:
        least = paragraph(
            f"Any order of the same operations moves at least {size(work.least_bytes)} from and to memory.", "note"
        )
    if limit is not None:
        least += paragraph("The limit is what memory and vectors allow at that FLOP/byte.", "note")
    return table(head, rows, "The loops as written and as tuned") + least


def _limits_table(ceilings: Ceilings, precision: str) -> str:
    rows = [
        row(
            head_cell(level.name),
            number_cell(f"{level.bandwidth_gbs:.3g} GB/s"),
            number_cell("" if level.size_bytes is None else size(level.size_bytes)),
        )
        for level in ceilings.levels
    ]
    rows += [
        row(head_cell(f"{kind} peak, {precision}"), number_cell(f"{peak / 1e9:.3g} GFLOP/s"), number_cell(""))
        for kind, peak in _peaks(ceilings, precision).items()
    ]
    noisy = " Others used the machine meanwhile: they may be too low." if ceilings.noisy else ""
    said = f"Limits of {count(ceilings.threads, 'thread')}, measured on {day(ceilings.date)}.{noisy}"
    return paragraph(said, "note") + table(["limit", "#at best", "#size"], rows, "Limits of the machine")


def size(value: float) -> str:
    """96 B, 1.5 MiB: three digits."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} B"
