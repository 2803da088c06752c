"""Where a nest stands below the machine's limits."""

from dataclasses import replace

import pytest

from perfembed.report.roofline import roofline_parts, size, usable
from perfembed.tuning.pictures import NestPicture, NestWork
from perfembed.tuning.result import NestReport
from tests.perfembed.report.tuned import CEILINGS, PICTURE, TUNED


def with_work(**changes: float | None) -> NestReport:
    assert PICTURE.work is not None
    return replace(TUNED, picture=replace(PICTURE, work=replace(PICTURE.work, **changes)))


def test_points() -> None:
    """2 GFLOP in 1 s with 1 GB, then in 0.164 s with 0.1 GB; memory allows 2 * 40 GFLOP/s, then vectors 100."""
    page = "".join(roofline_parts("r", TUNED, CEILINGS, 2))
    assert "as written: 2 FLOP/byte, 2 GFLOP/s, 2.5 % of what memory and vectors allow" in page
    assert "as tuned: 20 FLOP/byte, 12.2 GFLOP/s, 12.2 % of what memory and vectors allow" in page
    assert "vector peak, double: 100 GFLOP/s" in page and "memory 40 GB/s" in page and "least traffic" in page
    assert "2026-11-24 10:00:00 UTC" in page and "too low" not in page
    assert "too low" in "".join(roofline_parts("r", TUNED, replace(CEILINGS, noisy=True), 2))


def test_precision() -> None:
    assert "vector peak, float: 200 GFLOP/s" in "".join(roofline_parts("r", with_work(single=1.5e9), CEILINGS, 2))


def test_without_a_calibration_it_says_how_to_get_one() -> None:
    page = "".join(roofline_parts("r", TUNED, None, 3))
    assert "perfembed doctor --calibrate" in page and "for 3 threads" in page
    assert "<svg" not in page and "12.2" in page and "of what memory" not in page


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (replace(TUNED, picture=NestPicture(problem="its data decide how much it computes")), "its data decide"),
        (replace(TUNED, picture=None), "was not counted"),
        (with_work(flops=0.0), "no floating-point operations"),
        (with_work(original_bytes=None, tuned_bytes=None), "neither"),
        (replace(TUNED, original_s=None, tuned_s=0.0), "neither"),
    ],
)
def test_where_it_cannot_be_drawn(report: NestReport, said: str) -> None:
    page = "".join(roofline_parts("r", report, CEILINGS, 2))
    assert said in page and "<svg" not in page


@pytest.mark.parametrize(
    "work", [NestWork(1e30, 0, 1, 1, None), NestWork(1e-9, 0, 1e300, 1e-300, 1e-300), NestWork(5, 5, 1e9, 1e9, 0.0)]
)
def test_any_numbers_can_be_drawn(work: NestWork) -> None:
    assert roofline_parts("r", replace(TUNED, picture=replace(PICTURE, work=work)), CEILINGS, 2)


def test_what_can_be_drawn_of_a_document() -> None:
    assert usable(CEILINGS) and not usable(None)
    assert not usable(replace(CEILINGS, levels=())) and not usable(replace(CEILINGS, peaks=CEILINGS.peaks[:3]))
    assert not usable(replace(CEILINGS, levels=(replace(CEILINGS.levels[0], bandwidth_gbs=0.0),)))


def test_sizes() -> None:
    assert [size(v) for v in (96, 1536, 3 << 20, 5e9)] == ["96 B", "1.5 KiB", "3 MiB", "4.66 GiB"]
