"""`perfembed doctor`: one line a check, one fix line a problem."""

import json

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from profilers import doctor
from profilers.doctor import Check

FINE = Check("C compiler", True, "gcc 12.2.0", None)
NO_COUNTERS = Check("hardware counters", False, "perf is not installed", "install perf")
NO_OPENMP = Check("OpenMP", False, "does not compile", "install libgomp")


def answer(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda environment, cc, clang: checks)


def test_what_is_optional_only_warns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_COUNTERS)
    assert main(["doctor"], Session({})) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "ok    C compiler         gcc 12.2.0",
        "warn  hardware counters  perf is not installed",
        "                         fix: install perf",
        "ready to tune",
    ]


def test_what_is_needed_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_OPENMP)
    assert main(["doctor"], Session({})) == 5
    assert "miss  OpenMP" in capsys.readouterr().out


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_OPENMP)
    assert main(["doctor", "--json"], Session({})) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["kind"], document["ready"]) == (1, "doctor", False)
    assert document["checks"][1] == {
        "name": "OpenMP",
        "ok": False,
        "found": "does not compile",
        "fix": "install libgomp",
    }


def test_missing_compiler_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--cc", "no-such-compiler"], Session({"PATH": "/usr/bin:/bin"})) == 5
    out, err = capsys.readouterr()
    assert "miss  C compiler" in out and "fix: install no-such-compiler" in out
    assert err == ""
