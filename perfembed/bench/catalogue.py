"""The documents that `perfembed bench` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_type_hints

from perfembed.bench import contents
from perfembed.bench.costmodel import CostModelResult
from perfembed.bench.datasets import DataRow
from perfembed.bench.embedding import EmbeddingScores, LikenessScore, MetricScore, SimilarityScore
from perfembed.bench.index import IndexBench
from perfembed.bench.interrupted import InterruptedResult
from perfembed.bench.kernels.rows import Row
from perfembed.bench.legality.model import Disagreement
from perfembed.bench.population import PopulationResult
from perfembed.bench.render_database import DatabaseTrials
from perfembed.bench.surrogate import SurrogateResult
from perfembed.bench.written.model import Failure
from perfembed.report.derive_schema import Described
from scheduler.cost.metrics import Scores

_JUDGED = {(Row, name): kind for name, kind in get_type_hints(contents.Judged).items()}
_RANKED = ("spearman", "spearman_program", "ndcg", "ndcg_1", "ndcg_5", "ndcg_10", "regret_1", "regret_5")
_EMBEDDED = {  # what there was too little to say of
    (MetricScore, "profiled"): float | None,
    (MetricScore, "static"): float | None,
    (SimilarityScore, "values"): tuple[float | None, ...],
    (LikenessScore, "mean"): float | None,
    (LikenessScore, "best"): float | None,
    (LikenessScore, "worth"): float | None,
    (EmbeddingScores, "static_ms"): tuple[float | None, float | None],
}
BENCH_DOCUMENTS = (
    Described("bench kernels", contents.KernelsContent, ("bench kernels --format json",), _JUDGED),
    Described("bench-products", contents.ProductsContent, ("bench products --json",)),
    Described("bench replay", contents.ReplayContent, ("bench replay --json",)),
    Described(
        "bench legality",
        contents.LegalityContent,
        ("bench legality --json",),
        {(Disagreement, "parameters"): Mapping[str, int]},
    ),
    Described("bench forms", contents.FormsContent, ("bench forms --json",)),
    Described("bench bounds", contents.BoundsContent, ("bench bounds --json",)),
    Described("bench spelling", contents.SpellingContent, ("bench spelling --json",)),
    Described("bench timing", contents.TimingContent, ("bench timing --json",)),
    Described("bench-startup", contents.StartupContent, ("bench startup --json",)),
    Described("bench counters", contents.CountersContent, ("bench counters --json",)),
    Described(
        "bench costmodel",
        CostModelResult,
        ("bench costmodel --json",),
        {(Scores, name): float | None for name in _RANKED},
    ),
    Described("bench surrogate", SurrogateResult, ("bench surrogate --json",)),
    Described("bench database", DatabaseTrials, ("bench database --json",), {(DatabaseTrials, "passed"): bool}),
    Described("bench population", PopulationResult, ("bench population --json",), {(PopulationResult, "passed"): bool}),
    Described(
        "bench interrupted", InterruptedResult, ("bench interrupted --json",), {(InterruptedResult, "passed"): bool}
    ),
    Described("bench-transfer", contents.MethodsContent, ("bench transfer --json",)),
    Described(
        "bench-datasets",
        contents.DatasetsContent,
        ("bench datasets --json",),
        {(DataRow, "seconds"): float | None, (DataRow, "original"): float | None},
    ),
    Described("bench-search", contents.MethodsContent, ("bench search --json",)),
    Described("bench-embedding", EmbeddingScores, ("bench embedding --json",), _EMBEDDED),
    Described("bench-index", IndexBench, ("bench index --json",)),
    Described("bench-variants", contents.VariantsContent, ("bench variants --json",)),
    Described("bench openmp", contents.OpenmpContent, ("bench openmp --json",)),
    Described("bench programs", contents.ProgramsContent, ("bench programs --json",)),
    Described("bench written", contents.WrittenContent, ("bench written --json",), {(Failure, "files"): None}),
)
