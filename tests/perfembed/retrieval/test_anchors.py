"""Which recipes every nest is asked."""

from pathlib import Path

from perfembed.retrieval.anchors import choose_anchors, read_anchors, write_anchors
from perfembed.retrieval.donors import StoredDonor
from scheduler.cost.problem import Problem
from scheduler.ir.text import parse_nest
from scheduler.schedule import parse_schedule
from tests.perfembed.transfer_support import GEMM, MACHINE


def test_anchors_cover_what_was_measured() -> None:
    """The second anchor is not the second best in the mean, but what helps where the first one does not."""
    schedules = ["interchange(i, j)", "tile([i, j], [8, 8])", "tile([i], [8])", "parallelize(i)"]
    donors = {
        name: StoredDonor(name, name, GEMM + " " * length, name, "p", "m", MACHINE, {}, "double", (schedule,), (4.0,))
        for name, length, schedule in zip("abcde", (0, 0, 0, 9, 0), [*schedules, schedules[3]], strict=True)
    }
    gains = [(4.0, 3.9, 1.0, 1.0), (4.0, 3.9, 1.0, 1.0), (1.0, 1.0, 1.0, 2.0)]
    parsed = tuple(parse_schedule(schedule) for schedule in schedules)
    problems = [Problem(parse_nest(GEMM), {}, MACHINE, parsed, speedups, "g") for speedups in gains]
    assert choose_anchors(problems, donors, 2) == (("a", 0), ("e", 0))  # of two donors of a kind the smaller one


def test_anchors_are_kept(tmp_path: Path) -> None:
    assert read_anchors(tmp_path) == ()
    write_anchors((("a", 0), ("b", 1)), tmp_path / "folder")
    assert read_anchors(tmp_path / "folder") == (("a", 0), ("b", 1))
