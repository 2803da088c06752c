"""Arithmetic formulas of the data files."""

import math

import pytest

from profilers.contained.errors import ProfilersError
from profilers.formula import evaluate, names


def test_arithmetic() -> None:
    values = {"a": 6.0, "b": 4.0}
    assert evaluate("a + 2*(b - 1)/3 - -1", values) == 9.0
    assert evaluate("1e-9*a", values) == pytest.approx(6e-9)
    assert names("a/(b + 1)") == {"a", "b"}
    assert evaluate("a/max(a, 3*b)", values) == 0.5 and names("a/max(a, 3*b)") == {"a", "b"}
    assert math.isnan(evaluate("max(a, b)", {"a": 1.0, "b": math.nan}))


def test_division_by_nothing() -> None:
    assert evaluate("a/b", {"a": 0.0, "b": 0.0}) == 0.0
    assert math.isnan(evaluate("a/b", {"a": 1.0, "b": 0.0}))
    assert math.isnan(evaluate("a/b", {"a": math.nan, "b": 2.0}))


@pytest.mark.parametrize(
    "formula",
    [
        "a +",
        "a; b",
        "f(a)",
        "max()",
        "max(a, key=a)",
        "max",
        "a.b",
        "a[0]",
        "__import__('os')",
        "a if a else a",
        "'a'",
        "a ** 2",
        "x",
        "lambda: a",
    ],
)
def test_nothing_but_arithmetic(formula: str) -> None:
    with pytest.raises(ProfilersError):
        evaluate(formula, {"a": 1.0})
