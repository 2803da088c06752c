"""The transfer benchmark as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from perfembed.bench.transfer import NestRow, scores
from perfembed.report.documents import document
from perfembed.report.style import seconds, table, times

_HEAD = ["", "programs", "median", "worst", "within 5 %", "over 25 %", "over original", "measured", "tuning a nest"]


def render_transfer(rows: Sequence[NestRow], methods: Sequence[str], machine: str) -> str:
    """Times as multiples of the long search's, then what each program's nests came to with the first method."""
    found = scores(rows, methods)
    if not found:
        return "no program has a long search of all its nests in the reference database"
    lines = [f"time over that of the long search, {machine}"]
    body = [
        [
            score.method,
            str(score.programs),
            f"{score.median:.2f}",
            f"{score.worst:.2f}",
            str(score.within),
            str(score.beyond),
            times(score.speedup),
            f"{score.measured:.1f}",
            seconds(score.tuning_s) if score.tuning_s else "-",
        ]
        for score in found
    ]
    return "\n".join([*lines, *table([_HEAD, *body])])


def transfer_document(rows: Sequence[NestRow], methods: Sequence[str]) -> str:
    return document(
        "bench-transfer",
        {"scores": [asdict(s) for s in scores(rows, methods)], "nests": [asdict(row) for row in rows]},
    )
