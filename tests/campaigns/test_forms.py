"""A small campaign over all forms of programs, and that it sees what is wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfembed.errors import UsageError
from tests.campaigns.commands import app
from tests.campaigns.forms import check
from tests.campaigns.forms.campaign import run_campaign
from tests.campaigns.forms.check import Checker
from tests.campaigns.forms.model import FORMS, Campaign


@pytest.mark.parametrize("form", FORMS)
def test_programs(form: str, tmp_path: Path) -> None:
    result = run_campaign(Campaign(5, 3, forms=(form,), workdir=tmp_path), lambda done, tally: None)
    assert not result.faults, result.faults
    counts = result.counts[form]
    assert counts["programs"] == result.programs == 5 and not result.interrupted
    assert counts["rewritten"] >= 5 and counts["reordered"] >= 2 and counts["parallel loops"] >= 1, counts


def test_programs_under_flags(tmp_path: Path) -> None:
    forms = ("counters",)
    result = run_campaign(Campaign(3, 3, forms=forms, workdir=tmp_path, under_flags=True), lambda done, tally: None)
    assert not result.faults, result.faults
    assert sum(counts["rewritten"] for counts in result.counts.values()) >= 2


def test_what_is_wrong_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the written loops start one iteration late."""
    write = check.rewrite_source

    def late(*arguments: object) -> bytes:
        content: bytes = write(*arguments)  # type: ignore[arg-type]
        return content.replace(b"for (long i = 0;", b"for (long i = 1;").replace(b"for (int i = 1;", b"for (int i = 2;")

    monkeypatch.setattr(check, "rewrite_source", late)
    checker = Checker(Campaign(1, 3, keep=tmp_path / "kept"), tmp_path)
    for number in range(3):
        checker.check("flow", number)
    faults = checker.tally.faults
    assert faults and {fault.kind for fault in faults} == {"wrong output"}
    assert len(list((tmp_path / "kept").iterdir())) == 2 * len(faults)


def test_the_command() -> None:
    done = CliRunner().invoke(app, ["forms", "--form", "strides", "--programs", "1", "--json"])
    result = json.loads(done.stdout)
    assert done.exit_code == 0 and result["faults"] == [] and result["counts"]["strides"]["programs"] == 1
    assert "1 programs of seed 0" in CliRunner().invoke(app, ["forms", "--form", "strides", "--programs", "1"]).stdout
    assert isinstance(CliRunner().invoke(app, ["forms", "--form", "nothing"]).exception, UsageError)
