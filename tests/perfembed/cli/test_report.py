"""`perfembed report`, and the page that `tune --report` writes."""

import json
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.report.documents import render_exit_codes, schema_names, tune_document
from perfembed.report.tuning_page import tuning_page
from tests.perfembed.report.tuned import RESULT


def test_a_page_of_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    path.write_text(tune_document(RESULT))
    assert main(["report", str(path)], Session({})) == 0
    assert (tmp_path / "r.html").read_text() == tuning_page(RESULT)
    assert capsys.readouterr().out == f"{tmp_path}/r.html: dir/gemm.c\n"
    assert main(["report", str(path), "-o", str(tmp_path / "other.html")], Session({})) == 0
    assert (tmp_path / "other.html").read_text() == tuning_page(RESULT)


def test_foreign_documents_and_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(tune_document(RESULT))
    bad.write_text('{"kind": "other"}')
    for arguments, said in (
        ([str(bad)], "bad.json: JSON, but not of perfembed"),
        ([str(tmp_path / "none.json")], "no such file"),
        ([str(good), "-o", str(good)], "the output is the input file"),
        ([str(good), "-o", str(tmp_path / "no" / "r.html")], "does not exist"),
        ([str(good), "-o", str(tmp_path)], "is a directory"),
    ):
        assert main(["report", *arguments], Session({})) == 2
        assert said in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "good.json"]


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
