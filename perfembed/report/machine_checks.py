"""What `doctor` found, as a document; the comparison of counters also as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfembed.profiling.comparison import CounterComparison
from perfembed.report.documents import document, plain
from perfembed.report.style import table
from profilers.calibration import Calibration
from profilers.doctor import Check


@dataclass(frozen=True, slots=True)
class DoctorContent:
    """`ready`: nests can be tuned here. `calibration` is null where there is none, `counters` where not asked for or
    where nothing counts."""

    ready: bool
    checks: tuple[Check, ...]
    calibration: Calibration | None
    counters: CounterComparison | None


def doctor_document(
    ready: bool,
    checks: Sequence[Check],
    calibration: Calibration | None,
    file: Path | None,
    counters: CounterComparison | None = None,
) -> str:
    """`file`: where the calibration is kept."""
    content: dict[str, Any] = plain(DoctorContent(ready, tuple(checks), calibration, counters))
    if calibration is not None:
        content["calibration"] |= {"noisy": calibration.noisy, "file": None if file is None else str(file)}
    return document("doctor", content)


def comparison_lines(found: CounterComparison, machine: str) -> list[str]:
    """One row a counter: simulated over measured of each nest."""
    counted = [nest for nest in found.nests if not nest.problem]
    rows = [["simulated / measured", "median", "least", "greatest", *(nest.name for nest in counted)]]
    for name, least, median, greatest, _ in found.rows():
        ratios = (nest.ratio(name) for nest in counted)
        rows.append([name, *map(_ratio, (median, least, greatest, *ratios))])
    lines = [f"counters of {found.source} on {machine}, each nest once as it is profiled", *table(rows)]
    lines += [f"  {nest.name}: {nest.problem}" for nest in found.nests if nest.problem]
    return [*lines, *(f"  {note}" for note in found.notes)]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"
