"""An expert's schedules: found by nest, refused with the reason before anything runs, and nothing else tried."""

import os
from pathlib import Path

import pytest

import perfembed
from optdb.database import Database
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, UsageError
from perfembed.retrieval.donors import read_donors
from perfembed.tuning.candidates import expert_schedules
from scheduler.replay import LegalityOptions
from scheduler.schedule import format_schedule
from tests.perfembed.tuning.test_tune_transfer import SOURCE
from tests.scheduler import nests

GEMM, SEIDEL = nests.nest(nests.GEMM), nests.nest(nests.SEIDEL)


def given(*texts: str, of: tuple[object, ...] = (GEMM, SEIDEL)) -> dict[str, str]:
    found = expert_schedules(texts, of, lambda nest: LegalityOptions())  # type: ignore[arg-type]
    return {name: format_schedule(schedule) for name, schedule in found.items()}


def test_by_name_or_alone() -> None:
    text = "interchange(j, k); parallelize(i)"
    assert given(f"{GEMM.name}: {text}") == {GEMM.name: text} == given(text, of=(GEMM,))
    assert given(f"{GEMM.name}:") == {GEMM.name: ""}  # as it is written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("interchange(j, k)", "which nest is it for"),
        ("other: interchange(j, k)", "there is no nest other"),
        (f"{GEMM.name}: interchange(j, k", "--schedule:"),
        (f"{GEMM.name}: polish(j)", "polish"),
        (f"{GEMM.name}: interchange(j, q)", r"step 1: interchange\(j, q\): "),
        (
            f"{SEIDEL.name}: parallelize(i)",
            "would change what the program computes: .*may run at the same time in loop i",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        given(text)
    with pytest.raises(UsageError, match="there are two for nest"):
        given(f"{GEMM.name}:", f"{GEMM.name}: parallelize(i)")


UNBOUNDED = """#include <stdio.h>
#define N 320
static double a[N][N], b[N][N];
static void sums(int n, double a[restrict n][n], double b[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                b[i][j] += a[k][j];
}
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i * 0.5 + j;
    sums(N, a, b);
    printf("%.17g\\n", b[3][5] + b[N - 1][N - 1]);
    return 0;
}
"""


@pytest.mark.gcc
def test_why_nothing_of_it_could_be_run(tmp_path: Path) -> None:
    source = tmp_path / "sums.c"
    source.write_text(UNBOUNDED)
    result = perfembed.tune(
        source, schedules=["tile([j], [16]); pack(j_t, a, [1, 0], 1, 16)"], budget_s=300, threads=1,
        output=tmp_path / "out.c", functions=["sums"], environment=os.environ,
    )  # fmt: skip
    (nest,) = [n for n in result.nests if n.function == "sums"]
    assert nest.status == "kept" and nest.candidates == 0 and nest.failed == 1
    assert nest.reason == "a candidate cannot be run: no code: the block of a read in j_t has no constant bound"


@pytest.mark.gcc
def test_only_that_is_tried_and_kept_for_others(tmp_path: Path) -> None:
    source, db = tmp_path / "product.c", tmp_path / "db.duckdb"
    source.write_text(SOURCE)
    text = "interchange(j, k)"
    result = perfembed.tune(
        source, schedules=[text], budget_s=300, threads=1, output=tmp_path / "out.c", database=db,
        functions=["product"], environment=os.environ,
    )  # fmt: skip
    (nest,) = [n for n in result.nests if n.function == "product"]
    assert nest.candidates == 1
    assert nest.status == "tuned" and nest.schedule == text and result.program_output_equal
    with Database.open(db, read_only=True) as database:
        rows = database.connection.execute("SELECT DISTINCT schedule FROM measurements WHERE schedule <> ''").fetchall()
    assert rows == [("interchange(L1, L2)",)]  # under the names that loops have in the database


@pytest.mark.gcc
def test_a_schedule_that_was_confirmed_makes_a_donor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("product.c").write_text(SOURCE)
    session = Session({"PATH": os.environ["PATH"]})
    options = ["--function", "product", "--threads", "1", "--db", "a.duckdb", "--budget", "300s", "-q", "--dry-run"]
    assert main(["tune", "product.c", "--schedule", "interchange(j, k)", *options], session) == EXIT_DONE
    assert Path("product.c").read_text() == SOURCE
    assert main(["db", "donors", "shard.parquet", "--db", "a.duckdb"], session) == EXIT_DONE
    (donor,) = read_donors([Path("shard.parquet")]).values()
    assert donor.schedules == ("interchange(L1, L2)",) and donor.speedups[0] > 1.05
