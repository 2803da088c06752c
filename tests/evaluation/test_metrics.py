"""Metrics against values worked out by hand."""

import math

import numpy as np
import pytest

from tests.evaluation.metrics import absolute_errors, ndcg, regret, score, spearman

Y = np.array([4.0, 2.0, 1.0])


def test_errors() -> None:
    predicted = np.array([5.0, 1.0, 1.0])
    assert absolute_errors(Y, predicted, np.array([False] * 3)) == pytest.approx([0.25, 0.5, 0.0])
    assert absolute_errors(Y, predicted, np.array([True] * 3)) == pytest.approx([0.25, 0.0, 0.0])
    found = score([Y], [predicted])
    assert (found.mape, found.median_ape) == pytest.approx((0.25, 0.25))


def test_mape_of_runs_that_were_given_up() -> None:
    found = score([Y, Y], [[8.0, 1.0, 1.0], [8.0, 1.0, 1.0]], [(), (0, 1)])  # right below the limit, not above
    assert found.mape == pytest.approx((1.0 + 0.5 + 0.0 + 1.0 + 0.0 + 0.0) / 6)


def test_spearman() -> None:
    assert spearman(Y, np.array([9.0, 8.0, 1.0])) == pytest.approx(1.0)
    assert spearman(Y, np.array([1.0, 2.0, 3.0])) == pytest.approx(-1.0)
    # ranks 1 2 3 4 against 2 1 4 3: 1 - 6 * 4 / (4 * 15)
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 4, 3])) == pytest.approx(0.6)
    # ranks 1 2.5 2.5 4 against 1 2 3 4: 4.5 / sqrt(4.5 * 5)
    assert spearman(np.array([1.0, 2, 2, 4]), np.array([1.0, 2, 3, 4])) == pytest.approx(4.5 / math.sqrt(22.5))
    assert spearman(Y, np.ones(3)) == 0.0


def test_ndcg() -> None:
    best = 4 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    worst = 1 / math.log2(2) + 2 / math.log2(3) + 4 / math.log2(4)
    assert ndcg(Y, np.array([3.0, 2.0, 1.0])) == pytest.approx(1.0)
    assert ndcg(Y, np.array([1.0, 2.0, 3.0])) == pytest.approx(worst / best)
    assert ndcg(Y, np.array([2.0, 3.0, 1.0]), 1) == pytest.approx(2 / 4)
    swapped = (2 / math.log2(2) + 4 / math.log2(3)) / (4 / math.log2(2) + 2 / math.log2(3))
    assert ndcg(Y, np.array([2.0, 3.0, 1.0]), 2) == pytest.approx(swapped)
    assert ndcg(Y, np.array([2.0, 3.0, 1.0]), 10) == ndcg(Y, np.array([2.0, 3.0, 1.0]))


def test_regret() -> None:
    assert regret(Y, np.array([1.0, 3.0, 2.0]), 1) == pytest.approx(0.5)
    assert regret(Y, np.array([1.0, 2.0, 3.0]), 2) == pytest.approx(0.5)
    assert regret(Y, np.array([1.0, 2.0, 3.0]), 5) == 0.0


def test_equal_predictions_earn_nothing() -> None:
    assert regret(Y, np.ones(3), 1) == pytest.approx(0.75) and ndcg(Y, np.ones(3), 1) == pytest.approx(0.25)


def test_programs_count_the_same() -> None:
    found = score([Y, [1.0, 2.0], [3.0], [5.0, 5.0]], [[1.0, 2.0, 4.0], [1.0, 2.0], [6.0], [5.0, 4.0]])
    assert (found.programs, found.labels) == (4, 8)
    assert found.mape == pytest.approx((0.75 + 0 + 3 + 0 + 0 + 1 + 0 + 0.2) / 8)
    assert found.spearman_program == pytest.approx((-1 + 1) / 2)  # the third and fourth have no order
    assert found.regret_1 == pytest.approx((0.75 + 0) / 2) and found.regret_5 == 0.0
    assert found.ndcg_1 == pytest.approx((0.25 + 1) / 2)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="prediction"):
        score([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="some"):
        score([], [])
    assert math.isnan(score([[1.0]], [[1.0]]).ndcg)
