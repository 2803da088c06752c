"""Whole programs by their Makefiles: built, tuned in place, measured in turns."""

import os
from pathlib import Path

import pytest

from perfembed.errors import EnvironmentMissing, UsageError
from profilers.run import DEFAULT_ENVIRONMENT
from tests.evaluation import views
from tests.evaluation.programs import (
    OPENMP,
    SEQUENTIAL,
    TUNED,
    ProgramsBench,
    ProgramScore,
    ProgramsResult,
    append_score,
    read_scores,
    run_programs,
)

MAIN = """#include <stdio.h>
#include <stdlib.h>
double sum(int n, double (*a)[400], double (*b)[400]);
static double a[400][400], b[400][400];
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    double s = 0;
    for (int i = 0; i < 400; i++)
        for (int j = 0; j < 400; j++) a[i][j] = (i * 3 + j) % 7;
    for (int r = 0; r < rounds; r++) s += sum(400, a, b);
    printf("%.10g\\n", s);
    return 0;
}
"""
SUM = """double sum(int n, double (*a)[400], double (*b)[400])
{
    double s = 0;
#pragma omp parallel for
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) b[i][j] = a[i][j] + a[j][i];
    for (int i = 0; i < n; i++) s += b[i][i];
    return s;
}
"""
MAKEFILE = """CC ?= gcc
OPENMP ?= -fopenmp
tiny: main.o sum.o
\t$(CC) -O2 $(OPENMP) -o $@ main.o sum.o
.c.o:
\t$(CC) -O2 $(OPENMP) -c $<
clean:
\trm -f tiny *.o
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name, text in (("main.c", MAIN), ("sum.c", SUM), ("Makefile", MAKEFILE)):
        (folder / name).write_text(text, encoding="ascii")
    (folder / "program.toml").write_text('about = "x"\nargs = ["40"]\nsmall_args = ["20"]\ntolerance = 0.0\n')
    return folder


def bench(*folders: Path) -> ProgramsBench:
    environment = {**DEFAULT_ENVIRONMENT, "OMP_WAIT_POLICY": "passive"}
    return ProgramsBench(folders, 2, 8.0, 1, small=True, environment=environment)


@pytest.mark.gcc
def test_a_program_is_tuned_and_measured(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    result = run_programs(bench(tiny), {}, lambda score: append_score(out, score))
    (score,) = result.scores
    assert not score.problem and score.output is True
    assert (score.files, score.nests) == (2, 2) and 0 < score.seen <= 1
    assert set(score.seconds) == {SEQUENTIAL, OPENMP, TUNED}
    assert sorted(os.listdir(tiny)) == ["Makefile", "main.c", "program.toml", "sum.c"]  # all in copies
    again = run_programs(bench(tiny), read_scores(out), lambda score: pytest.fail("it was known"))
    assert again.scores == result.scores
    page = views.programs(result, markdown=True)
    assert score.machine in page[0] and page[4].startswith("| tiny | ")


@pytest.mark.gcc
def test_a_program_that_does_not_build_is_said_to_be_so(tiny: Path) -> None:
    (tiny / "sum.c").write_text("double sum(\n")
    (score,) = run_programs(bench(tiny), {}, lambda score: None).scores
    assert score.problem and score.output is None
    assert score.problem in views.programs(ProgramsResult(bench(tiny), [score]))[2]


def test_what_is_wrong_is_said(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="make"):
        run_programs(ProgramsBench((tiny,), 2, environment={"PATH": str(tmp_path)}), {}, lambda score: None)
    (tiny / "program.toml").unlink()
    with pytest.raises(UsageError, match=r"program\.toml"):
        run_programs(bench(tiny), {}, lambda score: None)
    (tmp_path / "bad").write_text("[]\n")
    with pytest.raises(UsageError, match="not a file of this command"):
        read_scores(tmp_path / "bad")


def test_means_are_of_programs_that_print_the_same() -> None:
    def score(output: bool | None, seconds: float) -> ProgramScore:
        return ProgramScore("x", output=output, seconds={SEQUENTIAL: [4.0], OPENMP: [2.0, 3.0], TUNED: [seconds, 9.0]})

    result = ProgramsResult(bench(), [score(True, 1.0), score(True, 4.0), score(False, 0.01), score(None, 0.01)])
    assert result.mean_gain(SEQUENTIAL) == pytest.approx(2.0) and result.mean_gain(OPENMP) == pytest.approx(1.0)
