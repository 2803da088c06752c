"""Training of the boosted trees.

Every nest counts the same however many of its schedules were measured, and stands in the data twice: with the measured
time of the original as an input and, with less weight, without. Training finds the number of trees on held-out groups,
then uses all the data. The same problems and seed give the same model on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scheduler.cost.boosted import BoostedCostModel
from scheduler.cost.feature_table import NAMES, Examples, Objective
from scheduler.cost.features import FeatureExtractor
from scheduler.cost.forest import Forest
from scheduler.cost.problem import Problem
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.tree import TreeNode
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.contraction import Contractor
from scheduler.polyhedral.model import Model
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform.initial import initial_tree

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

SLOWEST, FASTEST = 0.01, 1000.0  # speedups beyond count as these
_ALONE = 100  # trees when there are no groups to hold out
_UNTIMED = 0.25  # weight of an example whose nest's time is hidden
_SPREAD = (0.1, 0.9)


@dataclass(frozen=True, slots=True)
class BoostedSettings:
    """`members`: models with different draws of features whose mean is taken. `folds` choose the number of trees.

    `order`: weight of the pairs beside that of the error. `threads` have no influence on the result.
    """

    rate: float = 0.05
    most_trees: int = 600
    leaves: int = 24
    smallest_leaf: int = 12
    l2: float = 2.0
    feature_share: float = 0.3
    order: float = 1.0
    members: int = 3
    folds: int = 4
    threads: int = 1


_FINETUNING = BoostedSettings(most_trees=200, leaves=8)


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
    added = fit_boosted(examples, seed, settings or _FINETUNING, start.forest.predict(examples.features))
    card = {**added.card, "start": dict(start.card)}
    return BoostedCostModel(start.forest.plus(added.forest), card)


def fit_boosted(
    examples: Examples, seed: int, settings: BoostedSettings = BoostedSettings(), before: Floats | None = None
) -> BoostedCostModel:
    """`train_boosted` on features made before; the model is of what is missing to the logarithms `before` [n].

    Raises ValueError where there are none.
    """
    count = len(examples.logs)
    if not count:
        raise ValueError("no labels to train on")
    before = np.zeros(count) if before is None else before
    card: dict[str, Any] = {
        "labels": int((examples.features[:, NAMES.index("timed")] > 0).sum()) or count,
        "nests": len(set(examples.nests.tolist())),
        "groups": len(set(examples.groups.tolist())),
        "seed": seed,
        "settings": asdict(settings),
    }
    if count < 2 or np.ptp(examples.logs - before) == 0.0:
        constant = Forest.constant(float((examples.logs - before).mean()))
        return BoostedCostModel(constant, {**card, "trees": 0})
    trees, error, spread = _best_size(examples, before, seed, settings)
    everything = np.ones(count, dtype=bool)
    models = [_fit(examples, before, everything, trees, seed + k, settings) for k in range(settings.members)]
    forest = Forest.mean(models)
    found = {"trees": len(forest.roots), "held_out_rmse_log": error, "held_out_spread": spread}
    return BoostedCostModel(forest, {**card, **found})


def make_examples(problems: Iterable[Problem]) -> Examples:
    """Features of everything that was measured; without labels that are no positive numbers and nests beyond isl."""
    rows: list[npt.NDArray[np.float32]] = []
    logs: list[float] = []
    nests: list[int] = []
    groups: list[int] = []
    limits: list[bool] = []
    weights: list[float] = []
    numbers: dict[str, int] = {}
    for number, problem in enumerate(problems):
        merged: dict[bytes, list[tuple[float, bool]]] = {}
        try:
            vectors, extractor = features_of(problem)
        except SchedulerError:
            continue
        for n, vector in vectors:
            speedup = problem.speedups[n]
            if math.isfinite(speedup) and speedup > 0:
                label = math.log(min(max(speedup, SLOWEST), FASTEST))
                merged.setdefault(vector.tobytes(), []).append((label, n in problem.given_up))
        if not merged:
            continue
        known = np.stack([np.frombuffer(key, dtype=np.float32) for key in merged])
        versions = [(known, 1.0)]
        if problem.seconds is not None:
            versions.append((extractor.without_time(known), _UNTIMED))
        for features, weight in versions:
            rows.append(features)
            logs += [sum(label for label, _ in labels) / len(labels) for labels in merged.values()]
            limits += [all(given_up for _, given_up in labels) for labels in merged.values()]
            nests += [number] * len(features)
            groups += [numbers.setdefault(problem.group, len(numbers))] * len(features)
            weights += [weight / len(features)] * len(features)
    features = np.concatenate(rows) if rows else np.zeros((0, len(NAMES)), dtype=np.float32)
    total = sum(weights) or 1.0
    return Examples(
        features,
        np.array(logs),
        np.array(nests, dtype=np.intp),
        np.array(groups, dtype=np.intp),
        np.array(limits, dtype=bool),
        np.array(weights) * len(weights) / total,
    )


def features_of(problem: Problem) -> tuple[list[tuple[int, npt.NDArray[np.float32]]], FeatureExtractor]:
    """(number, features) of every schedule that applies; what was measured is legal and not proved so again."""
    nest = expand_privates(problem.nest)
    model = Model(nest)
    extractor = FeatureExtractor(model, problem.parameters, problem.target)
    contractor = Contractor(model)
    trees: dict[Schedule, tuple[TreeNode, ...]] = {(): initial_tree(nest)}

    def tree_of(schedule: Schedule) -> tuple[TreeNode, ...]:
        if schedule not in trees:
            trees[schedule] = schedule[-1].apply(tree_of(schedule[:-1]))
        return trees[schedule]

    found: list[tuple[int, npt.NDArray[np.float32]]] = []
    for n, schedule in enumerate(problem.schedules):
        try:
            tree = tree_of(schedule)
        except NotApplicable:
            continue
        scheduled = ScheduledNest(nest, tree, schedule, contractor.contracted(tree))
        found.append((n, extractor.vector(scheduled, problem.seconds)))
    return found, extractor


def _best_size(
    examples: Examples, before: Floats, seed: int, settings: BoostedSettings
) -> tuple[int, float | None, tuple[float, float] | None]:
    """(number of trees with the least error on held-out groups, that error, spread of measured - predicted)."""
    groups = np.unique(examples.groups)
    folds = min(settings.folds, len(groups))
    if folds < 2:
        return min(_ALONE, settings.most_trees), None, None
    order = np.random.default_rng(seed).permutation(len(groups))
    fold_of = np.empty(len(groups), dtype=np.intp)
    fold_of[order] = np.arange(len(groups)) % folds
    fold = fold_of[np.searchsorted(groups, examples.groups)]
    staged = np.zeros((len(fold), settings.most_trees), dtype=np.float32)
    for k in range(folds):
        held = fold == k
        model = _fit(examples, before, ~held, settings.most_trees, seed, settings)
        stages = model.staged(examples.features[held])
        grown = np.minimum(np.arange(settings.most_trees), stages.shape[1] - 1)  # it may have found nothing more
        staged[held] = stages[:, grown] if stages.shape[1] else model.baseline
    residuals = (examples.logs - before)[:, None] - staged
    wrong = np.where(examples.limits[:, None], np.minimum(residuals, 0.0), residuals)
    errors = (examples.weights[:, None] * wrong**2).sum(0)
    best = int(np.argmin(errors))
    known = ~examples.limits
    sorting = np.argsort(residuals[known, best])
    total = np.cumsum(examples.weights[known][sorting])
    low, high = (residuals[known, best][sorting][np.searchsorted(total, q * total[-1])] for q in _SPREAD)
    return best + 1, math.sqrt(errors[best] / examples.weights.sum()), (float(low), float(high))


def _fit(
    examples: Examples,
    before: Floats,
    chosen: npt.NDArray[np.bool_],
    trees: int,
    seed: int,
    settings: BoostedSettings,
) -> Forest:
    import lightgbm

    own = examples.of(chosen)
    constant = float(np.average(own.logs - before[chosen], weights=own.weights))
    if len(own.logs) < 2 * settings.smallest_leaf:  # nothing to split
        return Forest.constant(constant)
    data = lightgbm.Dataset(own.features, own.logs, init_score=before[chosen] + constant)
    parameters = {
        "objective": Objective(own, settings.order),
        "learning_rate": settings.rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": settings.smallest_leaf,
        "min_sum_hessian_in_leaf": 0.0,
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "lambda_l2": settings.l2,
        "feature_fraction_bynode": settings.feature_share,
        "num_threads": settings.threads,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    return Forest.of_lightgbm(lightgbm.train(parameters, data, num_boost_round=trees), constant)
