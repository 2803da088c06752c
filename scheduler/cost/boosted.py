"""The scheduled-nest cost model: boosted trees over features of the transformed loop tree predict log speedups.

Training finds the number of trees on held-out groups, then uses all the data; every nest counts the same however
many of its schedules were measured. The same problems and seed give the same model on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.feature_table import NAMES, VERSION
from scheduler.cost.features import FeatureExtractor
from scheduler.cost.forest import Forest
from scheduler.cost.problem import Problem
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.tree import TreeNode
from scheduler.machine.target import Target
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.contraction import Contractor
from scheduler.polyhedral.model import Model
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform.initial import initial_tree

if TYPE_CHECKING:
    import numpy.typing as npt

SLOWEST, FASTEST = 0.01, 1000.0  # speedups beyond count as these
_KIND = "boosted-trees"
_ALONE = 100  # trees when there are no groups to hold out


@dataclass(frozen=True, slots=True)
class BoostedSettings:
    """`members`: models with different draws of features whose mean is taken. `folds` choose the number of trees.

    `threads` have no influence on the result.
    """

    rate: float = 0.05
    most_trees: int = 600
    leaves: int = 24
    smallest_leaf: int = 12
    l2: float = 2.0
    feature_share: float = 0.3
    members: int = 3
    folds: int = 4
    threads: int = 1


_FINETUNING = BoostedSettings(most_trees=200, leaves=8)


@dataclass(frozen=True, slots=True)
class Examples:
    """`features` [n, len(NAMES)], `logs` [n] natural logarithms of speedups, `nests` and `groups` [n] numbers.

    Schedules of one nest with the same features are one example, with the mean of their logarithms.
    """

    features: npt.NDArray[np.float32]
    logs: npt.NDArray[np.float64]
    nests: npt.NDArray[np.intp]
    groups: npt.NDArray[np.intp]


class BoostedCostModel:
    """A `CostModel`; `card` says what it was trained on."""

    def __init__(self, forest: Forest, card: Mapping[str, object]) -> None:
        self.forest = forest
        self.card = dict(card)
        self._extractors: WeakKeyDictionary[Replayer, dict[object, FeatureExtractor]] = WeakKeyDictionary()

    def predict(
        self, replayer: Replayer, parameters: Mapping[str, int], target: Target, schedules: Sequence[ScheduledNest]
    ) -> npt.NDArray[np.float64]:
        """Speedups [len(schedules)] over the nest as written."""
        known = self._extractors.setdefault(replayer, {})
        key = (tuple(sorted(parameters.items())), target)
        if key not in known:
            known[key] = FeatureExtractor(replayer.model, parameters, target)
        return np.exp(self.forest.predict(known[key].matrix(schedules)))

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises CheckpointError."""
        save_checkpoint(path, _KIND, self.forest.tensors, {**self.card, "features": list(NAMES), "version": VERSION})

    @staticmethod
    def load(path: Path) -> BoostedCostModel:
        """Raises CheckpointError for anything but a model over the features of this version."""
        tensors, card = load_checkpoint(path, _KIND)
        if card.get("version") != VERSION or card.get("features") != list(NAMES):
            raise CheckpointError(f"{path}: made for other features: train it again with perfembed train cost")
        try:
            return BoostedCostModel(Forest.of_tensors(tensors, len(NAMES)), card)
        except CheckpointError as problem:
            raise CheckpointError(f"{path}: {problem}") from None


def train_boosted(
    problems: Sequence[Problem], seed: int, settings: BoostedSettings = BoostedSettings()
) -> BoostedCostModel:
    """Raises ValueError without a single usable label."""
    return fit_boosted(make_examples(problems), seed, settings)


def finetune_boosted(
    start: BoostedCostModel, problems: Sequence[Problem], seed: int, settings: BoostedSettings | None = None
) -> BoostedCostModel:
    """Adds trees that predict what `start` gets wrong on these problems: for another machine, with few labels.

    Raises ValueError without a single usable label.
    """
    examples = make_examples(problems)
    if not len(examples.logs):
        raise ValueError("no labels to train on")
    rest = replace(examples, logs=examples.logs - start.forest.predict(examples.features))
    added = fit_boosted(rest, seed, settings or _FINETUNING)
    card = {**added.card, "start": dict(start.card)}
    return BoostedCostModel(start.forest.plus(added.forest), card)


