"""Dependences as rows: their direction, what carries them, and their drawing."""

from dataclasses import replace

import pytest

from perfembed.report.dependences import carried_by, dependence_parts, direction
from tests.perfembed.report.tuned import ANTI, CARRIED, FREE


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(0, 0, "="), (1, None, "<"), (2, 5, "<"), (None, -1, ">"), (0, 3, "<="), (0, None, "<="), (-2, 0, ">="),
     (None, 0, ">="), (None, None, "*"), (-1, 1, "*")],
)  # fmt: skip
def test_direction(low: int | None, high: int | None, sign: str) -> None:
    assert direction(low, high) == sign


def test_what_carries_it() -> None:
    assert carried_by(CARRIED) == "k"
    assert carried_by(FREE) == "no common loop"
    assert carried_by(replace(CARRIED, distance=(("i", 0, 0),))) == "no loop"
    assert carried_by(replace(CARRIED, distance=(("i", 0, None), ("k", 1, 1)))) == "i or k"
    assert carried_by(replace(CARRIED, distance=(("i", None, None),))) == "i or no loop"
    assert carried_by(replace(CARRIED, distance=(("i", -1, -1), ("k", 1, 1)))) == "i"


def test_rows() -> None:
    page = "".join(dependence_parts((CARRIED, ANTI, FREE)))
    assert page.count("<svg") == 1 and "flow, anti" in page and "(0, &gt;=1)" in page
    assert "i: the same value, k: a greater value" in page and page.count('class="arrow carries"') == 1
    assert page.count("(reduction) (may)") == page.count("(may)") == 1
    assert "S0(0, 0) -&gt; S1(0, 1)" in page
    assert "independent of each other" in dependence_parts(())[0]
    many = tuple(replace(CARRIED, array=f"a{k}") for k in range(50))
    assert "… and 10 more" in dependence_parts(many)[-1]
