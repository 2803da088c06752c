"""The outputs of schedules are compared with the original's: all iterations of a short nest, fewer of a long one."""

from dataclasses import replace
from pathlib import Path

import pytest

import perfembed.measuring.checking
import perfembed.measuring.measurer
from perfembed.capture import CapturedNest, synthesize
from perfembed.measuring.checking import TOLERANCE, Checker, Reference, iterations_to_check
from perfembed.measuring.measurer import Conditions, Measurer
from profilers.build import CompilerConfig
from profilers.outcome import WrongResult
from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.workload import plain
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule

pytestmark = pytest.mark.gcc

PRODUCT = """nest product { param n: int in [1, ?];
array A: double[n][n] restrict const; array B: double[n][n] restrict const; array C: double[n][n] restrict;
for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
S0: C[i][j] = C[i][j] + A[i][k] * B[k][j]; } } } }"""
SCHEDULE = "tile([i, j], [16, 8]); parallelize(i_t)"
SHORT_S, LONG_S = 1e-3, 10.0


@pytest.fixture
def measurer(tmp_path: Path) -> Measurer:
    nest = plain(parse_nest(PRODUCT))
    captured = synthesize(nest, {"n": 60}, 0, tmp_path / "inputs")
    assert isinstance(captured, CapturedNest)
    compiler = CompilerConfig("gcc", ("-O2", "-march=native", "-fopenmp"))
    conditions = Conditions(compiler, 2, Target(2), tmp_path / "work", DEFAULT_ENVIRONMENT, 2, LegalityOptions(), 0)
    return Measurer(nest, Replayer(nest), captured, conditions)


def scheduled(measurer: Measurer) -> ScheduledNest:
    found = Replayer(measurer.nest).replay(parse_schedule(SCHEDULE))
    assert isinstance(found, ScheduledNest)
    return found


@pytest.mark.parametrize(("original_s", "how"), [(SHORT_S, ""), (LONG_S, " for fewer iterations")])
def test_what_is_right_passes_on_the_captured_and_on_random_inputs(
    measurer: Measurer, original_s: float, how: str
) -> None:
    checked = Checker(measurer, original_s).check(scheduled(measurer))
    random = tuple(f"bit-identical on randomized input {seed}{how}" for seed in (1, 2))
    assert checked.passed == ("bit-identical on the captured input", *random)
    assert checked.failure is None and checked.inputs == (None, 1, 2)


def test_a_run_of_the_original_as_it_is_measured_serves_as_the_reference(measurer: Measurer) -> None:
    checker = Checker(measurer, LONG_S)
    reference = checker.reference()
    assert isinstance(reference, Reference) and reference.timed.min > 0
    assert checker.reference() is reference  # and is not made again
    assert checker.check(scheduled(measurer), reference).passed


@pytest.mark.parametrize(("original_s", "texts"), [(SHORT_S, 2), (LONG_S, 4)])
def test_each_text_is_compiled_once_and_the_candidates_are_not_kept(
    measurer: Measurer, tmp_path: Path, original_s: float, texts: int
) -> None:
    """The two nests, at full size and, where it takes long, with fewer iterations; the rest is known."""
    log = tmp_path / "compiled"
    wrapper = tmp_path / "cc"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    compiler = replace(measurer.conditions.compiler, cc=str(wrapper))
    logged = replace(measurer, conditions=replace(measurer.conditions, compiler=compiler))
    one = scheduled(logged)
    checker = Checker(logged, original_s)
    assert checker.check(one).passed
    exact = [line for line in log.read_text().splitlines() if "-ffp-contract=off" in line]
    assert len(exact) == texts
    assert len(list((logged.conditions.workdir / "build").glob("*.exe"))) == texts // 2
    assert checker.check(one).passed  # the original's are still there


