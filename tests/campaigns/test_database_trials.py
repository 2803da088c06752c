"""`database`: its verdicts and its exit codes."""

import json

import pytest
from typer.testing import CliRunner

from tests.campaigns.commands import app
from tests.campaigns.database.damage import DamageResult
from tests.campaigns.database.kills import KillsResult
from tests.campaigns.database.scale import ScaleResult
from tests.campaigns.database.trials import DatabaseTrials, text
from tests.campaigns.database.writers import WritersResult

KILLS = KillsResult(12, (("append", 4), ("compact", 0), ("ingest", 6)), 1234, 0, ())
DAMAGE = DamageResult(3, (("cut", "log", "same", 1), ("flip", "log", "refused", 2)), ())
WRITERS = WritersResult(4, 10, 40, 40, 2.0, 3.5, 7, 0, ())
SCALE = ScaleResult(1000, 10000, 24001, 64 << 20, 120 << 20, 9e4, 25e3, 0.2, 0.004, 0.5, 0.003, 24000, 8e3, 1.5)


def test_small_trials() -> None:
    trials = ["--kills", "0", "--damage", "0", "--writers", "2", "5", "--scale", "3", "9"]
    done = CliRunner().invoke(app, ["database", *trials, "--seed", "2", "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["seed"] == 2
    assert found["kills"] is None and found["damage"] is None and not found["interrupted"]
    assert found["writers"]["stored"] == 10
    assert found["scale"]["measurements"] == 9 and found["scale"]["merged_records"] == 3 * (4 + 2 * 3)


def test_verdicts() -> None:
    assert text(DatabaseTrials(5, KILLS, DAMAGE, WRITERS, SCALE, 61.0)) == [
        "10 kills at work: 4 in append, 6 in ingest",
        "  1,234 acknowledged records, 0 lost; always opens, none lost, none twice: met",
        "3 files cut short or with a bit flipped",
        "                   same  reported  refused",
        "  cut of the log   1     0         0",
        "  flip of the log  0     0         2",
        "  0 silent wrong answers or crashes, aim none: met",
        "4 writers of 10 measurements each",
        "  40 of 40 stored, each once and without an error: met",
        "  written in 2 s (20 a second on the disk), all ingested after 3.5 s; meanwhile a reader got 7 answers and"
        " timed out 0 times, waiting 0 ns at most",
        "1,000 nests, 10,000 measurements, 24,001 records in all",
        "  size                        64 MiB            6711 B a measurement, all included",
        "  spool                       90,000 records/s",
        "  ingest                      25,000 records/s  aim 20,000: met",
        "  open                        200 ms",
        "  best_schedules of a nest    4 ms              aim at most 10 ms: met",
        "  top 100 of everything       500 ms            aim at most 1 s: met",
        "  what a resumed search asks  3 ms",
        "  merge                       8,000 records/s   24,000 records of another database",
        "  compact                     1.5 s             both together: 120 MiB",
        "seed 5, 61 s",
    ]


def test_what_is_missed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = KillsResult(3, (("append", 3),), 50, 2, ("kill 2: 2 missing",))
    silent = DamageResult(1, (), ("flip of db.duckdb at 7: a reader sees other rows",))
    fewer = WritersResult(4, 10, 40, 39, 2.0, 3.5, 7, 1, ())
    for trials in (DatabaseTrials(0, lost), DatabaseTrials(0, damage=silent), DatabaseTrials(0, writers=fewer)):
        shown = "\n".join(text(trials))
        assert not trials.passed and "missed" in shown and "met" not in shown
    assert "  kill 2: 2 missing" in text(DatabaseTrials(0, lost))
    slow = ScaleResult(1000, 10000, 24001, 1, 1, 9e4, 1e3, 0.2, 0.4, 5.0, 0.003, 24000, 8e3, 1.5)
    assert "\n".join(text(DatabaseTrials(0, scale=slow))).count("missed") == 3
    assert DatabaseTrials(0, scale=slow).passed  # a time is no fault
    monkeypatch.setattr("tests.campaigns.database.trials.run_kills", lambda *_: lost)
    assert (
        CliRunner()
        .invoke(app, ["database", "--kills", "3", "--damage", "0", "--writers", "0", "0", "--scale", "0", "0"])
        .exit_code
        == 1
    )
