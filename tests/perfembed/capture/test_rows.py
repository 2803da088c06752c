"""Rows behind tables of pointers, captured in the layout they have: replaying a nest on them gives what it computed."""

from itertools import pairwise
from pathlib import Path

import pytest

from perfembed.capture import CapturedNest, synthesize
from perfembed.capture.fills import make_workload
from perfembed.capture.rows import rows_name
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from tests.perfembed.capture_support import assert_replays, captured, contents, good, marked

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    enum { N = 9, M = 14 };
    double **a = malloc(N * sizeof *a), **b = malloc(N * sizeof *b), *block = calloc(N * (M + 3), 8);
    for (int i = 0; i < N; i++) {
        a[i] = block + (i * 4 % N) * (M + 3);
        b[i] = i == 4 ? b[2] : (double *)calloc(700, 8) + 1;
        for (int j = 0; j < M; j++) { a[i][j] = i * j % 7; b[i][j] = i - j; }
    }
    a[0] = (double *)16;
    for (int t = 0; t < 3; t++)
        /*<*/for (int i = 1; i < N; i++)
            for (int j = 2; j < M; j++)
                a[i][j] += a[i][j - 1] * 0.5 + b[i - 1][j];/*>*/
    printf("%g\\n", a[3][5]);
    return 0;
}
"""
IR = """nest rows {
  array a: double[?][?] pointer rows 1;
  array b: double[?][?] pointer const rows 1;
  for i: int in [1, 9) step 1 {
    for j: int in [2, 14) step 1 { S0: a[i][j] += a[i][j - 1] * 0.5 + b[i - 1][j]; }
  }
}
"""


@pytest.mark.gcc
def test_replayed(tmp_path: Path) -> None:
    source = marked(tmp_path / "rows.c", PROGRAM, IR)
    capture = good(captured(source, tmp_path / "work")[0])
    assert [a.name for a in capture.arrays] == ["a", "a.rows", "b", "b.rows"]
    places = contents(capture, rows_name("a"))
    assert places[0] == 9 and len(places) == 10
    steps = {int(y - x) // 8 % 17 for x, y in pairwise(places[2:])}
    assert steps == {0}  # rows of 17 numbers
    assert capture.overlaps == (("b", "b"),)
    assert_replays(source.nests[0], capture, tmp_path / "replay")


@pytest.mark.gcc
def test_every_second_row(tmp_path: Path) -> None:
    """The pointers between are not looked at."""
    head, loops = PROGRAM.replace("a[0] = (double *)16;", "for (int i = 0; i < N; i += 2) a[i] = 0;").split("/*<*/")
    loops = loops.replace("i < N", "i < 5").replace("a[i]", "a[2 * i - 1]")
    text = IR.replace("[1, 9)", "[1, 5)").replace("a[i]", "a[2*i - 1]")
    source = marked(tmp_path / "rows.c", f"{head}/*<*/{loops}", text)
    capture = good(captured(source, tmp_path / "work")[0])
    assert contents(capture, rows_name("a"))[0] == 8
    assert_replays(source.nests[0], capture, tmp_path / "replay")


@pytest.mark.gcc
def test_rows_that_are_written_and_overlap_cannot_be_measured(tmp_path: Path) -> None:
    source = marked(tmp_path / "rows.c", PROGRAM.replace("a[0] = (double *)16", "a[2] = a[3] + 1"), IR)
    capture = good(captured(source, tmp_path / "work")[0])
    text, specs = kernel_source(plain(source.nests[0]), emit_original(plain(source.nests[0])))
    failed = make_workload(source.nests[0], text, specs, capture, "captured", 1)
    assert "rows of a overlap" in failed.reason  # type: ignore[union-attr]


@pytest.mark.parametrize("levels", [1, 2])
def test_made_up(levels: int, tmp_path: Path) -> None:
    source = marked(tmp_path / "rows.c", PROGRAM, IR)
    nest = source.nests[0]
    if levels == 2:
        text = IR.replace("[?][?]", "[?][?][?]").replace("rows 1", "rows 2")
        for old in ("a[i][j]", "a[i][j - 1]", "b[i - 1][j]"):
            text = text.replace(old, old + "[i]")
        nest = marked(tmp_path / "rows.c", PROGRAM, text).nests[0]
    made = synthesize(nest, {}, 1, tmp_path)
    assert isinstance(made, CapturedNest)
    assert made.array("a").count == (9 * 12 if levels == 1 else 9 * 14 * 8) + (9 if levels == 1 else 0)
