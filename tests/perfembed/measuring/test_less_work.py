"""Nests with fewer iterations of their outer loops, which rank candidates as the whole nests do."""

from dataclasses import replace
from pathlib import Path

import pytest

import perfembed.measuring.less_work
from perfembed.capture import CapturedNest, synthesize
from perfembed.measuring.less_work import shorter, touched_only
from perfembed.measuring.measurer import Conditions, Measurer
from profilers.build import CompilerConfig
from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.codegen.emit.workload import plain
from scheduler.fewer import fewer_iterations
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule

PRODUCT = """nest product { param n: int in [1, ?];
array A: double[n][n] restrict const; array B: double[n][n] restrict const; array C: double[n][n] restrict;
for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
S0: C[i][j] = C[i][j] + A[i][k] * B[k][j]; } } } }"""
SUMS = """nest sums { param n: int in [1, ?]; array A: double[3][n][n] restrict const; array s: double[3][n] restrict;
for c: int in [0, 3) step 1 { for i: int in [0, n) step 1 { for j: int in [0, n) step 1 {
S0: s[c][i] = s[c][i] + A[c][i][j]; } } } }"""
COLUMNS = """nest columns { param n: int in [1, ?]; array A: double[n][n] restrict const; array s: double[n] restrict;
for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: s[i] = s[i] + A[j][i]; } } }"""
STEPS = """nest steps { param n: int in [1, ?]; param t: int in [1, ?]; array A: double[n] restrict;
for s: int in [0, t) step 1 { for i: int in [1, n - 1) step 1 { S0: A[i] = A[i - 1] + A[i] + A[i + 1]; } } }"""
SMALL = Target(2, l1_bytes=1 << 10, l2_bytes=2 << 10, l3_bytes=4 << 10)  # every array here is larger


def measurer(folder: Path, text: str, target: Target = SMALL, **values: int) -> Measurer:
    nest = plain(parse_nest(text))
    captured = synthesize(nest, values, 0, folder / "inputs")
    assert isinstance(captured, CapturedNest)
    compiler = CompilerConfig("gcc", ("-O2", "-march=native", "-fopenmp"))
    conditions = Conditions(compiler, 2, target, folder / "work", DEFAULT_ENVIRONMENT, 2, LegalityOptions(), 0)
    return Measurer(nest, Replayer(nest), captured, conditions)


def test_the_outer_loop_is_cut_and_what_it_does_not_reach_is_not_read(tmp_path: Path) -> None:
    found = shorter(measurer(tmp_path, PRODUCT, n=600), 10.0)
    assert found is not None and found.cut == {"i": (128, 600)} and str(found) == "128 of 600 iterations of i"
    filled = {array.name: array.filled for array in found.measurer.captured.arrays}
    assert filled == {"A": 128 * 600, "B": 600 * 600, "C": 128 * 600}


def test_with_more_threads_more_iterations_are_left(tmp_path: Path) -> None:
    product = measurer(tmp_path, PRODUCT, replace(SMALL, threads=4), n=600)
    found = shorter(product, 10.0)
    assert found is not None and found.cut == {"i": (256, 600)}
    assert (
        shorter(replace(product, conditions=replace(product.conditions, target=replace(SMALL, threads=8))), 1.0) is None
    )


def test_a_loop_of_few_iterations_stays_whole_and_one_in_it_is_cut(tmp_path: Path) -> None:
    found = shorter(measurer(tmp_path, SUMS, n=600), 10.0)
    assert found is not None and found.cut == {"i": (128, 600)}


def test_of_a_sequential_loop_fewer_iterations_are_left(tmp_path: Path) -> None:
    found = shorter(measurer(tmp_path, STEPS, n=5000, t=1000), 10.0)
    assert found is not None and found.cut == {"s": (32, 1000)}
    assert {array.filled for array in found.measurer.captured.arrays} == {5000}


@pytest.mark.parametrize(("seconds", "left"), [(0.06, None), (0.2, 250), (0.4, 125), (2.0, 32)])
def test_as_much_is_left_as_can_be_timed(tmp_path: Path, seconds: float, left: int | None) -> None:
    found = shorter(measurer(tmp_path, STEPS, n=5000, t=1000), seconds)
    assert (found.cut["s"][0] if found else None) == left


def test_data_stay_in_the_caches_they_are_in_or_beyond_all(tmp_path: Path) -> None:
    """A product whose B alone is beyond the caches may be cut; sums, whose data are all cut, only as far as that."""
    large = 600 * 600 * 8
    assert shorter(measurer(tmp_path, PRODUCT, replace(SMALL, l3_bytes=large // 3), n=600), 10.0) is not None
    held = replace(SMALL, l3_bytes=2 * large)
    found = shorter(measurer(tmp_path, SUMS, held, n=600), 10.0)  # 8.6 MB: in 11.5 MB and not in 2 KiB
    assert found is not None and found.cut == {"i": (128, 600)}
    half = replace(SMALL, l3_bytes=int(1.4 * large))  # twice as much is less than the data, and more than half of them
    assert shorter(measurer(tmp_path, SUMS, half, n=600), 10.0) is None


def test_where_reading_takes_longer_than_the_nest_less_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first columns lie in all rows."""
    columns = measurer(tmp_path, COLUMNS, n=3000)
    found = shorter(columns, 2.0)
    assert found is not None and found.cut == {"i": (128, 3000)}
    monkeypatch.setattr(perfembed.measuring.less_work, "READ_S", 1.0)
    found = shorter(columns, 2.0)
    assert found is not None and found.cut == {"j": (93, 3000)} and found.bytes < 3000 * 3000


def test_a_schedule_of_the_whole_nest_has_a_text_for_the_shorter_one(tmp_path: Path) -> None:
    whole = measurer(tmp_path, PRODUCT, n=600)
    found = shorter(whole, 10.0)
    scheduled = whole.replayer.replay(parse_schedule("tile([i, j], [16, 8]); parallelize(i_t)"))
    assert found is not None and isinstance(scheduled, ScheduledNest)
    text, all_ = found.body(scheduled), whole.body(scheduled)
    assert text is not None and "128" in text and "omp for" in text and text != all_


def test_only_what_fewer_iterations_touch_has_contents(tmp_path: Path) -> None:
    whole = measurer(tmp_path, PRODUCT, n=60)
    fewer = fewer_iterations(whole.nest, whole.captured.parameters, {"i": 5, "j": 7, "k": 3})
    left = touched_only(fewer, whole.captured)
    assert {array.name: array.filled for array in left.arrays} == {"A": 4 * 60 + 3, "B": 2 * 60 + 7, "C": 4 * 60 + 7}
    assert [array.shape for array in left.arrays] == [array.shape for array in whole.captured.arrays]
