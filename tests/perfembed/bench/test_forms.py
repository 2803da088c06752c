"""A small campaign over all forms of programs, and that it sees what is wrong."""

import json
import os
from pathlib import Path

import pytest

from perfembed.bench.forms import check
from perfembed.bench.forms.campaign import run_campaign
from perfembed.bench.forms.check import Checker
from perfembed.bench.forms.model import FORMS, Campaign
from perfembed.bench.render_forms import render_forms
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.report.style import Style


@pytest.mark.parametrize("form", FORMS)
def test_programs(form: str, tmp_path: Path) -> None:
    result = run_campaign(Campaign(5, 3, forms=(form,), workdir=tmp_path), lambda done, tally: None)
    assert not result.faults, render_forms(result, Style(False))
    counts = result.counts[form]
    assert counts["programs"] == result.programs == 5 and not result.interrupted
    assert counts["rewritten"] >= 5 and counts["reordered"] >= 2 and counts["parallel loops"] >= 1, counts


def test_programs_under_flags(tmp_path: Path) -> None:
    forms = ("counters",)
    result = run_campaign(Campaign(3, 3, forms=forms, workdir=tmp_path, under_flags=True), lambda done, tally: None)
    assert not result.faults, render_forms(result, Style(False))
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


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session({"PATH": os.environ["PATH"]})
    assert main(["bench", "forms", "--form", "strides", "--programs", "1", "-q", "--json"], session) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "bench forms" and document["faults"] == []
    assert document["counts"]["strides"]["programs"] == 1
    assert main(["bench", "forms", "--form", "nothing"], session) == 2
