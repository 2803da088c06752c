"""Candidates over time."""

from dataclasses import replace

from perfembed.report.timeline import best_so_far, timeline_parts
from perfembed.tuning.pictures import TrialReport
from tests.perfembed.report.tuned import TRIALS, TUNED


def test_the_best_so_far_leaves_out_what_failed_or_was_stopped() -> None:
    assert best_so_far(TRIALS) == [(1.0, 0.8), (2.0, 0.164)]
    assert best_so_far([TrialReport(1, "", 1.0, given_up=True), TrialReport(2, "", None)]) == []


def test_drawing_and_table() -> None:
    page = "".join(timeline_parts("t", TUNED))
    for said in (
        "5 candidates in 3 s, 1 of them failed", "as written: 1 s", "best: 164 ms", "found after 2 s",
        "after 2.5 s: stopped, it takes more than 200 ms, 5.00x: unroll(k, 4)", "900 ms, 1.11x on less work",
    ):  # fmt: skip
        assert said in page, said
    shapes = ['class="dot" d="M-5', 'class="dot" d="M0 -6', 'class="open"', 'class="fail"', 'class="after"']
    assert [page.count(shape) for shape in shapes] == [1] * 5
    assert page.count('<tr class="chosen">') == 1 and page.count("<tr>") == 5  # the head, and four others


def test_with_less() -> None:
    assert "No candidate was run" in timeline_parts("t", replace(TUNED, trials=()))[0]
    (only,) = timeline_parts("t", replace(TUNED, trials=TRIALS[1:2], original_s=None))
    assert "<svg" not in only and "failed" in only and "<details open>" in only
    assert timeline_parts("t", replace(TUNED, trials=(TrialReport(0.0, "x", 1e-300),), original_s=0.0))
    many = replace(TUNED, trials=tuple(TrialReport(float(k), "x", 1.0) for k in range(1000)))
    assert "… and 600 more" in "".join(timeline_parts("t", many))
