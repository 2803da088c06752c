"""How good the performance embedding is, on nests of real programs that no training saw.

Source: Trümper et al. 2023, section 5.1 (Pearson correlation of each metric) and 5.2 with table 1 (performance
similarity: how much bandwidths and data locality vary among a nest and its 3 nearest neighbours). Beyond the paper: how
alike the good schedules of a donor are to those of its nearest donors of other algorithms. What neighbours are worth to
a nest is measured elsewhere (`tests.evaluation.retrieval`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.network.examples import Example
from perfembed.embedding.network.interface import DIMENSION
from perfembed.embedding.network.losses import as_counted_by
from perfembed.embedding.network.targets import scale_metrics, targets
from perfembed.learning.cost_models import part_of
from perfembed.learning.training_data import is_generated
from perfembed.retrieval.donors import BESIDE, Donors, Found, behaving
from perfembed.retrieval.families import related
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.likeness import good_recipes, likeness
from perfembed.retrieval.nest_space import NestSpace, parts
from profilers.counters import feature_names
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer

if TYPE_CHECKING:
    from perfembed.embedding.network.interface import EmbedsNests
    from perfembed.retrieval.donors import StoredDonor
    from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel

Matrix = npt.NDArray[np.float64]
NEIGHBOURS = 3
DONORS = 5
_BEHAVING = "those nearby that behave alike"
PARTIAL = "perf-amd"  # the event map with the fewest counters of those for known processors
SIMILARITY = ("memory_bandwidth", "l3_bandwidth", "l2_bandwidth", "data_locality")
PAPER_SIMILARITY = (0.25, 0.30, 0.28, 0.31)  # Trümper et al. 2023, table 1, their embedding


@dataclass(frozen=True, slots=True)
class MetricScore:
    """Pearson correlation of predictions with a metric, as scaled for learning, over `count` nests; NaN where the
    metric is the same everywhere. `partial`: with the counts that perf has on the processors of `PARTIAL`."""

    metric: str
    count: int
    profiled: float
    partial: float
    static: float


@dataclass(frozen=True, slots=True)
class SimilarityScore:
    """Mean coefficients of variation in the order of `SIMILARITY`, of neighbours under one embedding."""

    embedding: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LikenessScore:
    """Means over donors: likeness of their schedules (`perfembed.retrieval.donors`) to those of `DONORS` neighbours,
    and to the one of them that is most alike."""

    space: str
    mean: float
    best: float


@dataclass(frozen=True, slots=True)
class EmbeddingScores:
    nests: int
    algorithms: int
    metrics: tuple[MetricScore, ...]
    similarity: tuple[SimilarityScore, ...]
    donors: int
    likeness: tuple[LikenessScore, ...]
    static_ms: tuple[float, float]  # encoding and embedding one nest by itself: in the median, at worst


def score_embedding(
    space: NestSpace,
    examples: Sequence[Example],
    donors: Sequence[StoredDonor] = (),
    profiles: Mapping[str, Sequence[float]] = MappingProxyType({}),
    lstm: RecursiveLstmCostModel | None = None,
) -> EmbeddingScores:
    """`examples` were not trained on; `donors`: all there are, `profiles`: theirs, by nest_id; `lstm`: to compare with.

    Raises ValueError without examples.
    """
    if not examples:
        raise ValueError("no nests to score the embedding on")
    values = np.array([e.metrics for e in examples], dtype=np.float64)
    measured = scale_metrics(values)
    found = {}
    vectors: dict[str, npt.NDArray[np.float32]] = {}
    profiles_of: dict[str, list[tuple[float, ...] | None]] = {
        "profiled": [example.profile for example in examples],
        "partial": [as_counted_by(PARTIAL, example.profile) for example in examples],
        "static": [None for _ in examples],
    }
    for name, shown in profiles_of.items():
        found[name], vectors[name] = _run(space.model, examples, shown)
    metrics = [
        MetricScore(
            target.name,
            int(np.isfinite(measured[:, k]).sum()),
            *(pearson(found[name][:, k], measured[:, k]) for name in profiles_of),
        )
        for k, target in enumerate(targets())
    ]
    embeddings: dict[str, npt.NDArray[np.float32]] = {
        "ours, with profile": vectors["profiled"],
        "ours, static": vectors["static"],
        "misses at each cache level": _reuse(examples),
    }
    if lstm is not None:
        embeddings["recursive LSTM, last layer"] = _last_layers(lstm, examples)
    embeddings["at random"] = np.random.default_rng(0).standard_normal((len(examples), 8)).astype(np.float32)
    similarity = [SimilarityScore(name, similarities(rows, values)) for name, rows in embeddings.items()]
    algorithms = len({e.group for e in examples})
    likeness = likeness_of_neighbours(space, donors, profiles)
    return EmbeddingScores(
        len(examples), algorithms, tuple(metrics), tuple(similarity), *likeness, _static_ms(space.model, examples)
    )


def likeness_of_neighbours(
    space: NestSpace,
    donors: Sequence[StoredDonor],
    profiles: Mapping[str, Sequence[float]],
) -> tuple[int, tuple[LikenessScore, ...]]:
    """(how many donors asked, scores of each space): of donors that no training saw, whatever it learned from."""
    placed: list[tuple[StoredDonor, npt.NDArray[np.float32], npt.NDArray[np.float32]]] = []
    for target in dict.fromkeys(d.target for d in donors):
        of_target = [d for d in donors if d.target == target]
        nests = [(Replayer(parse_nest(d.text)), d.sizes) for d in of_target]
        static = space.vectors(nests, target)
        profiled = space.vectors(nests, target, [profiles.get(d.nest_id) for d in of_target])
        for d, v, w in zip(of_target, static, profiled, strict=True):
            if v is not None and w is not None:
                placed.append((d, v, w))
    asked = [n for n, (d, *_) in enumerate(placed) if not is_generated(d.algorithm) or part_of(d.algorithm) == "test"]
    if not asked:
        return 0, ()
    recipes = [good_recipes(d) for d, *_ in placed]
    between = np.array([[likeness(one, other) for other in recipes] for one in recipes], dtype=np.float32)
    names = [d.algorithm for d, *_ in placed]
    static_rows, profiled_rows = np.stack([v for _, v, _ in placed]), np.stack([w for *_, w in placed])
    spaces = {"all parts": static_rows}
    spaces |= {f"{name} part": static_rows[:, part] for name, part in parts(static_rows.shape[1]).items()}
    if any(d.nest_id in profiles for d, *_ in placed):
        spaces[_BEHAVING] = spaces["learned part, with profile"] = profiled_rows[:, :DIMENSION]
    spaces["at random"] = np.random.default_rng(0).standard_normal((len(placed), 8)).astype(np.float32)
    places = {d.nest_id: m for m, (d, *_) in enumerate(placed)}
    counted = [m for m, (d, *_) in enumerate(placed) if d.nest_id in profiles]
    behaviour = VectorIndex.build(
        [placed[m][0].nest_id for m in counted], profiled_rows[counted, :DIMENSION], space.space_id
    )
    index = VectorIndex.build(tuple(places), static_rows, space.space_id)
    source = Donors({d.nest_id: d for d, *_ in placed}, index, lambda: behaviour)
    scores = []
    for name, rows in spaces.items():
        means, bests = [], []
        for n in asked:
            first = static_rows if name == _BEHAVING else rows
            distances = np.linalg.norm(first - first[n], axis=1)
            order = [m for m in np.argsort(distances, kind="stable") if not related(names[m], names[n])]
            if name == _BEHAVING:
                found = [Found(placed[m][0], float(distances[m])) for m in order[: BESIDE * DONORS]]
                order = [places[one.donor.nest_id] for one in behaving([source], found, rows[n], slice(None))]
            order = order[:DONORS]
            near = between[n, order]
            near = near[np.isfinite(near)]
            if len(near):
                means.append(float(near.mean()))
                bests.append(float(near.max()))
        scores.append(LikenessScore(name, float(np.mean(means)), float(np.mean(bests))))
    return len(asked), tuple(scores)


def _run(
    model: EmbedsNests, examples: Sequence[Example], profiles: Sequence[tuple[float, ...] | None]
) -> tuple[Matrix, npt.NDArray[np.float32]]:
    """(scaled predictions [n, 20], vectors [n, 128]), each example on its own machine."""
    rows = np.full((len(examples), len(targets())), np.nan)
    vectors = np.zeros((len(examples), 128), dtype=np.float32)
    by_machine: dict[Any, list[int]] = {}
    for n, example in enumerate(examples):
        by_machine.setdefault(example.machine, []).append(n)
    for machine, numbers in by_machine.items():
        graphs = [examples[n].graph for n in numbers]
        given = [profiles[n] for n in numbers]
        rows[numbers] = scale_metrics(model.predict(graphs, given, machine))
        vectors[numbers] = np.stack([e.vector for e in model.embed(graphs, given, machine)])
    return rows, vectors


def _static_ms(model: EmbedsNests, examples: Sequence[Example]) -> tuple[float, float]:
    found = []
    for example in examples:
        if example.target is not None:
            nest = parse_nest(example.text)
            began = time.perf_counter()
            model.embed([encode(nest, example.sizes)], None, example.target)
            found.append(1e3 * (time.perf_counter() - began))
    return (float(np.median(found)), max(found)) if found else (float("nan"), float("nan"))


def pearson(predicted: Matrix, measured: Matrix) -> float:
    """Over what is known of both; NaN where there is no spread."""
    known = np.isfinite(predicted) & np.isfinite(measured)
    if known.sum() < 2 or np.ptp(measured[known]) == 0 or np.ptp(predicted[known]) == 0:
        return float("nan")
    return float(np.corrcoef(predicted[known], measured[known])[0, 1])


def similarities(vectors: npt.NDArray[np.float32], values: Matrix) -> tuple[float, ...]:
    """For each metric of SIMILARITY the mean over nests of std / mean among a nest and its nearest neighbours.

    Nests whose neighbours all have 0 vary by 0; those where the metric is unknown are left out.
    """
    ids = [str(n) for n in range(len(vectors))]
    index = VectorIndex.build(ids, np.ascontiguousarray(vectors, dtype=np.float32), "bench")
    names = [target.name for target in targets()]
    near = np.array(
        [
            [n, *(int(f.id) for f in index.search(vectors[n], NEIGHBOURS + 1) if int(f.id) != n)][: NEIGHBOURS + 1]
            for n in range(len(vectors))
        ]
    )
    found = []
    for name in SIMILARITY:
        groups = values[:, names.index(name)][near]
        groups = groups[np.isfinite(groups).all(axis=1)]
        means = groups.mean(axis=1)
        spread = np.where(means > 0, groups.std(axis=1) / np.where(means > 0, means, 1.0), 0.0)
        found.append(float(spread.mean()) if len(spread) else float("nan"))
    return tuple(found)


def _last_layers(lstm: RecursiveLstmCostModel, examples: Sequence[Example]) -> npt.NDArray[np.float32]:
    """[n, width]; zeros of a nest that the cost model cannot read."""
    width = lstm.network.settings.width
    rows = np.zeros((len(examples), width), dtype=np.float32)
    for n, example in enumerate(examples):
        with contextlib.suppress(SchedulerError):
            if example.target is not None:
                rows[n] = lstm.embed(Replayer(parse_nest(example.text)), example.sizes, example.target)
    return rows


def _reuse(examples: Sequence[Example]) -> npt.NDArray[np.float32]:
    """[n, 3]: of all accesses, the share whose reuse is farther apart than each cache holds: a reuse-distance vector
    at three distances, from the profile."""
    names = feature_names()
    columns = [names.index(f"{c}.sum") for c in ("loads", "stores", "l1_replacements", "l2_lines_in", "memory_reads")]
    rows = np.array([[(e.profile or ())[c] if e.profile else np.nan for c in columns] for e in examples])
    accesses = np.maximum(rows[:, 0] + rows[:, 1], 1.0)
    return np.asarray(np.nan_to_num(rows[:, 2:] / accesses[:, None]), dtype=np.float32)
