"""Scales, ticks and bars."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfembed.report.charts import Plot, Scale, Segment, bar, chart, logarithmic, number


def test_places() -> None:
    assert [Scale(0, 10).at(v) for v in (-1, 0, 2.5, 10, 99)] == [0, 0, 0.25, 1, 1]
    assert [Scale(1, 100, True).at(v) for v in (0.1, 1, 10, 100)] == [0, 0, 0.5, 1]
    plot = Plot(Scale(0, 10), Scale(0, 1), 122)
    assert (plot.across(5), plot.down(0), plot.down(1)) == ("50.00%", 100, 0)


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 10), (0, 2, 4, 6, 8, 10)),
        (Scale(-3, 21), (0, 5, 10, 15, 20)),
        (Scale(0.5, 40, True), (0.5, 1, 2, 5, 10, 20)),
        (Scale(0.01, 1000, True), (0.01, 0.1, 1, 10, 100, 1000)),
        (Scale(1, 1e12, True), (1, 100, 1e4, 1e6, 1e8, 1e10, 1e12)),
    ],
)
def test_ticks(scale: Scale, ticks: tuple[float, ...]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


@given(st.floats(1e-12, 1e12), st.floats(1.01, 1e9), st.booleans())
def test_ticks_are_within_and_not_too_many(low: float, factor: float, log: bool) -> None:
    scale = Scale(low, low * factor, log)
    ticks = scale.ticks()
    assert len(ticks) <= 12 and all(low * (1 - 1e-6) <= t <= low * factor * (1 + 1e-6) for t in ticks)


def test_a_scale_around_values() -> None:
    scale = logarithmic([2.0, 0.0, math.inf, 8.0], 2, 3)
    assert (scale.low, scale.high) == (1.0, 24.0)
    assert logarithmic([], 2, 2).low < logarithmic([], 2, 2).high


def test_numbers() -> None:
    assert [number(v) for v in (0.02, 1.5, 1000.0, 2e5, 1e-9, 12.3456)] == [
        "0.02",
        "1.5",
        "1000",
        "2e+05",
        "1e-09",
        "12.3",
    ]


def test_bars() -> None:
    parts = bar([Segment("a", 3, 0, "a: 3"), Segment("<b>", 1, 9, "<b>: 1"), Segment("c", 0.1, 2, "c")], 8, 5)
    places = [re.findall(r'x="([\d.]+)%" y="5" width="([\d.]+)%"', part)[0] for part in parts]
    assert places == [("0.000", "37.500"), ("37.500", "12.500"), ("50.000", "1.250")]
    assert "&lt;b&gt;</text>" in parts[1] and 'class="edge c1"' in parts[1] and "<text" not in parts[2]
    assert bar([Segment("a", 1, 0, "a")], 0, 0)


def test_a_chart_says_what_it_is() -> None:
    drawn = chart("n", 10, "a <title>", "said", ["<g/>"])
    assert '<title id="n-title">a &lt;title&gt;</title><desc id="n-text">said</desc>' in drawn
    assert 'aria-labelledby="n-title n-text"' in drawn and 'role="img"' in drawn
