"""Winners run on other values before they are written: what is wrong there is given back, and said."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from optdb.confirmed import confirmed_schedules
from optdb.database import Database
from perfembed.api import tune
from perfembed.measuring.measurer import Checked
from perfembed.report.documents import tune_document
from perfembed.report.style import Style
from perfembed.report.terminal import render_result
from perfembed.report.tuning_page import tuning_page
from perfembed.tuning import winners
from perfembed.tuning.nest_outcome import NestOutcome, Winner
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.result import TuneResult
from perfembed.tuning.rewrite import Rewrite, rewrite_with_places
from perfembed.tuning.surroundings import Surveyed
from perfembed.tuning.winners import Winners
from profilers.outcome import Timed
from profilers.timing import compare_apart
from scheduler.frontend import SourceFile
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from tests.perfembed.documents_support import check_document
from tests.perfembed.tuning.test_opening import as_if_faster, with_every_nest

pytestmark = pytest.mark.gcc

PROGRAM = """#include <stdio.h>
#define N 300
static double a[N][N], b[N][N];
static void good(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i][j] = a[i][j] * 0.5 + j;
}
static void bad(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b[i][j] = b[i][j] * 0.25 + i;
}
int main(void)
{
    good(300);
    bad(300);
    printf("%g %g\\n", a[3][4], b[5][6]);
    return 0;
}
"""


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuneResult:
    """Both nests interchanged; the written loops of one of them are wrong for odd sizes, unlike those measured."""
    comparison = compare_apart(Timed((2.0, 2.1)), Timed((1.0, 1.1)))

    def found(self: NestTuner) -> NestOutcome:
        schedule = parse_schedule("interchange(i, j)")
        scheduled = self.replayer.replay(schedule)
        assert isinstance(scheduled, ScheduledNest)
        self.ledger.begin(self.replayer, Timed((2.0, 2.1)))
        self.ledger.confirmed(schedule, comparison, Checked(("equal",), inputs=(None, 1), tolerance=0.0))
        self.outcome.winner, self.outcome.chosen = Winner(scheduled, comparison, ("equal",)), schedule
        return self.outcome

    def faulty(
        source: SourceFile, rewrites: Sequence[Rewrite], vector_bytes: int, surveyed: Surveyed
    ) -> tuple[bytes, dict[str, tuple[int, int]]]:
        content, places = rewrite_with_places(source, rewrites, vector_bytes, surveyed)
        assert content.count(b"* 0.25") in (1, 2)  # once where it is not rewritten, else in both branches
        if content.count(b"* 0.25") == 2:
            wrong = content.replace(b"* 0.25", b"* (n & 1 ? 0.125 : 0.25)", 1)
            begin, end = places["bad_0"]
            places["bad_0"] = begin, end + len(wrong) - len(content)
            return wrong, places
        return content, places

    monkeypatch.setattr(NestTuner, "run", found)
    monkeypatch.setattr(winners, "rewrite_with_places", faulty)
    monkeypatch.setattr(winners, "_BUSY", 30.0)  # however busy the machine is, odd sizes are among those drawn
    monkeypatch.setattr(Winners, "_verify_program", as_if_faster(Winners._verify_program))
    with_every_nest(monkeypatch)
    path = tmp_path / "p.c"
    path.write_text(PROGRAM)
    output, database = tmp_path / "tuned.c", tmp_path / "a.duckdb"
    return tune(path, output=output, database=database, threads=2, search="random", budget_s=300, cflags=("-O1",))


def test_a_nest_that_is_wrong_on_other_values_is_given_back_loudly(tuned: TuneResult, tmp_path: Path) -> None:
    reports = {report.nest: report for report in tuned.nests}
    good, bad = reports["good_0"], reports["bad_0"]
    assert bad.status == "kept" and bad.given_back and bad.wrong == 1
    assert bad.other_values is not None and bad.other_values.wrong.startswith("with n = ")
    assert bad.other_values.wrong.endswith("b differs")
    assert good.status == "tuned" and good.other_values is not None
    assert good.other_values.same >= good.other_values.tuned > 4
    assert "other sizes and values" in "; ".join(good.checks) and "sanitizers silent" in "; ".join(good.checks)
    written = (tmp_path / "tuned.c").read_bytes()
    assert written.count(b"* 0.5") == 2 and written.count(b"0.25") == 1 and b"perfembed_" not in written
    check_document(json.loads(tune_document(tuned)))
    said = " ".join(render_result(tuned, Style()).split())
    assert f"WRONG {bad.other_values.wrong}" in said
    assert bad.other_values.wrong in tuning_page(tuned)
    with Database.open(tmp_path / "a.duckdb", read_only=True) as opened:
        assert opened.rows("SELECT count(*) FROM measurements WHERE outcome = 'wrong_result'") == [(1,)]
        assert len(list(confirmed_schedules(opened))) == 1
