"""The surrogate classifier's data, training, and how well it does on nests that it never saw.

Source: Ganser et al. 2018 (TACO), section 6: leave-p-out transfer between programs, and k-fold cross-validation over
the schedules of all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.training_data import is_generated
from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.problem import Problem
from scheduler.cost.surrogate import NAMES, ClassifierKind, SurrogateClassifier, fit_classifier, profitable
from scheduler.errors import SchedulerError
from scheduler.matrices.features import Features
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform import Reschedule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SHIPPED = Path(__file__).parents[1] / "weights" / "surrogate.safetensors"
_FEWEST = 4  # schedules of a nest, to tell a good one from a bad one


@dataclass(frozen=True, slots=True)
class SurrogateExamples:
    """`features` [n, 9], `good` [n]; `nests` and `groups` (algorithms) [n] are numbers."""

    features: npt.NDArray[np.float64]
    good: npt.NDArray[np.bool_]
    nests: npt.NDArray[np.intp]
    groups: npt.NDArray[np.intp]

    def chosen(self, mask: npt.NDArray[np.bool_]) -> SurrogateExamples:
        return SurrogateExamples(self.features[mask], self.good[mask], self.nests[mask], self.groups[mask])


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


def of_matrices(problems: Iterable[Problem]) -> list[Problem]:
    """Those of generated programs whose schedules are sampled matrices for the most part (`populate --search sample`).

    The features are made for these: all are completed alike, so that what tells them apart is their order.
    """
    found = []
    for problem in problems:
        sampled = sum(bool(schedule) and isinstance(schedule[0], Reschedule) for schedule in problem.schedules)
        if 2 * sampled >= len(problem.schedules) and is_generated(problem.group):
            found.append(problem)
    return found


def surrogate_examples(
    problems: Sequence[Problem], progress: Callable[[str], None] = lambda text: None
) -> SurrogateExamples:
    """Features of what was measured; without nests that have few schedules, are not polyhedral, or are too large."""
    import numpy as np

    rows: list[tuple[float, ...]] = []
    good: list[bool] = []
    nests: list[int] = []
    groups: list[int] = []
    numbers: dict[str, int] = {}
    for number, problem in enumerate(problems):
        if number % 200 == 0:
            progress(f"features of {number} of {len(problems)} nests")
        if len(problem.schedules) < _FEWEST:
            continue
        for values, label in _described(problem):
            rows.append(values)
            good.append(label)
            nests.append(number)
            groups.append(numbers.setdefault(problem.group, len(numbers)))
    features = np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))
    return SurrogateExamples(
        features, np.array(good, dtype=bool), np.array(nests, dtype=np.intp), np.array(groups, dtype=np.intp)
    )


def _described(problem: Problem) -> Iterable[tuple[tuple[float, ...], bool]]:
    try:
        replayer = Replayer(problem.nest)
        features = Features(replayer, problem.parameters)
    except SchedulerError:
        return
    for schedule, label in zip(problem.schedules, profitable(problem.speedups), strict=True):
        try:
            found = replayer.replay(schedule)
            if isinstance(found, ScheduledNest):
                yield features.of(found.tree).values, label
        except SchedulerError:
            continue


def trained_classifier(examples: SurrogateExamples, kind: ClassifierKind, seed: int) -> SurrogateClassifier:
    """Every nest counts the same. Raises UsageError without data."""
    if not len(examples.good):
        raise UsageError(
            "there are no labels of sampled matrices to train on",
            "perfembed populate --generate 400 --search sample --schedules 16 makes some",
        )
    import numpy as np

    _, nest, counts = np.unique(examples.nests, return_inverse=True, return_counts=True)
    weights = 1.0 / counts[nest]
    return fit_classifier(kind, examples.features, examples.good, seed, weights * len(weights) / weights.sum())


def own_classifier(folder: str | None) -> Path:
    """In a folder of a user's own models, or what ships."""
    return SHIPPED if folder is None else Path(folder) / SHIPPED.name


def load_classifier(path: Path = SHIPPED) -> SurrogateClassifier:
    """Raises EnvironmentMissing where it is not there or cannot be used."""
    try:
        return SurrogateClassifier.load(path)
    except CheckpointError as problem:
        raise EnvironmentMissing(str(problem), "perfembed train surrogate makes it") from None


# ---------------------------------------------------------------------------------------- protocols


def leave_out(
    examples: SurrogateExamples, kind: ClassifierKind, left_out: int, rounds: int, seed: int
) -> ClassifierScores:
    """Leave-p-out transfer: `rounds` times, so many algorithms drawn at random are tested and the others trained on.

    Raises UsageError where there are not more algorithms than that.
    """
    import numpy as np

    every = np.unique(examples.groups).tolist()
    if len(every) <= left_out:
        raise UsageError(f"{len(every)} algorithms are too few to leave {left_out} out", "give more data")
    rng = random.Random(f"{seed} {left_out}")
    parts = (np.isin(examples.groups, rng.sample(every, left_out)) for _ in range(rounds))
    return _tested(examples, kind, parts, seed)


def folded(examples: SurrogateExamples, kind: ClassifierKind, folds: int, seed: int) -> ClassifierScores:
    """k-fold cross-validation over all schedules: those of one nest are on both sides."""
    import numpy as np

    part = np.random.default_rng(seed).permutation(len(examples.good)) % folds
    return _tested(examples, kind, (part == k for k in range(folds)), seed)


def _tested(
    examples: SurrogateExamples, kind: ClassifierKind, parts: Iterable[npt.NDArray[np.bool_]], seed: int
) -> ClassifierScores:
    import numpy as np

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
    import numpy as np

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
