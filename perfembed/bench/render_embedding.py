"""Scores of the performance embedding as text, beside the paper's, and as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfembed.bench.embedding import DONORS, PAPER_SIMILARITY, SIMILARITY, EmbeddingScores, MetricScore
from perfembed.report.documents import document
from perfembed.report.style import table

_AIM = 0.85


def render_embedding(scores: EmbeddingScores) -> str:
    """Tables: the correlation of each metric, how alike neighbours perform, and how alike their schedules are."""
    rows = [["metric", "with profile", "of perf, AMD", "static", "nests"]]
    rows += [[m.metric, *map(_figure, (m.profiled, m.partial, m.static)), str(m.count)] for m in scores.metrics]
    lines = [
        f"Pearson correlation of metrics, {scores.nests} nests of {scores.algorithms} algorithms that no training saw",
        *table(rows),
        *(f"  {name}: {_summary(scores.metrics, name)}" for name in ("profiled", "partial", "static")),
        "  paper: 17 of 20 at 0.80 or more, lowest 0.60",
        "",
        "coefficient of variation among a nest and its 3 nearest neighbours (less is better)",
    ]
    rows = [["embedding", *SIMILARITY]]
    rows += [[s.embedding, *(_figure(v) for v in s.values)] for s in scores.similarity]
    rows.append(["paper, its own nests and machine", *(_figure(v) for v in PAPER_SIMILARITY)])
    lines += table(rows)
    if scores.likeness:
        rows = [["neighbours by", "all of them", "the best", "worth"]]
        rows += [[s.space, _figure(s.mean), _figure(s.best), _worth(s.worth)] for s in scores.likeness]
        nests = f"{scores.donors} nests that no training saw"
        lines += [
            "",
            f"likeness of schedules to those of {DONORS} donors of other algorithms, {nests} (more is better);",
            f"and what the best of them is worth to {scores.worth_known} of the nests, over what any donor asked is",
        ]
        lines += table(rows)
    median, worst = scores.static_ms
    lines += ["", f"static embedding of one nest: {median:.1f} ms in the median, {worst:.1f} ms at worst"]
    return "\n".join(lines)


def embedding_document(scores: EmbeddingScores) -> str:
    return document("bench-embedding", scores)


def _summary(metrics: Sequence[MetricScore], name: str) -> str:
    values = [v for m in metrics if math.isfinite(v := getattr(m, name))]
    high = sum(v >= _AIM for v in values)
    lowest = f", lowest {min(values):.2f}" if values else ""
    return f"{high} of {len(metrics)} at {_AIM} or more{lowest}"


def _figure(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _worth(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"
