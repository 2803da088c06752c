"""How well the surrogate classifier tells schedules worth measuring, on programs that it never saw.

Source: Ganser et al. 2018 (TACO), section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

from perfembed.learning.surrogate import SurrogateExamples, of_matrices, surrogate_examples, trained_classifier
from perfembed.learning.training_data import is_generated
from scheduler.cost.problem import CostModel, Problem
from scheduler.cost.surrogate import NAMES, PROFITABLE, ClassifierKind
from scheduler.errors import SchedulerError
from scheduler.replay import Replayer, ScheduledNest
from tests.evaluation.protocols import ClassifierScores, folded, leave_out, scores

_LEFT_OUT = (1, 5, 10, 20)  # algorithms
_ROUNDS, _FOLDS = 20, 10


@dataclass(frozen=True, slots=True)
class ProtocolScores:
    """One protocol with one classifier. `data`: what it was trained and tested on."""

    classifier: str
    protocol: str
    data: str
    scores: ClassifierScores


@dataclass(frozen=True, slots=True)
class SurrogateResult:
    """`gini`: importance of the nine features for a forest over the sampled matrices, by name, 1 in sum."""

    rows: tuple[ProtocolScores, ...]
    gini: dict[str, float]
    schedules: int
    profitable_share: float


def run_surrogate(
    problems: Sequence[Problem], model: CostModel | None, seed: int, progress: Callable[[str], None]
) -> SurrogateResult:
    """Both protocols on sampled matrices, transfer from these to what searches measured of kernels, and the cost model
    beside them.

    Raises UsageError without data.
    """
    sampled = of_matrices(problems)
    matrices = surrogate_examples(sampled, progress)
    others = [p for p in problems if not is_generated(p.group)]
    kernels = surrogate_examples(others, progress)
    rows: list[ProtocolScores] = []
    kinds: tuple[ClassifierKind, ...] = get_args(ClassifierKind)
    for kind in kinds:
        progress(f"{kind}: leave-p-out and {_FOLDS}-fold")
        for count in _LEFT_OUT:
            found = leave_out(matrices, kind, count, _ROUNDS, seed)
            rows.append(ProtocolScores(kind, f"leave {count} out, {_ROUNDS} draws", "sampled matrices", found))
        rows.append(ProtocolScores(kind, f"{_FOLDS}-fold", "sampled matrices", folded(matrices, kind, _FOLDS, seed)))
        rows.append(
            ProtocolScores(kind, "transfer", "matrices to kernels", _transferred(matrices, kernels, kind, seed))
        )
    if model is not None:
        rows.append(ProtocolScores("cost model", "shipped", "sampled matrices", _predicted(sampled, model)))
        rows.append(ProtocolScores("cost model", "shipped", "kernels", _predicted(others, model)))
    forest = trained_classifier(matrices, "forest", seed)
    return SurrogateResult(
        tuple(rows),
        dict(zip(NAMES, forest.importance, strict=True)),
        len(matrices.good),
        float(matrices.good.mean()),
    )


def _transferred(
    matrices: SurrogateExamples, kernels: SurrogateExamples, kind: ClassifierKind, seed: int
) -> ClassifierScores:
    classifier = trained_classifier(matrices, kind, seed)
    return scores(classifier.probability(kernels.features) >= 0.5, kernels.good, kernels.nests)


def _predicted(problems: Sequence[Problem], model: CostModel) -> ClassifierScores:
    """What is predicted to be at least half as fast as the best prediction of its nest counts as taken."""
    import numpy as np

    said: list[bool] = []
    true: list[bool] = []
    nests: list[int] = []
    for number, problem in enumerate(problems):
        try:
            replayer = Replayer(problem.nest)
            legal = [
                (n, s) for n, s in enumerate(map(replayer.replay, problem.schedules)) if isinstance(s, ScheduledNest)
            ]
            schedules = [s for _, s in legal]
            predicted = model.predict(replayer, problem.parameters, problem.target, schedules, problem.seconds)
        except SchedulerError:
            continue
        best = max((problem.speedups[n] for n, _ in legal), default=0.0)
        for (n, _), speedup in zip(legal, predicted, strict=True):
            said.append(bool(speedup >= PROFITABLE * max(predicted)))
            true.append(problem.speedups[n] >= PROFITABLE * best)
            nests.append(number)
    return scores(np.array(said, dtype=bool), np.array(true, dtype=bool), np.array(nests, dtype=np.intp))
