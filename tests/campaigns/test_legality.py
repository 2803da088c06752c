"""The campaign must find what is wrong: each check is shown a fault it has to report."""

import dataclasses
import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from scheduler.codegen import emit_original, plain
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.legality import Checker
from scheduler.polyhedral.verdict import Illegal, Legal
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.campaigns.commands import app, legality_text
from tests.campaigns.legality.campaign import run_campaign
from tests.campaigns.legality.compiled import check_compiled
from tests.campaigns.legality.model import Campaign, CampaignResult, Runnable
from tests.campaigns.legality.privates import privates_problem
from tests.campaigns.legality.program import generate
from tests.campaigns.legality.subject import Subject
from tests.campaigns.legality.witness import witness_problem

SMALL = Campaign(programs=12, seed=3, schedules=2, planted=2)
STENCIL = """nest stencil { param n: int; array A: double[n + 2];
for t: int in [0, n) step 1 { for i: int in [1, n) step 1 { S0: A[i] = A[i - 1] + A[i + 1]; } } }"""
PRIVATE = """nest private { param n: int; array A: double[n][n]; array t: double private(i);
for i: int in [0, n) step 1 { S0: t = A[i][0]; for j: int in [0, n) step 1 { S1: A[i][j] = A[i][j] + t; } } }"""


def run(campaign: Campaign) -> CampaignResult:
    return run_campaign(campaign, lambda done, tally: None)


def test_no_disagreement_and_the_same_again() -> None:
    first, second = run(SMALL), run(SMALL)
    assert first.disagreements == ()
    assert first.counts == second.counts
    assert first.programs == 12
    assert first.counts["legal"] > 0 and first.counts["illegal"] > 0
    assert first.planted > 0


def test_jobs_and_parts_change_nothing() -> None:
    whole = run(dataclasses.replace(SMALL, programs=24))
    spread = run(dataclasses.replace(SMALL, programs=24, jobs=2))
    parts = [run(dataclasses.replace(SMALL, programs=12, first=k)) for k in (0, 12)]
    assert spread.counts == whole.counts
    assert Counter(parts[0].counts) + Counter(parts[1].counts) == Counter(whole.counts)


def test_an_unsound_check_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checker, "check", lambda self, tree: Legal())
    kinds = {d.kind for d in run(SMALL).disagreements}
    assert "accepted but wrong" in kinds
    assert "accepted but racing" in kinds


def test_a_false_witness_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Checker.check

    def wrong(self: Checker, tree: object) -> object:
        verdict = check(self, tree)  # type: ignore[arg-type]
        if not isinstance(verdict, Illegal):
            return verdict
        swapped = verdict.sink_instance, verdict.source_instance
        return Illegal(verdict.dependence, verdict.sink, verdict.source, *swapped, verdict.parameters, verdict.loop)

    monkeypatch.setattr(Checker, "check", wrong)
    assert {d.kind for d in run(SMALL).disagreements} == {"false witness"}


def test_an_exception_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Checker, tree: object) -> object:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Checker, "check", broken)
    result = run(SMALL)
    assert {d.kind for d in result.disagreements} == {"internal error"}
    assert "ZeroDivisionError: oops" in result.disagreements[0].detail
    assert "nest random_" in result.disagreements[0].nest


# ------------------------------------------------------------------------------------- witnesses


def verdict(text: str, schedule: str) -> tuple[Replayer, Illegal]:
    replayer = Replayer(parse_nest(text))
    illegal = replayer.replay(parse_schedule(schedule))
    assert isinstance(illegal, Illegal)
    return replayer, illegal


@pytest.mark.parametrize(
    "schedule", ["interchange(t, i)", "reverse(i)", "parallelize(i)", "parallelize(t)", "tile([t, i], [2, 2])"]
)
def test_real_witnesses_pass(schedule: str) -> None:
    replayer, illegal = verdict(STENCIL, schedule)
    assert witness_problem(replayer.nest, replayer.tree(parse_schedule(schedule)), illegal) == ""


