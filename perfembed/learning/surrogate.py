"""The surrogate classifier's data and training.

Source: Ganser et al. 2018 (TACO).
"""

from __future__ import annotations

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
