"""Data-dependent loops that are empty run nothing, whatever is made of their first and last iterations."""

import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.schedule import parse_schedule
from tests.rewriting import read, rewritten, without_originals

PROGRAM = r"""#include <stdio.h>
static int row[9] = {0, 3, 3, 5, 5, 5, 9, 9, 12}, back[9] = {4, 0, 3, 9, 2};
static double a[64], b[64];
void rows(int n) {
    for (int i = 0; i < n; i++)
        for (int j = row[i]; j < row[i + back[0] - 3]; j++) { a[j] += i; b[j] += 2 * j; }
}
void down(int n) { for (int i = back[n]; i-- > 0;) { a[i] += 3; b[i] += 5; } }
void deep(int n) {
    for (int i = 0; i < n; i++)
        for (int k = back[i]; k < 4; k++)
            for (int j = row[k]; j < row[k + 1]; j++) { a[j] += i; b[j] += 2 * k; }
}
int main(void) {
    rows(8); down(1); down(0); down(2); deep(5);
    double s = 0;
    int k = 0;
    while (k < 64) { s = s * 1.37 + a[k] + 0.3 * b[k]; k++; }
    printf("%.17g\n", s);
}
"""


@pytest.mark.parametrize(
    ("function", "schedule"),
    [
        ("rows", "shift(j, S1, 1)"),
        ("rows", "tile([j], [3]); shift(j, S1, 1)"),
        ("down", "shift(i, S1, 1)"),
        ("down", "tile([i], [3]); shift(i, S1, 1)"),
        ("deep", "shift(j, S1, 1)"),
    ],
)
def test_shifted(function: str, schedule: str, tmp_path: Path) -> None:
    source = read(tmp_path / "a.c", PROGRAM.encode())
    (nest,) = (nest for nest in source.nests if nest.function == function)
    written = rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)])
    said = []
    for text in (source.content, without_originals(written)):
        (tmp_path / "b.c").write_bytes(text)
        command = [
            "gcc",
            "-O1",
            "-w",
            "-fsanitize=address,undefined",
            "-fopenmp",
            tmp_path / "b.c",
            "-o",
            tmp_path / "b",
        ]
        subprocess.run(command, check=True)
        said.append(subprocess.run([tmp_path / "b"], capture_output=True, text=True, timeout=20))
    assert (said[1].stdout, said[1].stderr) == (said[0].stdout, ""), written.decode()
