"""`tune` by transfer, with the shipped model and donors, on a real file; what it learns, it uses next time."""

import os
from html import escape
from pathlib import Path

import numpy as np
import pytest

import perfembed
from optdb.database import Database
from perfembed.report.documents import tune_document
from perfembed.report.reading import read_tune_document
from perfembed.report.tuning_page import tuning_page
from perfembed.tuning.result import TuneResult
from scheduler.polyhedral.model import QuotaExceeded

pytestmark = pytest.mark.gcc

SOURCE = """#include <stdio.h>
#define N 320
static double a[N][N], b[N][N], c[N][N];
static void product(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
}
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i * 0.5 + j;
            b[i][j] = i - j * 0.25;
        }
    for (int t = 0; t < 5; t++)
        product();
    printf("%.17g\\n", c[3][5] + c[N - 1][N - 1]);
    return 0;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "product.c"
    path.write_text(SOURCE)
    return path


def tuned(source: Path, **options: object) -> TuneResult:
    output, environment = source.with_name("out.c"), os.environ
    return perfembed.tune(source, search="transfer", output=output, threads=1, environment=environment, **options)  # type: ignore[arg-type]


def test_by_transfer_from_what_ships(source: Path) -> None:
    result = tuned(source, budget_s=40, pictures=True)
    (nest,) = [n for n in result.nests if n.function == "product"]
    assert nest.transfer is not None
    computed = sum(c.origin == "computed" for c in nest.transfer.candidates)
    near = [d.distance for d in nest.transfer.donors if not d.portfolio]
    assert len(near) == 5 < len(nest.transfer.donors) and 1 <= nest.candidates <= 14 + computed
    assert computed >= 1, "a product is blocked as the machine suggests, whatever donors there are"
    assert near == sorted(near)
    assert max(c.measured or 0.0 for c in nest.transfer.candidates) > 1.2
    assert any(c.steps and c.matches for c in nest.transfer.candidates)
    # Beside other tests' work the gain need not show in an interleaved run, or in the whole program.
    if nest.status == "tuned":
        assert nest.speedup is not None and nest.speedup > 1.0
        assert sum(c.chosen for c in nest.transfer.candidates) == 1 and result.program_output_equal
    else:
        assert nest.status == "kept" and "faster" in nest.reason
    assert "product" in source.with_name("out.c").read_text()
    assert nest.trials and [t.at_s for t in nest.trials] == sorted(t.at_s for t in nest.trials)
    assert sum(c.at_s is not None for c in nest.transfer.candidates) >= nest.candidates - nest.failed
    check_pictures(result, source.with_name("out.c"))


def check_pictures(result: TuneResult, written: Path) -> None:
    """What is drawn of a nest is there, survives its JSON document, and becomes a page."""
    (nest,) = [n for n in result.nests if n.function == "product"]
    picture = nest.picture
    assert picture is not None and picture.before is not None and picture.work is not None
    assert picture.before.first == 6 and picture.before.text == "\n".join(SOURCE.split("\n")[5:9])
    assert picture.work.flops == 2 * 320**3 and picture.work.single == 0 and picture.work.original_bytes
    assert {d.array for d in picture.dependences} == {"c"} and "S0: c[i][j]" in picture.text
    lines = written.read_text().split("\n")
    if nest.status == "tuned":
        assert picture.after is not None and picture.work.tuned_bytes
        first = picture.after.first - 1
        shown = picture.after.text.split("\n")
        assert lines[first : first + len(shown)] == shown and shown[0].strip() == "{"
        assert [line for line in shown if not line.strip().startswith("#line")][-1].strip() == "}"
        assert "perfembed:" in shown[1]
    else:
        assert picture.after is None
    assert result.date and result.search == "transfer" and result.ceilings is None
    assert read_tune_document(tune_document(result), "result.json") == result
    page = tuning_page(result)
    assert "Candidates over time" in page and "doctor --calibrate" in page
    assert escape(picture.before.text.split("\n")[0]) in page


def test_donors_are_tried_where_nothing_can_be_computed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(space: object) -> tuple[()]:
        raise QuotaExceeded("the polyhedral library gave up")

    monkeypatch.setattr("scheduler.computed.propose.GENERATORS", (too_much,))
    (nest,) = [n for n in tuned(source, budget_s=20).nests if n.function == "product"]
    assert nest.candidates >= 1 and nest.transfer is not None
    assert any("no too much could be computed" in note for note in nest.notes)


def test_a_second_tune_begins_with_what_the_first_learned(source: Path) -> None:
    database = source.with_name("own.duckdb")
    first = tuned(source, database=database, budget_s=40, functions=["product"])
    assert first.nests[0].status in ("tuned", "kept")
    with Database.open(database, read_only=True) as opened:
        kinds = dict(opened.rows("SELECT kind, count(*) FROM _store.measurements GROUP BY 1"))
        assert kinds["transfer"] >= 1
        donors = opened.value("SELECT count(DISTINCT donor_nest_id) FROM transfers")
        assert donors >= 1
    source.write_text(SOURCE.replace("product", "other").replace("c[", "result[").replace(" c[N]", " result[N]"))
    source.write_text(source.read_text().replace("b[N][N], c[N][N]", "b[N][N], result[N][N]"))
    second = tuned(source, database=database, budget_s=40, functions=["other"])
    transfer = second.nests[0].transfer
    assert transfer is not None
    assert transfer.donors[0].place.endswith("product.c") and transfer.donors[0].distance < 1e-3
    # The best one known is measured, be it because it is known or because its nest is the nearest donor.
    assert any(c.origin == "known" or c.donor == transfer.donors[0].nest_id for c in transfer.candidates)


def test_embed(source: Path) -> None:
    nests = perfembed.embed(source, threads=1)
    assert [n.function for n in nests] == ["product", "main", "main"][: len(nests)]
    first = nests[0]
    assert first.vector.shape == (128,) and first.nodes.shape == (len(first.kinds), 128)
    assert np.isfinite(first.vector).all() and "body" in first.kinds
    renamed = source.with_name("renamed.c")
    renamed.write_text(SOURCE.replace("a[", "left[").replace("a[N]", "left[N]"))
    again = perfembed.embed(renamed, threads=1)[0]
    assert again.nest_id == first.nest_id and np.allclose(again.vector, first.vector, atol=1e-5)
