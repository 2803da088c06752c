"""A program that is slow as written: it is run as rarely as possible, and much is tried all the same."""

from pathlib import Path

import pytest

from perfembed.api import tune

# By columns: some 0.4 s as it is written, a tenth of that with the loops interchanged.
SLOW = r"""#include <stdio.h>
static double A[1600][1600], B[1600][1600];
int main(void) {
    FILE *log = fopen("runs", "a");
    if (log) { fputs("run\n", log); fclose(log); }
    for (int t = 0; t < 8; t++)
        for (int j = 0; j < 1600; j++)
            for (int i = 0; i < 1600; i++)
                A[i][j] = 0.5 * A[i][j] + B[i][j] * t + 1.0;
    printf("%.17g\n", A[7][9] + A[1599][3]);
    return 0;
}
"""


def test_a_slow_original_is_run_once_for_its_profile_and_once_for_the_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, output = tmp_path / "slow.c", tmp_path / "tuned.c"
    path.write_text(SLOW)
    for limit in ("perfembed.tuning.program._KNOWN_S", "perfembed.capture.profile._COMPARED_S"):
        monkeypatch.setattr(limit, 0.0)  # a test has no seconds to wait for a program that takes long
    monkeypatch.setattr("perfembed.tuning.nest_tuner._SLOW", 0.0)
    result = tune(path, output=output, threads=1, search="transfer", budget_s=20, cflags=("-O1",))
    [nest] = [n for n in result.nests if n.status != "refused"]
    assert nest.status == "tuned" and nest.candidates >= 3 and result.program_output_equal
    assert nest.told_low is None  # not compared in turns
    # profiled, captured (and stopped), and the tuned program once
    assert (tmp_path / "runs").read_text().split() == ["run"] * 3
    assert {"original", "candidates", "checking", "compiling"} <= result.phases.keys()
