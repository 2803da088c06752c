"""Products against OpenBLAS as text and as a document."""

from __future__ import annotations

from collections.abc import Sequence

from perfembed.bench.contents import ProductsContent
from perfembed.bench.products import ProductRow
from perfembed.report.documents import document
from perfembed.report.style import table

AIM = 0.85


def render_products(rows: Sequence[ProductRow]) -> str:
    """A row a product, then how many reach the aim."""
    lines = [["spelling", "type", "size", "-march", "ours", "OpenBLAS", "ratio", "spread", "tuning"]]
    for row in rows:
        rates = [f"{row.ours:.1f}", f"{row.openblas:.1f}"] if row.ours and row.openblas else ["-", "-"]
        ratio = f"{row.ratio:.0%}" if row.ratio is not None else row.problem
        own = [row.spelling, row.ctype, str(row.size), row.march]
        lines.append([*own, *rates, ratio, f"{row.spread - 1:.0%}", f"{row.tuning_s:.1f} s"])
    ratios = sorted(row.ratio for row in rows if row.ratio is not None)
    text = ["GFLOP/s, the fastest of three runs in turns; spread of ours", *table(lines)]
    if ratios:
        reached = sum(ratio >= AIM for ratio in ratios)
        text.append(
            f"{reached} of {len(rows)} at {AIM:.0%} of OpenBLAS or more; least {ratios[0]:.0%}, "
            f"median {ratios[len(ratios) // 2]:.0%}"
        )
    return "\n".join(text)


def products_document(rows: Sequence[ProductRow]) -> str:
    content: ProductsContent = {"rows": rows}
    return document("bench-products", content)
