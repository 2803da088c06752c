"""`perfembed bench datasets` as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from perfembed.bench.contents import DatasetsContent
from perfembed.bench.datasets import DataRow, told_apart
from perfembed.report.documents import document
from perfembed.report.style import seconds, table, times

_HEAD = ["data set", "nest", "method", "nearest donors", "a run", "over original", "schedule"]
_SHOWN = 3  # donors


def render_datasets(rows: Sequence[DataRow], machine: str) -> str:
    """A line for each data set, nest and method, then how often donors differ between data sets."""
    if not rows:
        return "no nest of the file could be run"
    body = [
        [
            row.data,
            row.nest,
            row.method,
            " ".join(donor[:6] for donor in row.donors[:_SHOWN]) or "-",
            seconds(row.seconds) if row.seconds else "-",
            times(row.original / row.seconds) if row.seconds and row.original else "-",
            row.schedule or "as written",
        ]
        for row in rows
    ]
    lines = [f"one nest on different data, {machine}", *table([_HEAD, *body])]
    data = len({row.data for row in rows})
    for (nest, method), different in told_apart(rows).items():
        lines.append(f"{nest}, {method}: {different} different lists of donors on {data} data sets")
    return "\n".join(lines)


def datasets_document(rows: Sequence[DataRow]) -> str:
    content: DatasetsContent = {"rows": rows}
    return document("bench-datasets", content)
