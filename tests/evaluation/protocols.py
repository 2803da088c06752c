"""How well a classifier of schedules does on nests that it never saw.

Source: Ganser et al. 2018 (TACO), section 6: leave-p-out transfer between programs, and k-fold cross-validation over
the schedules of all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfembed.errors import UsageError
from perfembed.learning.surrogate import SurrogateExamples, trained_classifier
from scheduler.cost.surrogate import ClassifierKind


@dataclass(frozen=True, slots=True)
class ClassifierScores:
    """Of `tested` schedules: the share that is classified right; of those taken for profitable, how many are; of those
    that are, how many are taken for it; how many are not taken, which measuring them would save.

    `worst_best`: of the nests, the share none of whose profitable schedules is taken.
    """

    tested: int
    profitable: float
    accuracy: float
    precision: float
    recall: float
    saved: float
    worst_best: float


def leave_out(
    examples: SurrogateExamples, kind: ClassifierKind, left_out: int, rounds: int, seed: int
) -> ClassifierScores:
    """Leave-p-out transfer: `rounds` times, so many algorithms drawn at random are tested and the others trained on.

    Raises UsageError where there are not more algorithms than that.
    """
    every = np.unique(examples.groups).tolist()
    if len(every) <= left_out:
        raise UsageError(f"{len(every)} algorithms are too few to leave {left_out} out", "give more data")
    rng = random.Random(f"{seed} {left_out}")
    parts = (np.isin(examples.groups, rng.sample(every, left_out)) for _ in range(rounds))
    return _tested(examples, kind, parts, seed)


def folded(examples: SurrogateExamples, kind: ClassifierKind, folds: int, seed: int) -> ClassifierScores:
    """k-fold cross-validation over all schedules: those of one nest are on both sides."""
    part = np.random.default_rng(seed).permutation(len(examples.good)) % folds
    return _tested(examples, kind, (part == k for k in range(folds)), seed)


def _tested(
    examples: SurrogateExamples, kind: ClassifierKind, parts: Iterable[npt.NDArray[np.bool_]], seed: int
) -> ClassifierScores:
    said: list[npt.NDArray[np.bool_]] = []
    true: list[npt.NDArray[np.bool_]] = []
    nests: list[npt.NDArray[np.intp]] = []
    for number, part in enumerate(parts):
        classifier = trained_classifier(examples.chosen(~part), kind, seed)
        said.append(classifier.probability(examples.features[part]) >= 0.5)
        true.append(examples.good[part])
        nests.append(examples.nests[part] + number * (int(examples.nests.max()) + 1))
    return scores(np.concatenate(said), np.concatenate(true), np.concatenate(nests))


def scores(said: npt.NDArray[np.bool_], true: npt.NDArray[np.bool_], nests: npt.NDArray[np.intp]) -> ClassifierScores:
    """All [n]: what is taken for profitable, what is, and of which nest."""
    both = said & true
    having = np.unique(nests[true])
    kept = np.unique(nests[both])
    return ClassifierScores(
        tested=len(true),
        profitable=float(true.mean()),
        accuracy=float((said == true).mean()),
        precision=float(both.sum() / max(said.sum(), 1)),
        recall=float(both.sum() / max(true.sum(), 1)),
        saved=float((~said).mean()),
        worst_best=1 - len(kept) / max(len(having), 1),
    )