def fit_boosted(examples: Examples, seed: int, settings: BoostedSettings = BoostedSettings()) -> BoostedCostModel:
    """`train_boosted` on features made before. Raises ValueError where there are none."""
    if not len(examples.logs):
        raise ValueError("no labels to train on")
    card: dict[str, Any] = {
        "labels": len(examples.logs),
        "nests": len(set(examples.nests.tolist())),
        "groups": len(set(examples.groups.tolist())),
        "seed": seed,
        "settings": asdict(settings),
    }
    if len(examples.logs) < 2 or np.ptp(examples.logs) == 0.0:
        return BoostedCostModel(Forest.constant(float(examples.logs.mean())), {**card, "trees": 0})
    trees, error = _best_size(examples, seed, settings)
    everything = np.ones(len(examples.logs), dtype=bool)
    models = [_fit(examples, everything, trees, seed + k, settings) for k in range(settings.members)]
    forest = Forest.of_sklearn(models)
    return BoostedCostModel(forest, {**card, "trees": len(forest.roots), "held_out_rmse_log": error})


def make_examples(problems: Iterable[Problem]) -> Examples:
    """Features of everything that was measured; without labels that are no positive numbers and nests beyond isl."""
    rows: list[npt.NDArray[np.float32]] = []
    logs: list[float] = []
    nests: list[int] = []
    groups: list[int] = []
    numbers: dict[str, int] = {}
    for number, problem in enumerate(problems):
        merged: dict[bytes, list[float]] = {}
        found: dict[bytes, npt.NDArray[np.float32]] = {}
        try:
            pairs = list(_features(problem))
        except SchedulerError:
            continue
        for vector, speedup in pairs:
            if math.isfinite(speedup) and speedup > 0:
                key = vector.tobytes()
                found[key] = vector
                merged.setdefault(key, []).append(math.log(min(max(speedup, SLOWEST), FASTEST)))
        for key, labels in merged.items():
            rows.append(found[key])
            logs.append(sum(labels) / len(labels))
            nests.append(number)
            groups.append(numbers.setdefault(problem.group, len(numbers)))
    features = np.stack(rows) if rows else np.zeros((0, len(NAMES)), dtype=np.float32)
    return Examples(features, np.array(logs), np.array(nests, dtype=np.intp), np.array(groups, dtype=np.intp))


def _features(problem: Problem) -> Iterable[tuple[npt.NDArray[np.float32], float]]:
    """(features, speedup) of every schedule that applies; what was measured is legal and not proved so again."""
    nest = expand_privates(problem.nest)
    model = Model(nest)
    extractor = FeatureExtractor(model, problem.parameters, problem.target)
    contractor = Contractor(model)
    trees: dict[Schedule, tuple[TreeNode, ...]] = {(): initial_tree(nest)}

    def tree_of(schedule: Schedule) -> tuple[TreeNode, ...]:
        if schedule not in trees:
            trees[schedule] = schedule[-1].apply(tree_of(schedule[:-1]))
        return trees[schedule]

    for schedule, speedup in zip(problem.schedules, problem.speedups, strict=True):
        try:
            tree = tree_of(schedule)
        except NotApplicable:
            continue
        yield extractor.vector(ScheduledNest(nest, tree, schedule, contractor.contracted(tree))), speedup


def nest_weights(nests: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """[n], of mean 1: the same total for every nest."""
    _, inverse, counts = np.unique(nests, return_inverse=True, return_counts=True)
    weights = 1.0 / counts[inverse]
    return np.asarray(weights * len(nests) / weights.sum(), dtype=np.float64)


def _best_size(examples: Examples, seed: int, settings: BoostedSettings) -> tuple[int, float | None]:
    """(number of trees with the least error on held-out groups, that error), over all folds together."""
    groups = np.unique(examples.groups)
    folds = min(settings.folds, len(groups))
    if folds < 2:
        return min(_ALONE, settings.most_trees), None
    order = np.random.default_rng(seed).permutation(len(groups))
    fold_of = np.empty(len(groups), dtype=np.intp)
    fold_of[order] = np.arange(len(groups)) % folds
    fold = fold_of[np.searchsorted(groups, examples.groups)]
    weights = nest_weights(examples.nests)
    errors = np.zeros(settings.most_trees)
    for k in range(folds):
        held = fold == k
        model = _fit(examples, ~held, settings.most_trees, seed, settings)
        predicted = Forest.of_sklearn([model]).staged(examples.features[held])
        errors += (weights[held, None] * (predicted - examples.logs[held, None]) ** 2).sum(0)
    best = int(np.argmin(errors))
    return best + 1, math.sqrt(errors[best] / weights.sum())


def _fit(examples: Examples, chosen: npt.NDArray[np.bool_], trees: int, seed: int, settings: BoostedSettings) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    model = HistGradientBoostingRegressor(
        learning_rate=settings.rate,
        max_iter=trees,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=settings.smallest_leaf,
        l2_regularization=settings.l2,
        max_features=settings.feature_share,
        early_stopping=False,
        random_state=seed,
    )
    weights = nest_weights(examples.nests[chosen])
    with threadpool_limits(settings.threads, "openmp"):  # more than there are free cores would wait for each other
        return model.fit(examples.features[chosen], examples.logs[chosen], sample_weight=weights)
