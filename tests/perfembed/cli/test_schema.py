"""`perfembed schema`: lists the schemas, prints one, and the exit codes."""

import json

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.report.exit_codes import render_exit_codes
from perfembed.report.schema import schema_names


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"], Session({})) == 0
    lines = capsys.readouterr().out.splitlines()
    assert tuple(line.split()[0] for line in lines) == schema_names()
    assert any(line.split(maxsplit=1)[1] == "What perfembed db info --json prints" for line in lines)


@pytest.mark.parametrize("words", [["tune"], ["db", "info"], ["db-info"], ["db", "check"]], ids=" ".join)
def test_one(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", *words], Session({})) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"].startswith("https://json-schema.org/") and schema["properties"]["kind"]["const"]


def test_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "frobnicate"], Session({})) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("perfembed schema: there is no schema 'frobnicate'\n  there are ")


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--exit-codes"], Session({})) == 0
    assert capsys.readouterr().out == render_exit_codes() + "\n"
    assert main(["schema", "tune", "--exit-codes"], Session({})) == 2
