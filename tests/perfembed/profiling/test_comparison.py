"""Simulated counters beside counted ones: here those of a replayed LIKWID."""

from pathlib import Path

import pytest

from perfembed.profiling.comparison import ALGORITHMS, NestCounts, compare_counters, compared_donors
from perfembed.report.profiles import comparison_lines
from profilers.build import CompilerConfig
from profilers.likwid import LikwidBackend
from profilers.machine import describe_machine
from tests.profilers.test_likwid import replayed


def test_a_nest_of_each_algorithm_ships() -> None:
    assert [donor.algorithm for donor in compared_donors()] == list(ALGORITHMS)


@pytest.mark.gcc
def test_a_shipped_nest_is_counted_by_both(tmp_path: Path) -> None:
    environment = replayed(tmp_path / "likwid")
    compiler = CompilerConfig("gcc", ("-O1", "-fopenmp"))
    heard: list[str] = []
    found = compare_counters(
        LikwidBackend(package=False), compared_donors(("spmv",)), 1, compiler, describe_machine(), environment,
        tmp_path / "work", heard.append,
    )  # fmt: skip
    (nest,) = found.nests
    assert found.source == "likwid" and nest.name == "spmv" and not nest.problem and heard == ["spmv: 1 of 1"]
    assert 1000 <= nest.measured["instructions"] < 1010  # as replayed
    assert nest.simulated["loads"] > 1e4
    rows = {name: (least, median, greatest, count) for name, least, median, greatest, count in found.rows()}
    assert rows["loads"] == (nest.ratio("loads"),) * 3 + (1,)
    lines = comparison_lines(found, "a machine")
    assert lines[0].startswith("counters of likwid on a machine") and any("loads" in line for line in lines)
    assert any("whole sockets" in line for line in lines)


@pytest.mark.gcc
def test_what_cannot_be_compared_says_so(tmp_path: Path) -> None:
    environment = replayed(tmp_path / "likwid")
    found = compare_counters(
        LikwidBackend(package=False), compared_donors(("spmv",)), 1000, CompilerConfig("gcc", ("-O1", "-fopenmp")),
        describe_machine(), environment, tmp_path / "work",
    )  # fmt: skip
    assert found.nests[0].problem and list(found.rows()) == []
    assert any(line.startswith("  spmv: ") for line in comparison_lines(found, "a machine"))


@pytest.mark.parametrize(
    ("simulated", "measured", "ratio"),
    [(2e6, 1e6, 2.0), (0.0, 2e6, 0.0), (5.0, 10.0, None), (1e6, 0.0, None), (None, 1e6, None)],
)
def test_ratios_are_of_what_happened(simulated: float | None, measured: float, ratio: float | None) -> None:
    nest = NestCounts("n", {}, {} if simulated is None else {"loads": simulated}, {"loads": measured})
    assert nest.ratio("loads") == pytest.approx(ratio if ratio is not None else float("nan"), nan_ok=True)