@pytest.mark.parametrize(
    ("source", "sink", "parameters", "loop", "problem"),
    [
        ({"t": 0, "i": 1}, {"t": 1, "i": 1}, {"n": 0}, None, "is no iteration of loop t"),
        ({"t": 0, "i": 1}, {"t": 0, "i": 5}, {"n": 4}, None, "is no iteration of loop i"),
        ({"t": 1, "i": 1}, {"t": 0, "i": 2}, {"n": 4}, None, "does not run before"),
        ({"t": 0, "i": 1}, {"t": 0, "i": 3}, {"n": 4}, None, "have no flow dependence on A"),
        ({"t": 0, "i": 1}, {"t": 0, "i": 2}, {"n": 4}, None, "still runs before"),
        ({"t": 0, "i": 1}, {"t": 0, "i": 2}, {"n": 4}, "t", "are in one iteration of loop t"),
        ({"t": 0, "i": 1}, {"t": 0, "i": 2}, {"n": 4}, "i", "do not run concurrently"),
        ({"t": 0, "i": 2}, {"t": 1, "i": 1}, {"n": 4}, "i", "around loop i"),
    ],
)
def test_false_witnesses_are_told(
    source: dict[str, int], sink: dict[str, int], parameters: dict[str, int], loop: str | None, problem: str
) -> None:
    replayer = Replayer(parse_nest(STENCIL))
    points = (tuple(p.items()) for p in (source, sink, parameters))
    claim = Illegal("flow S0 -> S0 on A", "S0", "S0", *points, loop)
    tree = replayer.tree(parse_schedule("parallelize(t)"))
    assert problem in witness_problem(replayer.nest, tree, claim)


# -------------------------------------------------------------------------------------- privates


def test_shared_private_storage_is_found() -> None:
    subject = Subject(parse_nest(PRIVATE), "0")
    scheduled = subject.replayer.replay(parse_schedule("parallelize(i)"))
    assert isinstance(scheduled, ScheduledNest)
    assert scheduled.contracted == (("t", "i"),)
    assert privates_problem(scheduled, subject.runs[1]) == ""
    wrong = ScheduledNest(scheduled.nest, scheduled.tree, scheduled.schedule, (("t", "j"),))
    with pytest.raises(AssertionError):  # not every use is in that loop
        privates_problem(wrong, subject.runs[1])
    tiled = subject.replayer.replay(parse_schedule("tile([i], [2])"))
    assert isinstance(tiled, ScheduledNest)
    wrong = ScheduledNest(tiled.nest, tiled.tree, tiled.schedule, (("t", "i_t"),))
    assert "one iteration" in privates_problem(wrong, subject.runs[1])


# -------------------------------------------------------------------------------------- compiled


def runnable(seed: int, index: int) -> Runnable:
    return Runnable(index, "none", emit_original(plain(generate(seed, index)[0])))


def test_compiled_code_is_compared() -> None:
    campaign = Campaign(programs=2, seed=3)
    tally = check_compiled(campaign, [runnable(3, 0), runnable(3, 1)])
    assert tally.disagreements == []
    assert tally.counts["compiled runs gcc"] == 2 * 2 * 3


def test_compiled_code_that_is_wrong_is_found() -> None:
    campaign = Campaign(programs=1, seed=3)
    for text, word in (("{ }\n", "expected"), ("garbage;\n", "error"), ("__builtin_trap();\n", "SIG")):
        tally = check_compiled(campaign, [Runnable(0, "none", text)])
        assert {d.kind for d in tally.disagreements} == {"compiled code differs"}
        assert word in tally.disagreements[0].detail


# ------------------------------------------------------------------------------------------- CLI


def test_the_command() -> None:
    arguments = ["legality", "--programs", "6", "--seed", "1", "--compiled", "2", "--compilers", "gcc", "--json"]
    done = CliRunner().invoke(app, arguments)
    result = json.loads(done.stdout)
    assert done.exit_code == 0 and result["disagreements"] == [] and result["counts"]["compiled runs gcc"] > 0
    assert "environment" not in result["campaign"]


def test_the_command_ends_with_1_and_tells_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checker, "check", lambda self, tree: Legal())
    done = CliRunner().invoke(app, ["legality", "--programs", "4", "--seed", "3", "--compiled", "0"])
    assert done.exit_code == 1 and "kind: accepted but wrong" in done.stdout
    assert "again: python -m tests.campaigns legality --seed 3 --first" in done.stdout


def test_text() -> None:
    result = run(SMALL)
    text = legality_text(result)
    assert text[0].startswith("12 programs of seed 3, from number 0") and text[-1] == "0 faults"
    assert f"{result.planted:>10}  planted illegal schedules rejected" in text
