"""Nests with which the whole program says something else are given back; the others stay tuned."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from optdb.confirmed import confirmed_schedules
from optdb.database import Database
from perfembed.api import tune
from perfembed.building.compiling import CompileAndLink, one_file
from perfembed.capture.program import ProgramRun
from perfembed.capture.stage import Stage
from perfembed.measuring.measurer import Checked
from perfembed.measuring.stopwatch import Budget
from perfembed.tuning.nest_outcome import NestOutcome, Winner
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.program import Verifier
from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.winners import Winners
from perfembed.world import World
from profilers.build import CompilerConfig
from profilers.outcome import Timed
from profilers.timing import Comparison, Round, compare_apart
from scheduler.codegen.emit.team_text import definition as team_definition
from scheduler.codegen.emit.text import _WITH_ERRNO
from scheduler.errors import SchedulerError
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from tests.perfembed.tuning.test_opening import as_if_faster, with_every_nest
from tests.rewriting import read, surveyed

pytestmark = pytest.mark.gcc

GCC = CompilerConfig("gcc", ("-O1",))
ORIGINAL = """#include <stdio.h>
int main(void) { printf("%d %d %d\\n", A, B, C); return 0; }
"""


def run_of(tmp_path: Path) -> ProgramRun:
    return ProgramRun(build(tmp_path), Stage(World(), tmp_path / "stage"))


def verifier(tmp_path: Path, content: str = ORIGINAL, reassociate: bool = False) -> Verifier[str]:
    """The nests of the file are the macros A, B and C, exchanged for what is said of them."""
    head = "#define A 1\n#define B 2\n#define C 3\n"

    def rewritten(nests: Sequence[str]) -> dict[str, bytes]:
        if "D" in nests:
            raise SchedulerError("no way")
        changed = head
        for nest in nests:
            name, value = nest.split("=")
            changed += f"#undef {name}\n#define {name} {value}\n"
        return {str(path): (changed + content).encode()}

    path = tmp_path / "p.c"
    text = (head + content).encode()
    return Verifier({str(path): text}, rewritten, (), tmp_path / "work", 1, reassociate)


def build(tmp_path: Path, compiler: CompilerConfig = GCC) -> CompileAndLink:
    return one_file(str(tmp_path / "p.c"), b"", compiler, tmp_path)


@pytest.mark.parametrize(
    ("nests", "left", "reason"),
    [
        (("A=1", "B=7", "C=3"), ("A=1", "C=3"), "stdout line 1: b'1 2 3' became b'1 7 3'"),
        (("A=1", "B=oops", "C=3"), ("A=1", "C=3"), "error: 'oops' undeclared"),
        (("A=1", "D"), ("A=1",), "no code: no way"),
        (("A=*(int *)0",), (), "the tuned program fails"),
    ],
)
def test_what_changes_the_program_is_found(
    tmp_path: Path, nests: tuple[str, ...], left: tuple[str, ...], reason: str
) -> None:
    checked = verifier(tmp_path)
    program = run_of(tmp_path)
    comparison = checked.compare(program, nests)
    assert not checked.sound(comparison)
    kept, why = checked.kept(program, nests, comparison.difference)
    assert kept == left
    assert reason in why or reason in comparison.difference


def test_files_and_exit_codes_are_compared(tmp_path: Path) -> None:
    text = """#include <stdio.h>
