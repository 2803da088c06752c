"""Scores of the surrogate classifier as text and as a document."""

from __future__ import annotations

from perfembed.bench.surrogate import SurrogateResult
from perfembed.report.documents import document
from perfembed.report.style import table

_HEADER = (
    "classifier", "protocol", "on", "tested", "profitable", "accuracy", "precision", "recall", "saved", "nests lost",
)  # fmt: skip


def render_surrogate(result: SurrogateResult) -> str:
    """One row a classifier and protocol, then the importance of the features."""
    body = [
        [
            row.classifier,
            row.protocol,
            row.data,
            str(row.scores.tested),
            *(
                f"{share:.1%}"
                for share in (
                    row.scores.profitable,
                    row.scores.accuracy,
                    row.scores.precision,
                    row.scores.recall,
                    row.scores.saved,
                    row.scores.worst_best,
                )
            ),
        ]
        for row in result.rows
    ]
    ordered = sorted(result.gini.items(), key=lambda pair: -pair[1])
    return "\n".join(
        [
            f"{result.schedules} schedules, {result.profitable_share:.1%} of them profitable",
            *table([list(_HEADER), *body]),
            "importance (GINI): " + ", ".join(f"{name} {share:.2f}" for name, share in ordered),
        ]
    )


def surrogate_document(result: SurrogateResult) -> str:
    return document("bench surrogate", result)
