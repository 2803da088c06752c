"""Our evaluation of trees equals scikit-learn's; damaged forests are refused."""

from typing import Any

import numpy as np
import pytest

from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.forest import Forest


def trained(seed: int, rows: int = 700, trees: int = 25) -> tuple[Any, Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 6)).astype(np.float32)
    features[:, 5] = np.round(features[:, 5])  # values that repeat meet thresholds exactly
    labels = features[:, 0] * features[:, 5] + np.abs(features[:, 1]) + 0.1 * rng.normal(size=rows)
    model = HistGradientBoostingRegressor(max_iter=trees, max_leaf_nodes=15, random_state=seed, early_stopping=False)
    with threadpool_limits(1, "openmp"):
        return model.fit(features, labels), features


def test_equals_sklearn() -> None:
    model, features = trained(1, rows=1300)
    forest = Forest.of_sklearn([model])
    assert len(forest.roots) == 25
    np.testing.assert_allclose(forest.predict(features), model.predict(features), rtol=0, atol=1e-12)
    stages = np.stack(list(model.staged_predict(features[:99])), axis=1)
    np.testing.assert_allclose(forest.staged(features[:99]), stages, rtol=0, atol=1e-12)
    assert forest.predict(features[:0]).shape == (0,)
    np.testing.assert_allclose(forest.predict(features[:1]), model.predict(features[:1]), atol=1e-12)


def test_several_models_give_their_mean() -> None:
    (first, features), (second, _) = trained(1), trained(2, trees=7)
    mean = (first.predict(features) + second.predict(features)) / 2
    np.testing.assert_allclose(Forest.of_sklearn([first, second]).predict(features), mean, atol=1e-12)


def test_constant() -> None:
    assert Forest.constant(0.5).predict(np.zeros((3, 4))).tolist() == [0.5] * 3


def test_tensors_round_trip_and_are_checked() -> None:
    model, features = trained(3, trees=4)
    forest = Forest.of_sklearn([model])
    tensors = forest.tensors
    assert np.array_equal(Forest.of_tensors(tensors, 6).predict(features), forest.predict(features))
    empty = Forest.constant(1.0)
    assert Forest.of_tensors(empty.tensors, 6).predict(features[:2]).tolist() == [1.0, 1.0]
    loop = tensors["left"].copy()
    loop[tensors["left"][0]] = 0  # back to the root
    beyond = np.full_like(tensors["right"], len(tensors["value"]))
    for damaged in (
        {**tensors, "left": loop},
        {**tensors, "right": beyond},
        {**tensors, "feature": tensors["feature"] + 6},
        {**tensors, "value": tensors["value"][:-1]},
        {**tensors, "value": tensors["value"].astype(np.float32)},
        {name: array for name, array in tensors.items() if name != "roots"},
    ):
        with pytest.raises(CheckpointError, match="forest"):
            Forest.of_tensors(damaged, 6)
