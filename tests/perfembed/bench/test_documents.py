"""The documents of benchmarks that no other test makes are as their schemas say."""

import json
import math
from collections import Counter
from dataclasses import asdict

from perfembed.bench.contents import VariantsContent
from perfembed.bench.costmodel import CostModelResult, PartScores, Throughput
from perfembed.bench.counters import COUNTS, CountedNest, CountersBench, CountersResult
from perfembed.bench.embedding import EmbeddingScores, LikenessScore, MetricScore, SimilarityScore
from perfembed.bench.index import IndexBench
from perfembed.bench.interrupted import InterruptedResult
from perfembed.bench.methods import NestRow
from perfembed.bench.nest_spellings import SpellingDonors
from perfembed.bench.population import PopulationResult, population_document
from perfembed.bench.products import ProductRow
from perfembed.bench.render import replay_document
from perfembed.bench.render_costmodel import costmodel_document
from perfembed.bench.render_counters import counters_document
from perfembed.bench.render_embedding import embedding_document
from perfembed.bench.render_interrupted import interrupted_document
from perfembed.bench.render_methods import methods_document
from perfembed.bench.render_products import products_document
from perfembed.bench.render_spelling import spelling_document
from perfembed.bench.render_startup import startup_document
from perfembed.bench.render_surrogate import render_surrogate, surrogate_document
from perfembed.bench.render_written import written_document
from perfembed.bench.replay import FileTimes, NestTimes, ReplayTimes
from perfembed.bench.spelling.model import Campaign, CampaignResult, Fault
from perfembed.bench.spread import SpellingTimes
from perfembed.bench.startup import Startup, StartupBench, StartupResult
from perfembed.bench.surrogate import ProtocolScores, SurrogateResult
from perfembed.bench.variants import VariantResult
from perfembed.bench.written.model import Failure, Tally, WrittenBench, WrittenResult
from perfembed.learning.surrogate import ClassifierScores
from perfembed.report.documents import document
from scheduler.cost.metrics import Scores


def test_replay() -> None:
    found = json.loads(replay_document(ReplayTimes((FileTimes("a.c", 20.0, [NestTimes("a", 3, 1.0, [0.5, 0.7])]),))))
    assert found["replay"]["median"] == 0.6 and found["setup"]["count"] == 1


def test_spelling() -> None:
    fault = Fault("wrong output", 3, "a.c", ("digraphs",), "error")
    spelling_document(CampaignResult(Campaign(4, 1), 4, {"nests": 3}, (fault,), 1.5, False))


def test_startup() -> None:
    run = Startup(0.1, 0.2, 0.3, 1.0, 3.0, 4.0, 100 << 20)
    found = json.loads(startup_document(StartupResult(StartupBench(), (run,), (run,), False)))
    assert found["ratios"]["program_s"] == 1.0


def test_counters() -> None:
    pairs = {count: (1e5, 1e5) for count in COUNTS}
    nest = CountedNest("a.c", "a_0", pairs, pairs, (10.0, None))
    result = CountersResult(CountersBench(("a.c",), {}), (nest, nest), (("b_0", "too short"),), 2.0, False)
    agreement = json.loads(counters_document(result))["agreement"]
    assert agreement["written"]["loads"]["correlation"] is None  # nothing varies


def test_costmodel() -> None:
    scores = Scores(1, 2, 0.5, 0.4, math.nan, math.nan, 0.9, 0.8, 0.7, 0.6, 0.1, math.nan)
    result = CostModelResult((PartScores("lstm", "kernels", scores),), (Throughput("lstm", 300.0, 100.0),), 3.0)
    found = json.loads(costmodel_document(result))
    assert found["scores"][0]["scores"] == asdict(scores) | dict.fromkeys(("spearman", "spearman_program", "regret_5"))


def test_surrogate() -> None:
    scores = ClassifierScores(4, 0.5, 0.75, 0.8, 0.7, 0.4, 0.1)
    result = SurrogateResult((ProtocolScores("cart", "10-fold", "kernels", scores),), {"depth": 1.0}, 4, 0.5)
    assert json.loads(surrogate_document(result))["rows"][0]["scores"] == asdict(scores)
    shown = render_surrogate(result)
    assert "10-fold" in shown and "75.0%" in shown and "depth 1.00" in shown


def test_embedding() -> None:
    scores = EmbeddingScores(
        3, 2, (MetricScore("runtime", 3, 0.9, 0.8, math.nan),), (SimilarityScore("ours", (0.1, math.nan)),), 4,
        0, (LikenessScore("all", 0.5, math.nan, math.nan),), (6.0, 28.0),
    )  # fmt: skip
    assert json.loads(embedding_document(scores))["metrics"][0]["static"] is None


def test_kills() -> None:
    assert json.loads(population_document(PopulationResult(3, 1, {"nests": 4})))["passed"] is True
    assert json.loads(interrupted_document(InterruptedResult(3, problems=["torn"])))["passed"] is False


def test_methods() -> None:
    row = NestRow("a.c", "a_0", 3, 1.0, {"original": 2.0, "one": 0.5, "two": 0.6}, {"one": 5}, {"one": 3.0})
    for kind in ("bench-transfer", "bench-search"):
        methods_document(kind, [row], ["one", "two"], "one")


def test_products_and_index() -> None:
    products_document([ProductRow("ijk", "double", 512, "native", 80.0, 90.0)])
    document("bench-index", IndexBench(1000, 128, True, 0.1, 0.2, 0.3, 1.0, 512000))


def test_variants() -> None:
    spellings = (SpellingDonors("a.c", "a_0", 5, 4, 0.9),)
    variants, times = (VariantResult("a.c", 2, 2),), (SpellingTimes("a", "a_0", 2.0, (1.0, 1.1), 1.05),)
    content: VariantsContent = {"variants": variants, "spellings": spellings, "times": times, "whole": 1}
    document("bench-variants", content)


def test_written() -> None:
    tally = Tally(1, Counter({("gcc-O0", "same"): 1}), Counter(tile=2), {"clang-19": "not installed"})
    tally.failures.append(Failure("a.c", "gcc-O0", "1 instead of 2", "again", ("gcc a.c",), (("a.c", b"int x;"),)))
    result = WrittenResult(WrittenBench(("a.c",), 0), ("gcc-O0",), tally, 3.0, False)
    found = json.loads(written_document(result))
    assert found["ways"]["gcc-O0"]["same"] == 1 and "files" not in found["differences"][0]
