"""`perfembed doctor`: one line a check, one fix line a problem."""

import fcntl
import functools
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.cli import doctor as command
from perfembed.cli.doctor import database_check, shipped_check
from perfembed.cli.folders import cache_path
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.learning import cost_models
from profilers import calibrate, doctor, likwid, perf
from profilers.build import compiler_version
from profilers.calibration import KINDS, Calibration, CalibrationCache
from profilers.doctor import Check
from profilers.lock import VARIABLE
from profilers.machine import CounterSupport, describe_machine
from tests.optdb.support import filled

FINE = Check("C compiler", True, "gcc 12.2.0", None)
SHIPPED = Check("models and donors", True, "4 models", None)
DATABASE = Check("database", True, "a.duckdb", None)
NO_COUNTERS = Check("hardware counters", False, "perf is not installed", "install perf")
NO_OPENMP = Check("OpenMP", False, "does not compile", "install libgomp")


def answer(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda environment, cc, clang: checks)
    monkeypatch.setattr(command, "shipped_check", lambda: SHIPPED)
    monkeypatch.setattr(command, "database_check", lambda environment: DATABASE)


def test_what_is_optional_only_warns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_COUNTERS)
    assert main(["doctor"], Session({})) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "ok    C compiler         gcc 12.2.0",
        "warn  hardware counters  perf is not installed",
        "                         fix: install perf",
        "ok    models and donors  4 models",
        "ok    database           a.duckdb",
        "ok    calibration        none yet; --calibrate measures one in about 15 s",
        "ready to tune",
    ]


def test_what_is_needed_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_OPENMP)
    assert main(["doctor"], Session({})) == 5
    out = capsys.readouterr().out
    assert "miss  OpenMP" in out and "calibration" not in out


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, FINE, NO_OPENMP)
    assert main(["doctor", "--json"], Session({})) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["kind"], document["ready"]) == (1, "doctor", False)
    assert document["calibration"] is None
    assert document["checks"][1] == {
        "name": "OpenMP",
        "ok": False,
        "found": "does not compile",
        "fix": "install libgomp",
    }


def test_without_counters_there_is_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, FINE, NO_COUNTERS)
    monkeypatch.setattr(likwid.LikwidBackend, "available", lambda self, env: CounterSupport("likwid", False, "none"))
    monkeypatch.setattr(perf.PerfBackend, "available", lambda self, env: CounterSupport("perf", False, "none"))
    assert main(["doctor", "--counters"], Session({})) == 0
    assert "no counters to compare the simulated ones with" in capsys.readouterr().out
    assert main(["doctor", "--counters", "--json"], Session({})) == 0
    assert json.loads(capsys.readouterr().out)["counters"] is None


def test_missing_compiler_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--cc", "no-such-compiler"], Session({"PATH": "/usr/bin:/bin"})) == 5
    out, err = capsys.readouterr()
    assert "miss  C compiler" in out and "fix: install no-such-compiler" in out
    assert err == ""


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """A cache and a measurement lock of our own, and figures that get a hundredth of their time."""
    monkeypatch.setattr(calibrate, "calibrate", functools.partial(calibrate.calibrate, seconds=0.002))
    return {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path / "cache"), VARIABLE: str(tmp_path)}


