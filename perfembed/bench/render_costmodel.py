"""Scores of cost models as text, beside the papers', and as a document."""

from __future__ import annotations

from perfembed.bench.costmodel import CostModelResult
from perfembed.report.documents import document
from perfembed.report.style import Style, table

_PAPERS = (
    ("Tiramisu (MLSys 2021)", "their test set", "16.0 %", "", "0.95", "", "0.983", "0.94", "", "", "", ""),
    ("LOOPer (2024)", "their test set", "26.7 %", "", "0.74", "", "0.94", "", "", "", "", ""),
)
_HEADER = (
    "model", "on", "MAPE", "median", "Spearman", "a program", "nDCG", "@1", "@5", "@10", "top-1 regret", "top-5 regret",
)  # fmt: skip


def render_costmodel(result: CostModelResult, style: Style) -> str:
    """One row a model and part of the data."""
    rows = [list(_HEADER), *(list(row) for row in _PAPERS)]
    for one in result.scores:
        s = one.scores
        order = (s.spearman, s.spearman_program, s.ndcg, s.ndcg_1, s.ndcg_5, s.ndcg_10)
        name = f"{one.part} ({s.programs} nests, {s.labels} labels)"
        regrets = (f"{s.regret_1:.1%}", f"{s.regret_5:.1%}")
        errors = (f"{s.mape:.1%}", f"{s.median_ape:.1%}")
        rows.append([one.model, name, *errors, *(f"{value:.3f}" for value in order), *regrets])
    lines = [style.paint("predicted speedups over the program as written", "bold"), *table(rows)]
    lines += [
        f"{t.model}: {t.alone:.0f} predictions/s alone, {t.whole:.0f}/s with replay and legality"
        for t in result.throughput
    ]
    return "\n".join(lines)


def costmodel_document(result: CostModelResult) -> str:
    return document("bench costmodel", result)