int main(void) { FILE *f = fopen("out.txt", "w"); fprintf(f, "%d %g\\n", A, B * 1.0); fclose(f); return C; }
"""
    checked = verifier(tmp_path, text)
    program = run_of(tmp_path)
    comparison = checked.compare(program, ("A=1", "B=2.0000001", "C=4"))
    assert comparison.difference == "exit code 3 became 4"
    assert checked.kept(program, ("A=1", "B=2.1", "C=4"), comparison.difference)[0] == ("A=1",)
    different = checked.compare(program, ("B=2.1",)).difference
    assert different == "out.txt line 1: b'1 2' became b'1 2.1'"
    near = replace(program, stage=Stage(World(tolerance=0.1, checked=("out.txt",)), tmp_path / "near"))
    assert checked.compare(near, ("B=2.1",)).equal and not checked.compare(near, ("B=3",)).equal


def test_reassociated_sums_may_differ_but_must_run(tmp_path: Path) -> None:
    checked = verifier(tmp_path, reassociate=True)
    program = run_of(tmp_path)
    assert checked.sound(checked.compare(program, ("A=7",)))
    assert not checked.sound(checked.compare(program, ("A=oops",)))


def test_a_program_that_does_not_run_either_way(tmp_path: Path) -> None:
    checked = verifier(tmp_path, ORIGINAL.replace("A,", "gone,"))
    kept, why = checked.kept(run_of(tmp_path), ("A=1",), "differs")
    assert kept == () and "compared with itself" in why and "'gone' undeclared" in why


def test_a_file_without_main_must_compile(tmp_path: Path) -> None:
    checked = verifier(tmp_path, "int f(void) { return A + B + C; }\n")
    program = build(tmp_path)
    assert checked.that_compile(program, ("A=1", "B=2")) == (("A=1", "B=2"), "")
    kept, why = checked.that_compile(program, ("A=1", "B=oops", "C=3"))
    assert kept == ("A=1", "C=3") and "'oops' undeclared" in why
    assert verifier(tmp_path, "int f(void) { return A + gone; }\n").that_compile(program, ("A=1",))[0] == ("A=1",)


WORK = """#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#define N 60
static double A[N][N], B[N][N], x[4000];
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) B[i][j] = (i * j) % 7;
    for (int i = 0; i < 4000; i++) x[i] = 3999 - i;
    BEFORE;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) A[i][j] = B[i][j] * 2.0;
    fflush(stdout);
    for (int i = 0; i < 4000; i++) x[i] = LOOP;
    printf("%d %g %g\\n", AFTER, A[3][4], x[50]);
    return 0;
}
"""


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: threads keep for themselves what they raised."""
    told = team_definition(errno=True)
    forgetful = told.replace("if (pe_t->pe_error)", "if (0)").replace("pe_raise(pe_t->pe_flags)", "(void)0")
    assert forgetful.count("if (0)") == 1 and "pe_raise(pe_t->pe_flags)" not in forgetful != told
    monkeypatch.setitem(_WITH_ERRNO, "pe_threads", forgetful)


