"""Whole searches from recordings: no compiler, no run, the same decisions.

`python -m tests.doubles.test_recording` records them anew on this machine, after a change of what is searched or
of the C text that is made.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.capture import CapturedNest, synthesize
from perfembed.measuring.ledger import NoLedger
from perfembed.measuring.measurer import Conditions
from perfembed.measuring.runner import Processes, Runner
from perfembed.tuning.nest_outcome import Effort, NestOutcome, NestTask
from perfembed.tuning.nest_tuner import NestTuner
from profilers.build import CompilerConfig
from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import LegalityOptions
from tests.doubles.recording import OtherStep, Recording, Replay, read_steps
from tests.perfembed.measuring.test_less_work import PRODUCT

pytestmark = pytest.mark.gcc

FOLDER = Path(__file__).parent / "recordings"
TARGET = Target(2, vector_bytes=32, l1_bytes=32 << 10, l2_bytes=256 << 10, l3_bytes=1 << 20)
SEARCHES = {
    "beam": (PRODUCT, {"n": 300}, Effort(search="beam", schedules=8), None),
    "spared": (PRODUCT, {"n": 700}, Effort(search="beam", schedules=8, budget_s=20.0, spare_original=True), 4.0),
    "small": (PRODUCT, {"n": 100}, Effort(search="beam", schedules=6), None),
}


def tuned(name: str, runner: Runner, folder: Path) -> NestOutcome:
    text, values, effort, in_program_s = SEARCHES[name]
    nest = parse_nest(text)
    captured = synthesize(nest, values, 0, folder / "inputs")
    assert isinstance(captured, CapturedNest)
    compiler = CompilerConfig("gcc", ("-O2", "-mavx2", "-mfma", "-fopenmp"))
    conditions = Conditions(compiler, 2, TARGET, folder, DEFAULT_ENVIRONMENT, 2, LegalityOptions(), 0, runner=runner)
    return NestTuner(NestTask(nest, captured, conditions, effort, in_program_s), lambda event: None, NoLedger()).run()


def replay(name: str, folder: Path) -> tuple[NestOutcome, Replay]:
    recorded = Replay(read_steps((FOLDER / f"{name}.jsonl").read_text()))
    return tuned(name, recorded, folder), recorded


@pytest.mark.parametrize("name", SEARCHES)
def test_a_recorded_search_decides_the_same_again(name: str, tmp_path: Path) -> None:
    outcome, recorded = replay(name, tmp_path)
    assert not recorded.left and not list(tmp_path.glob("build/*"))
    assert outcome.winner is not None and outcome.chosen is not None
    assert replay(name, tmp_path)[0] == outcome  # the outcome is a value
    assert len(outcome.winner.checks) == 3 and outcome.winner.comparison.faster
    measured = [seconds for seconds in outcome.seconds.values() if seconds is not None]
    assert outcome.seconds[outcome.chosen] <= 1.15 * min(measured)  # close ones were run again


def test_what_is_decided_depends_on_what_the_runs_took(tmp_path: Path) -> None:
    """Had every candidate been slow, none would have been confirmed, and nothing else is asked for."""
    steps = read_steps((FOLDER / "small.jsonl").read_text())
    originals = next(k for k, step in enumerate(steps) if step.kind == "time") + 1
    slow = [["Timed", {"samples_s": [1.0]}], 0.0]
    later = [replace(step, answer=slow) if step.kind == "time" else step for step in steps[originals:]]
    recorded = Replay((*steps[:originals], *later))
    outcome = tuned("small", recorded, tmp_path)
    assert outcome.winner is None and outcome.reason.startswith("no legal schedule was faster than the original")
    assert {step.kind for step in recorded.left} >= {"check", "reference"}


def test_another_search_than_was_recorded_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(OtherStep, match="is asked for, and compile"):
        tuned("beam", Replay(read_steps((FOLDER / "small.jsonl").read_text())), tmp_path)
    with pytest.raises(OtherStep, match="the recording is at its end"):
        tuned("beam", Replay(()), tmp_path)


def test_what_was_recorded_is_what_was_done(tmp_path: Path) -> None:
    recording = Recording(Processes())
    outcome = tuned("small", recording, tmp_path)
    steps = read_steps("\n".join(map(str, recording.steps)))
    assert steps == tuple(recording.steps) and {step.kind for step in steps} >= {"compile", "time"}
    again = Replay(steps)
    assert tuned("small", again, tmp_path) == outcome and not again.left
    assert again.now() == recording.now() > 0


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or SEARCHES:
        with tempfile.TemporaryDirectory() as scratch:
            made = Recording(Processes())
            tuned(wanted, made, Path(scratch))
            (FOLDER / f"{wanted}.jsonl").write_text("".join(f"{step}\n" for step in made.steps))
