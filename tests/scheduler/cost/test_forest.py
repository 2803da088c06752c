"""Our evaluation of trees equals LightGBM's; damaged forests are refused."""

from typing import Any

import numpy as np
import pytest

from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.forest import Forest


def trained(seed: int, rows: int = 700, trees: int = 25) -> tuple[Any, Any]:
    import lightgbm

    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 6)).astype(np.float32)
    features[:, 5] = np.round(features[:, 5])  # values that repeat meet thresholds exactly
    labels = features[:, 0] * features[:, 5] + np.abs(features[:, 1]) + 0.1 * rng.normal(size=rows)
    parameters = {"num_leaves": 15, "seed": seed, "verbose": -1, "num_threads": 1, "boost_from_average": False}
    return lightgbm.train(parameters, lightgbm.Dataset(features, labels), num_boost_round=trees), features


def test_equals_lightgbm() -> None:
    model, features = trained(1, rows=1300)
    forest = Forest.of_lightgbm(model, 0.25)
    assert len(forest.roots) == 25
    np.testing.assert_allclose(forest.predict(features), model.predict(features) + 0.25, rtol=0, atol=1e-12)
    stages = np.stack([model.predict(features[:99], num_iteration=k + 1) for k in range(25)], axis=1)
    np.testing.assert_allclose(forest.staged(features[:99]), stages + 0.25, rtol=0, atol=1e-12)
    assert forest.predict(features[:0]).shape == (0,)
    np.testing.assert_allclose(forest.predict(features[:1]), model.predict(features[:1]) + 0.25, atol=1e-12)


def test_several_models_give_their_mean() -> None:
    (first, features), (second, _) = trained(1), trained(2, trees=7)
    mean = (first.predict(features) + second.predict(features)) / 2
    found = Forest.mean([Forest.of_lightgbm(first, 1.0), Forest.of_lightgbm(second, -1.0)])
    np.testing.assert_allclose(found.predict(features), mean, atol=1e-12)


def test_constant() -> None:
    assert Forest.constant(0.5).predict(np.zeros((3, 4))).tolist() == [0.5] * 3


def test_tensors_round_trip_and_are_checked() -> None:
    model, features = trained(3, trees=4)
    forest = Forest.of_lightgbm(model, 0.0)
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
