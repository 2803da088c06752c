"""`perfembed profile` on real programs: what is counted, what is shown, and what is refused."""

import json
import math
import os
from pathlib import Path

import pytest

from optdb.database import Database
from perfembed.cli.main import main
from perfembed.cli.session import Session
from profilers.counters import counters, metrics

pytestmark = pytest.mark.gcc

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
static void scale(int n, double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 20; r++)
        for (int i = 0; i < n; i++)
            a[i] = a[i] * 0.5 + b[i];
}
int main(void)
{
    int n = 100000;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    for (int i = 0; i < n; i++) { a[i] = i % 7; b[i] = i % 5; }
    scale(n, a, b);
    printf("%g\\n", a[17]);
    return 0;
}
"""
LIBRARY = "void twice(int n, double *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n"


@pytest.fixture
def session() -> Session:
    return Session({"PATH": os.environ["PATH"]})


def test_document(tmp_path: Path, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.c"
    source.write_text(PROGRAM)
    arguments = [
        "profile",
        str(source),
        "--function",
        "scale",
        "--threads",
        "2",
        "--backend",
        "simulated",
        "--json",
        "-q",
    ]
    assert main(arguments, session) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["kind"], document["backend"]) == (1, "profile", "simulated")
    (nest,) = document["nests"]
    assert nest["schedule"] == "parallelize(i)"
    assert set(nest["profile"]["counts"]) == {c.name for c in counters()}
    assert set(nest["profile"]["metrics"]) == {m.name for m in metrics()}
    # Two operations an element and round, whatever vectors the compiler chose.
    counts = {name: sum(values) for name, values in nest["profile"]["counts"].items()}
    operations = counts["fp64_scalar"] + 2 * counts["fp64_128"] + 4 * counts["fp64_256"] + 8 * counts["fp64_512"]
    assert math.isclose(operations, 2 * 20 * 100_000, rel_tol=1e-6)
    # a and b come in, a goes out: the lines of the compulsory traffic.
    assert nest["bound"] == {"bytes": 3 * 8 * 100_000, "kind": "compulsory", "exact": True}
    assert source.read_text() == PROGRAM


def test_profiles_are_kept(tmp_path: Path, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    source, database = tmp_path / "scale.c", tmp_path / "new" / "a.duckdb"
    source.write_text(PROGRAM)
    asked = ["profile", str(source), "--function", "scale", "--threads", "2", "--backend", "simulated", "-q"]
    assert main([*asked, "--db", str(database)], session) == 0
    capsys.readouterr()
    with Database.open(database, read_only=True) as opened:
        rows = opened.rows("SELECT name, source, runtime_s > 0, len(counts['loads']), sizes FROM profiles")
    (row,) = rows
    assert row[:4] == ("scale_0", "simulated", True, 2) and "100000" in row[4]


def test_report(tmp_path: Path, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "twice.c"
    source.write_text(LIBRARY)
    assert (
        main(["profile", str(source), "--param", "n=50000", "--threads", "1", "-v", "--backend", "auto"], session) == 0
    )
    text = capsys.readouterr().out
    assert text.startswith("twice_0 (")
    assert "schedule  as written" in text
    for metric in metrics():
        assert f" {metric.name} " in text
    assert all(c.name in text for c in counters())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--backend", "magic"], 2, "'magic' is not one of 'auto', 'likwid', 'perf', 'simulated'"),
        (["--threads", "0"], 2, "--threads 0"),
        (["--function", "nowhere"], 2, "no function nowhere"),
    ],
)
def test_usage(
    tmp_path: Path,
    session: Session,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    source = tmp_path / "twice.c"
    source.write_text(LIBRARY)
    assert main(["profile", str(source), *arguments], session) == code
    assert message in capsys.readouterr().err


def test_no_nest(tmp_path: Path, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "empty.c"
    source.write_text("int x;\n")
    assert main(["profile", str(source)], session) == 3