@pytest.mark.parametrize(
    ("before", "loop", "after"),
    [
        ("errno = 0", "log(x[i])", "errno != 0"),
        ("feclearexcept(FE_ALL_EXCEPT)", "1.0 / x[i]", "fetestexcept(FE_DIVBYZERO) != 0"),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_only_the_nest_behind_which_errno_or_flags_are_read_is_given_back(
    tmp_path: Path, before: str, loop: str, after: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both belong to a thread: where it is not told what the last iteration sets in another one."""
    if not told:
        forget(monkeypatch)
    path = tmp_path / "p.c"
    text = WORK.replace("BEFORE", before).replace("LOOP", loop).replace("AFTER", after).encode()
    source = read(path, text)
    schedules = ["", "interchange(j, i)", "parallelize(i)"]
    rewrites = [Rewrite(n, parse_schedule(s), 1.0) for n, s in zip(source.nests, schedules, strict=True)]
    found = surveyed(source)

    def rewritten(nests: Sequence[Rewrite]) -> dict[str, bytes]:
        return {str(path): rewrite_source(source, nests, 32, found)}

    checked = Verifier({str(path): text}, rewritten, ("-fopenmp",), tmp_path / "work", 2, False)
    program = run_of(tmp_path)
    comparison = checked.compare(program, rewrites)
    if told:
        assert comparison.ran and not comparison.difference, comparison
        return
    assert comparison.ran and "b'1 10 " in comparison.difference, comparison
    kept, why = checked.kept(program, rewrites, comparison.difference)
    assert list(kept) == rewrites[:2]
    assert "says something else: stdout line 1" in why


def test_code_that_cannot_be_written_is_not_said_to_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text("int main(void) { return 0; }\n")

    def rewritten(nests: Sequence[str]) -> dict[str, bytes]:
        if "deep" in nests:
            raise SchedulerError("beyond the limits")
        return {str(path): path.read_bytes()}

    checked = Verifier({str(path): path.read_bytes()}, rewritten, (), tmp_path / "work", 2, False)
    program = run_of(tmp_path)
    comparison = checked.compare(program, ["one", "deep"])
    assert checked.kept(program, ["one", "deep"], comparison.difference) == (("one",), "no code: beyond the limits")


def test_tune_gives_back_one_nest_and_writes_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the winners of the search given: what is faster here is not for a test to say."""
    round_ = Round((Timed((2.0,)),) * 2, (Timed((1.0,)),) * 2, 0.0, True)
    comparison = Comparison(2.0, 1.9, 2.1, (2.0,), (1.0,), False, (round_,), 0.95)

    def found(self: NestTuner) -> NestOutcome:
        step = "parallelize(i)" if self.nest.name == "main_2" else ""
        scheduled = self.replayer.replay(parse_schedule(step))
        assert isinstance(scheduled, ScheduledNest)
        self.outcome.winner = Winner(scheduled, comparison, ("equal",))
        return self.outcome

    forget(monkeypatch)
    monkeypatch.setattr(NestTuner, "run", found)
    with_every_nest(monkeypatch)
    path, output = tmp_path / "p.c", tmp_path / "tuned.c"
    path.write_text(WORK.replace("BEFORE", "errno = 0").replace("LOOP", "log(x[i])").replace("AFTER", "errno != 0"))
    result = tune(path, output=output, threads=2, search="random", budget_s=20, cflags=("-O1",))
    reports = {report.nest: report for report in result.nests}
    assert [name for name, report in reports.items() if report.given_back] == ["main_2"]
    assert reports["main_2"].status == "kept" and "says something else" in reports["main_2"].reason
    assert result.exit_code == 0 and result.program_output_equal is not False
    assert b"parallel for" not in output.read_bytes()


def test_what_there_is_no_time_to_verify_stays_as_it_was_and_is_not_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare_apart(Timed((2.0, 2.1)), Timed((1.0, 1.1)))
    late: list[bool] = []

    def found(self: NestTuner) -> NestOutcome:
        scheduled = self.replayer.replay(parse_schedule("interchange(j, i)"))
        if isinstance(scheduled, ScheduledNest):
            self.ledger.begin(self.replayer, Timed((2.0, 2.1)))
            self.ledger.confirmed(scheduled.schedule, comparison, Checked(("equal",), inputs=(None,), tolerance=0.0))
            self.outcome.winner, self.outcome.chosen = Winner(scheduled, comparison, ("equal",)), scheduled.schedule
            late.append(True)
        return self.outcome

    monkeypatch.setattr(Budget, "at_last", lambda budget: -1.0 if late else 60.0)
    monkeypatch.setattr(NestTuner, "run", found)
    with_every_nest(monkeypatch)
    path, output, database = tmp_path / "p.c", tmp_path / "tuned.c", tmp_path / "a.duckdb"
    path.write_text(WORK.replace("BEFORE", "errno = 0").replace("LOOP", "log(x[i])").replace("AFTER", "errno != 0"))
    result = tune(path, database=database, output=output, threads=1, search="random", budget_s=20, cflags=("-O1",))
    given_up = [nest for nest in result.nests if "before the whole program was checked" in nest.reason]
    assert given_up and all(nest.status == "kept" and not nest.given_back for nest in given_up)
    assert output.read_bytes() == path.read_bytes() and result.exit_code == 0
    with Database.open(database, read_only=True) as opened:
        assert opened.rows("SELECT count(*) FROM measurements WHERE outcome = 'wrong_result'") == [(0,)]
        assert confirmed_schedules(opened)


def test_what_the_whole_program_does_not_bear_is_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was confirmed for the nest alone; the database then says that it computed something else."""
    comparison = compare_apart(Timed((2.0, 2.1)), Timed((1.0, 1.1)))

    def found(self: NestTuner) -> NestOutcome:
        schedule = parse_schedule("parallelize(i)" if self.nest.name == "main_2" else "interchange(j, i)")
        scheduled = self.replayer.replay(schedule)
        if isinstance(scheduled, ScheduledNest):
            self.ledger.begin(self.replayer, Timed((2.0, 2.1)))
            self.ledger.confirmed(schedule, comparison, Checked(("equal",), inputs=(None, 1), tolerance=0.0))
            self.outcome.winner, self.outcome.chosen = Winner(scheduled, comparison, ("equal",)), schedule
        return self.outcome

    forget(monkeypatch)
    monkeypatch.setattr(NestTuner, "run", found)
    monkeypatch.setattr(Winners, "_verify_program", as_if_faster(Winners._verify_program))
    with_every_nest(monkeypatch)
    path, database = tmp_path / "p.c", tmp_path / "a.duckdb"
    path.write_text(WORK.replace("BEFORE", "errno = 0").replace("LOOP", "log(x[i])").replace("AFTER", "errno != 0"))
    result = tune(path, database=database, threads=2, search="random", budget_s=20, cflags=("-O1",))
    assert [nest.nest for nest in result.nests if nest.given_back] == ["main_2"]
    with Database.open(database, read_only=True) as opened:
        assert opened.rows("SELECT count(*) FROM measurements WHERE outcome = 'wrong_result'") == [(1,)]
        confirmed = {one.schedule for one in confirmed_schedules(opened)}
    assert confirmed and "parallelize(L0)" not in confirmed
