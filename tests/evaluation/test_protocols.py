"""Protocols: nests stay on one side, scores say what they count."""

import numpy as np
import pytest

from perfembed.errors import UsageError
from tests.evaluation.protocols import folded, leave_out, scores
from tests.perfembed.learning.test_surrogate import examples


def test_only_other_algorithms_teach_in_leave_out() -> None:
    """What holds inside of an algorithm is learned in k-fold, and cannot be transferred here."""
    inside, across = folded(examples(), "cart", 5, 0), leave_out(examples(), "cart", 1, 6, 0)
    assert inside.accuracy > 0.8 > 0.6 > across.accuracy
    assert across.tested == 6 * 150 and inside.tested == 600
    with pytest.raises(UsageError, match="too few to leave 4 out"):
        leave_out(examples(), "cart", 4, 1, 0)


def test_scores() -> None:
    said = np.array([True, True, False, False, False])
    true = np.array([True, False, True, False, True])
    found = scores(said, true, np.array([0, 0, 0, 1, 1]))
    assert (found.accuracy, found.precision, found.recall, found.saved) == (0.4, 0.5, pytest.approx(1 / 3), 0.6)
    assert found.worst_best == 0.5  # of nest 1 nothing good is left