@pytest.mark.gcc
def test_calibrate_measures_shows_and_keeps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    answer(monkeypatch, FINE)
    assert main(["doctor", "--calibrate"], Session(environment)) == 0
    out, err = capsys.readouterr()
    assert err == "calibrating: about 15 s\n"
    machine = describe_machine()
    cache = CalibrationCache(tmp_path / "cache" / "perfembed")
    kept = cache.load(machine, compiler_version("gcc"))
    assert kept is not None and kept.threads == machine.physical_cores
    assert f"of {kept.date}, {kept.threads} thread" in out
    assert f"kept in {cache.path(machine.fingerprint, kept.compiler)}\n" in out
    lines = [line.split() for line in out.splitlines()]
    rows = [line for line in lines if line[:1] == ["memory"]]
    assert len(rows) == len({1, kept.threads})
    for threads, row in zip(sorted({1, kept.threads}), rows, strict=True):
        assert row[1:9:2] == [f"{kept.bandwidth('memory', kind, threads):.3g}" for kind in KINDS]
    assert out.endswith("\nready to tune\n")
    assert (f"others used {kept.other_load:.2f} cores meanwhile" in out) == kept.noisy

    assert main(["doctor", "--json"], Session(environment)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    found = document["calibration"]
    assert found.pop("file") == str(cache.path(machine.fingerprint, kept.compiler))
    assert found.pop("noisy") == kept.noisy
    assert Calibration.from_json(json.dumps({"version": 1, **found})) == kept


@pytest.mark.gcc
def test_calibrate_waits_for_its_turn_and_shows_figures_that_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    answer(monkeypatch, FINE)
    (tmp_path / "cache").write_text("a file where a folder should be")
    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    class Reader(io.StringIO):
        """Frees the lock once the command says that it waits for it."""

        def write(self, text: str) -> int:
            if "waiting" in text:
                os.close(lock)
            return super().write(text)

    monkeypatch.setattr(sys, "stderr", Reader())
    assert main(["doctor", "--calibrate", "--json"], Session(environment)) == 0
    found = json.loads(capsys.readouterr().out)["calibration"]
    assert found["file"] is None and found["figures"]
    assert isinstance(sys.stderr, Reader)
    waiting, calibrating, kept = sys.stderr.getvalue().splitlines()
    assert (
        waiting.startswith("waiting: another measurement")
        and f"by process {os.getpid()} (" in waiting
        and calibrating.startswith("calibrating")
    )
    assert "the calibration is not kept: cannot keep the calibration in" in kept


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """By one thread, on a quiet machine as far as it knows."""
    folder, environment, date = tmp_path_factory.mktemp("measured"), {"PATH": os.environ["PATH"]}, "2026-11-21T23:06:00"
    found = calibrate.calibrate(describe_machine(), "gcc", environment, folder, 1, date=date, seconds=0.001)
    return replace(found, other_load=0.0)


@pytest.mark.gcc
def test_doctor_tells_when_the_machine_was_calibrated(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    environment: dict[str, str],
    measured: Calibration,
) -> None:
    def checks() -> list[str]:
        assert main(["doctor"], Session(environment)) == 0
        return capsys.readouterr().out.splitlines()[3:-1]

    answer(monkeypatch, FINE)
    cache = CalibrationCache(tmp_path / "cache" / "perfembed")
    cache.store(measured)
    assert checks() == ["ok    calibration        of 2026-11-21T23:06:00, 1 thread"]
    path = cache.store(replace(measured, other_load=0.9))
    assert checks() == [
        "warn  calibration        of 2026-11-21T23:06:00, 1 thread; others used 0.90 cores meanwhile",
        "                         fix: perfembed doctor --calibrate, while nothing else runs",
    ]
    path.write_text(path.read_text()[:-100])
    assert checks() == ["ok    calibration        none yet; --calibrate measures one in about 15 s"]


def test_nothing_is_calibrated_without_a_compiler(
    capsys: pytest.CaptureFixture[str], environment: dict[str, str]
) -> None:
    assert main(["doctor", "--calibrate", "--cc", "no-such-compiler"], Session(environment)) == 5
    out, err = capsys.readouterr()
    assert "miss  C compiler" in out and "calibration" not in out and err == ""


def test_results_are_kept_where_xdg_says() -> None:
    assert cache_path({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/perfembed")
    assert cache_path({"HOME": "/h"}) == Path("/h/.cache/perfembed")
    assert cache_path({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/perfembed")
    assert cache_path({"XDG_CACHE_HOME": "", "HOME": ""}) is None
    assert cache_path({}) is None


def test_what_ships(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = shipped_check()
    assert found.ok and found.fix is None and "models" in found.found
    monkeypatch.setattr(cost_models, "SHIPPED", tmp_path)
    found = shipped_check()
    assert not found.ok and "install perfembed again" in (found.fix or "")


def test_a_database_that_is_there_or_can_be(tmp_path: Path) -> None:
    path = tmp_path / "perfembed" / "perfembed.duckdb"
    assert database_check({"XDG_DATA_HOME": str(tmp_path)}).found == f"{path}, which the first run makes"
    path.parent.mkdir()
    filled(path).close()
    found = database_check({"XDG_DATA_HOME": str(tmp_path)})
    assert found.ok and found.found == str(path)


def test_databases_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database")
    for environment in (
        {},
        {"PERFEMBED_DB": str(tmp_path / "text")},
        {"PERFEMBED_DB": str(tmp_path / "text" / "a.db")},
    ):
        found = database_check(environment)
        assert not found.ok and found.fix, environment


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    found = database_check({"PERFEMBED_DB": str(tmp_path / "a.db")})
    assert not found.ok and "not writable" in found.found
