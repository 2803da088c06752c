"""A small campaign over typed bounds, and that it sees what is wrong and makes it small."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfembed.errors import UsageError
from tests.campaigns.bounds import check
from tests.campaigns.bounds.builds import counted
from tests.campaigns.bounds.campaign import run_campaign
from tests.campaigns.bounds.driver import program
from tests.campaigns.bounds.generate import unit
from tests.campaigns.bounds.model import Campaign, Fault
from tests.campaigns.bounds.reduce import Reducer, reproducer
from tests.campaigns.bounds.unit import Block, Place, Unit
from tests.campaigns.commands import app

COUNTS = Unit(
    0,
    (Place("n", "int", 0, "parameter"), Place("m0", "short", 1, "global")),
    (),
    (
        "unsigned sum = 0;",
        Block("for (int i = 0; i < n; i++)", ("U[i] += 3;", Block("if (i % 2)", ("L[i] = 1;",)))),
        Block("for (int j = 0; j < m0; j++)", ("sum += 7u;",)),
        "keep(sum);",
    ),
)


def late(content: bytes) -> bytes:
    """Written loops start one iteration late."""
    return counted(content.replace(b"for (long i = 0;", b"for (long i = 1;"))


def behind(statement: bytes) -> Callable[[bytes], bytes]:
    """Written loops, and then a statement."""
    end = b"#pragma GCC diagnostic pop\n"
    return lambda content: counted(content.replace(end, statement + b"\n" + end))


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program is the same one."""
    monkeypatch.setattr(check, "unit", lambda seed, number: COUNTS)


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize(
    ("fault", "kind", "way"),
    [
        (late, "wrong output", "plain"),
        (behind(b"for (;;) ;"), "does not end", "plain"),
        (behind(b"abort();"), "crash", "plain"),
        (behind(b"U[n + 320] = 1;"), "sanitizer", "sanitized"),
    ],
)
def test_what_is_wrong_is_seen(
    fault: Callable[[bytes], bytes], kind: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "counted", fault)
    monkeypatch.setattr(check, "_WRITTEN_MS", 100)
    result = run_campaign(Campaign(1, 3, schedules=1, ways=(way,), workdir=tmp_path), lambda done, tally: None)
    assert [(f.kind, f.way, f.program) for f in result.tally.faults] == [(kind, way, 0)]


@pytest.mark.usefixtures("one")
def test_a_fault_is_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "counted", late)
    campaign = Campaign(1, 3, schedules=1, ways=("plain",), reduce=True, keep=tmp_path / "kept", workdir=tmp_path)
    (fault,) = run_campaign(campaign, lambda done, tally: None).tally.faults
    assert fault.unit is not None
    assert fault.unit.body == (Block("for (int i = 0; i < n; i++)", ("U[i] += 3;",)),)
    assert fault.values == (1, 0, 0, 0, 0, 0, 0)
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_text() == reproducer(fault)
    assert "m0" not in reproducer(fault) and "static const long long v[] = { 1, 0, 0, 0, 0, 0, 0 };" in reproducer(
        fault
    )


def test_one_that_is_not_seen_again_stays(tmp_path: Path) -> None:
    fault = Fault(0, "wrong output", "", "plain", unit=COUNTS, seed="1", values=(3, 1, 0, 0, 1, 0, 0))
    assert Reducer(Campaign(1, 1), tmp_path).reduced(fault) == fault


def test_which_branch_ran_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "unit", lambda seed, number: COUNTS)
    campaign = Campaign(1, 3, schedules=1, ways=("plain",), workdir=tmp_path)
    counts = run_campaign(campaign, lambda done, tally: None).tally.counts
    assert counts["nests"] == 1 and counts["programs written"] == 1
    assert counts["runs"] == counts["runs tuned"] == 10 and counts["nests run"] == counts["nests run tuned"] == 10
    monkeypatch.setattr(
        check, "counted", lambda content: counted(content.replace(b"if (pe_same(", b"if (0 && pe_same("))
    )
    counts = run_campaign(campaign, lambda done, tally: None).tally.counts
    assert counts["runs original"] == 10 and counts["nests run"] == 10 and counts["nests run tuned"] == 0


def test_programs_are_the_same_again() -> None:
    units = [unit(f"bounds 1-{n}", n) for n in range(30)]
    assert program(units, "1-0") == program([unit(f"bounds 1-{n}", n) for n in range(30)], "1-0")
    texts = [u.text() for u in units]
    for wanted in ("while (", "!= ", ">= ", "--", "uint64_t", "signed char", "first[", "struct s", "(unsigned char)("):
        assert any(wanted in text for text in texts), wanted


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "unit", lambda seed, number: COUNTS)
    few = ["bounds", "--programs", "1", "--schedules", "1"]
    done = CliRunner().invoke(app, [*few, "--ways", "plain", "--json", "--flags", "-fwrapv"])
    tally = json.loads(done.stdout)["tally"]
    assert done.exit_code == 0 and tally["faults"] == []
    assert tally["counts"]["runs tuned"] == tally["counts"]["runs"] == 10
    monkeypatch.setattr(check, "counted", late)
    found = CliRunner().invoke(app, [*few, "--ways", "plain"])
    assert found.exit_code == 1 and "kind: wrong output" in found.stdout and "way: plain" in found.stdout
    assert "again: python -m tests.campaigns bounds --seed 0 --first 0 --programs 10 --reduce" in found.stdout
    assert "100.0 % ran tuned loops" in found.stdout and found.stdout.endswith("1 faults\n")
    assert isinstance(CliRunner().invoke(app, ["bounds", "--ways", "nothing"]).exception, UsageError)