@pytest.mark.parametrize("original_s", [SHORT_S, LONG_S])
@pytest.mark.parametrize("reference", [False, True])
def test_what_is_wrong_at_full_size_is_found(measurer: Measurer, original_s: float, reference: bool) -> None:
    one = scheduled(measurer)
    body = measurer.body(one)
    assert isinstance(body, str)
    measurer.bodies[one.schedule] = body.replace("A[i][k] * B[k][j]", "(i == 59 && j > 57 ? 0 : A[i][k] * B[k][j])")
    checker = Checker(measurer, original_s)
    run = checker.reference() if reference else None
    assert not isinstance(run, WrongResult)
    checked = checker.check(one, run if isinstance(run, Reference) else None)
    assert isinstance(checked.failure, WrongResult) and not checked.passed


def test_what_is_wrong_where_a_block_is_not_full_is_found(measurer: Measurer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size that was captured has full blocks alone; fewer iterations have others, too."""
    one = scheduled(measurer)
    most = iterations_to_check(measurer.nest, one)
    assert most == {"i": 35, "j": 19, "k": 19}

    def wrong(scheduled: ScheduledNest, model: object, **settings: int) -> str:
        text = emit(scheduled, model, **settings)
        return text.replace("A[i][k] * B[k][j]", "(i % 16 == 2 && i == 34 ? 0 : A[i][k] * B[k][j])")

    monkeypatch.setattr(perfembed.measuring.measurer, "emit", wrong)
    measurer.bodies[one.schedule] = emit(one, measurer.replayer.model)
    checked = Checker(measurer, LONG_S).check(one)
    assert isinstance(checked.failure, WrongResult)


def test_nests_with_split_loops_make_enough_iterations_for_every_block(measurer: Measurer) -> None:
    """Their second parts' loops are not the nest's: all its loops are as long as the largest block asks for."""
    replayed = measurer.replayer.replay(parse_schedule("split(k, 24*floor((i)/24)); tile([i], [24])"))
    assert isinstance(replayed, ScheduledNest)
    assert iterations_to_check(measurer.nest, replayed) == {"i": 51, "j": 51, "k": 51}
    assert Checker(measurer, LONG_S).check(replayed).passed


@pytest.mark.parametrize(("factor", "right"), [("(1 + 1e-12)", True), ("(i == 59 ? 1.01 : 1)", False)])
def test_of_huge_data_values_are_compared_where_bits_differ(
    measurer: Measurer, monkeypatch: pytest.MonkeyPatch, factor: str, right: bool
) -> None:
    """As they do where a compiler contracts products differently; fewer iterations are compared bit for bit."""
    monkeypatch.setattr(perfembed.measuring.checking, "_HUGE_BYTES", 0)
    one = scheduled(measurer)
    body = measurer.body(one)
    assert isinstance(body, str)
    measurer.bodies[one.schedule] = body.replace("A[i][k] * B[k][j]", f"A[i][k] * B[k][j] * {factor}")
    checker = Checker(measurer, LONG_S)
    reference = checker.reference()
    assert isinstance(reference, Reference)
    checked = checker.check(one, reference)
    assert bool(checked.passed) == right and len(checked.seconds) == (2 if right else 0)
    if right:
        assert checked.tolerance == TOLERANCE
        assert checked.passed[0].startswith("equal within 1e-06 on the captured input")
        assert checked.passed[1] == "bit-identical on randomized input 1 for fewer iterations"
    else:
        assert isinstance(checked.failure, WrongResult)


def test_of_huge_data_values_are_not_enough_where_nothing_is_compared_bit_for_bit(
    measurer: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the original does not run on random inputs."""
    monkeypatch.setattr(perfembed.measuring.checking, "_HUGE_BYTES", 0)
    monkeypatch.setattr(perfembed.measuring.checking, "VERIFY_SEEDS", ())
    one = scheduled(measurer)
    body = measurer.body(one)
    assert isinstance(body, str)
    measurer.bodies[one.schedule] = body.replace("A[i][k] * B[k][j]", "A[i][k] * B[k][j] * (1 + 1e-12)")
    checker = Checker(measurer, LONG_S)
    reference = checker.reference()
    assert isinstance(reference, Reference)
    checked = checker.check(one, reference)
    assert not checked.passed and isinstance(checked.failure, WrongResult)
