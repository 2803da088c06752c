"""OpenMP programs: races seen, none invented, outputs kept. All: `python -m tests.campaigns openmp`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from profilers.run import DEFAULT_ENVIRONMENT
from tests.campaigns.commands import app
from tests.campaigns.openmp.check import OpenmpBench, OpenmpResult, ProgramCheck, run_openmp
from tests.campaigns.openmp.programs import OpenmpProgram, openmp_programs

PROGRAMS = {program.name: program for program in openmp_programs()}


def test_there_are_many_in_all_manners() -> None:
    assert len(PROGRAMS) >= 290
    assert sum(bool(p.race) for p in PROGRAMS.values()) >= 90
    assert {name.partition("/")[2] for name in PROGRAMS} >= {
        "region",
        "orphaned",
        "collapse",
        "nowait",
        "simd",
        "single",
    }


def test_a_small_campaign() -> None:
    result = run_openmp(OpenmpBench(seed=5, limit=14, draws=1, environment=DEFAULT_ENVIRONMENT), lambda *_: None)
    assert not result.wrong, result.wrong
    assert result.programs == 14 and result.counts["runs"] and result.counts["planted races seen"]


def check(program: OpenmpProgram, folder: Path) -> OpenmpResult:
    bench = OpenmpBench(environment=DEFAULT_ENVIRONMENT)
    tally = OpenmpResult(bench)
    ProgramCheck(program, bench, folder, tally).run()
    return tally


@pytest.mark.parametrize("name", ["prefix/parallel-for", "shared-temporary/region", "columns/orphaned"])
def test_a_race_that_is_not_expected_is_wrong(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    claimed = OpenmpProgram(name, program.source, "", False)
    assert "no race, but" in check(claimed, tmp_path).wrong[0][1]


def test_a_race_that_is_not_seen_is_wrong(tmp_path: Path) -> None:
    claimed = OpenmpProgram("x", PROGRAMS["gather/parallel-for"].source, "y", False)
    assert "the race in y is not seen" in check(claimed, tmp_path).wrong[0][1]


def test_another_output_is_wrong(tmp_path: Path) -> None:
    """What counts is what the original prints without threads."""
    made = ProgramCheck(
        PROGRAMS["fill/region"], OpenmpBench(environment=DEFAULT_ENVIRONMENT), tmp_path, OpenmpResult(OpenmpBench())
    )
    source = PROGRAMS["prefix/parallel-for"].source.encode()
    slow = source.replace(b"x[i - 1] + 1", b"x[i - 1] + 2")
    assert made.output(source, ("-O2",), 1, "a") != made.output(slow, ("-O2",), 1, "b")
    assert "failed" in made.output(b"int main(void) { return 3; }", ("-O2",), 1, "c")


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["openmp", "--programs", "1", "--draws", "0"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and "1 programs" in done.stdout and done.stdout.endswith("0 wrong\n")
    monkeypatch.setattr(ProgramCheck, "run", lambda self: self.wrong("no good"))
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 1 and "  no good" in found.stdout
