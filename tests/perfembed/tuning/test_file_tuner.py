"""A program that is slow as written: it is run as rarely as possible, and much is tried all the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.api import tune
from perfembed.errors import EXIT_DATABASE, DatabaseProblem, NothingMeasured, SourceRejected
from perfembed.tuning.result import Event, Message
from perfembed.world import World
from profilers.contained.child import Limits

pytestmark = pytest.mark.gcc

# By columns: some 0.4 s as it is written, a tenth of that with the loops interchanged.
SLOW = r"""#include <stdio.h>
static double A[1600][1600], B[1600][1600];
int main(void) {
    FILE *log = fopen(RUNS, "a");
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
    path.write_text(f'#define RUNS "{tmp_path}/runs"\n{SLOW}')
    world = World(tmp_path, writable=(tmp_path,))
    for limit in ("perfembed.tuning.program._KNOWN_S", "perfembed.capture.profile._COMPARED_S"):
        monkeypatch.setattr(limit, 0.0)  # a test has no seconds to wait for a program that takes long
    monkeypatch.setattr("perfembed.tuning.nest_tuner._SLOW", 0.0)
    result = tune(path, output=output, threads=1, search="transfer", budget_s=120, cflags=("-O1",), world=world)
    [nest] = [n for n in result.nests if n.status != "refused"]
    assert nest.status == "tuned" and nest.candidates >= 3 and result.program_output_equal
    assert nest.told_low is None  # not compared in turns
    # profiled, captured (and stopped), and the tuned program once
    assert (tmp_path / "runs").read_text().split() == ["run"] * 3
    assert {"original", "candidates", "checking", "compiling"} <= result.phases.keys()


WRITES = r"""#include <stdio.h>
#include <stdlib.h>
#define N 120
static double A[N][N], B[N][N];
int main(void) {
    double s = 0, x = 0;
    FILE *f = fopen("in.txt", "r");
    if (!f || fscanf(f, "%lf", &s) != 1 || scanf("%lf", &x) != 1) return 9;
    fclose(f);
    for (int t = 0; t < 300; t++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                A[i][j] = 0.5 * A[i][j] + B[i][j] * t + s + x;
    f = fopen("in.txt", "w"); fprintf(f, "%g\n", s + 1); fclose(f);
    f = fopen("log", "a"); fprintf(f, "%d\n", (int)A[3][4]); fclose(f);
    f = fopen("out/result", "wb"); if (f) { fwrite(A, sizeof A, 1, f); fclose(f); }
    remove("gone");
    printf("%s %.17g\n", getenv("MODE"), A[7][9]);
    return 3;
}
"""


def test_a_program_with_a_world(tmp_path: Path) -> None:
    """Its input, a variable, an exit code and files that it rewrites, makes and deletes; all stay the user's."""
    folder = tmp_path / "here"
    (folder / "out").mkdir(parents=True)
    for name, text in (("in.txt", "2.5"), ("log", "old\n"), ("gone", "precious")):
        (folder / name).write_text(text)
    (tmp_path / "input").write_text("7")
    path, output = tmp_path / "p.c", tmp_path / "p.opt.c"
    path.write_text(WRITES)
    world = World(folder, variables=(("MODE", "fast"),), stdin=tmp_path / "input", checked=("out/result",))
    told: list[Event] = []
    result = tune(
        path, output=output, threads=1, budget_s=30, measure=2, cflags=("-O1",), world=world, progress=told.append
    )
    assert {n.status for n in result.nests} <= {"tuned", "kept"} and any(n.candidates for n in result.nests)
    assert result.program_output_equal is not False
    assert any("exit code 3" in event.text for event in told if isinstance(event, Message))
    left = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert left == {"in.txt": "2.5", "log": "old\n", "gone": "precious"}
    with pytest.raises(SourceRejected, match="does not write nothing"):
        tune(path, output=output, threads=1, cflags=("-O1",), world=replace(world, checked=("nothing",)))
    with pytest.raises(SourceRejected, match="ends with exit code 3") as unexpected:
        tune(path, output=output, threads=1, cflags=("-O1",), world=world, expect_exit=0)
    assert "--expect-exit 3" in unexpected.value.advice


def test_a_program_that_never_ends_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text("double a[9];\nint main(void) { for (int i = 0; i < 9; i++) a[i] = i; for (;;) ; }")
    world = World(limits=Limits(wall_s=0.5))
    with pytest.raises(SourceRejected, match=r"did not end within 0\.5 s") as given_up:
        tune(path, output=tmp_path / "out.c", cflags=("-O1",), world=world)
    assert "--run-limit" in given_up.value.advice


def test_paths_in_the_flags_and_a_second_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#define N 120\n")
    (tmp_path / "in.txt").write_text("2.5")
    (tmp_path / "before.h").write_text("#include <math.h>\n")
    (tmp_path / "other.c").write_text("double other(double x) { return x + 1; }\n")
    text = WRITES.replace("#define N 120", '#include "size.h"\ndouble other(double);')
    (tmp_path / "p.c").write_text(text.replace("A[7][9]);", "other(A[7][9]));").replace("return 9", "s = 1"))
    flags = ("-O1", "-I", "inc", "-include", "before.h", "other.c")
    result = tune("p.c", output="p.opt.c", threads=1, budget_s=30, measure=2, cflags=flags)
    assert {n.status for n in result.nests} <= {"tuned", "kept"} and any(n.candidates for n in result.nests)
    assert f"{tmp_path}/inc" in result.flags and not {"other.c", f"{tmp_path}/other.c"} & set(result.flags)


def test_where_nothing_of_ours_compiles_that_is_an_error(tmp_path: Path) -> None:
    """The program brings what it asks the linker for, and its nests alone do not."""
    path, output = tmp_path / "p.c", tmp_path / "p.opt.c"
    path.write_text(SLOW.replace("RUNS", '"/dev/null"') + "int __wrap_setitimer(void) { return 0; }\n")
    with pytest.raises(NothingMeasured, match=r"no nest could be measured.*__wrap_setitimer"):
        tune(path, output=output, threads=1, budget_s=30, cflags=("-O1", "-Wl,--wrap=setitimer"))
    assert not output.exists()


@pytest.mark.parametrize("content", [b"", b"no database\n" * 1000, None])
def test_a_database_that_is_none_is_said_before_anything_is_measured(tmp_path: Path, content: bytes | None) -> None:
    path, database = tmp_path / "p.c", tmp_path / "x.duckdb"
    path.write_text("double a[9];\nint main(void) { for (int i = 0; i < 9; i++) a[i] = i; return 0; }")
    database.mkdir() if content is None else database.write_bytes(content)
    with pytest.raises(DatabaseProblem, match="not a DuckDB database") as problem:
        tune(path, output=tmp_path / "out.c", cflags=("-O1",), database=database)
    assert "--no-db" in problem.value.advice and not (tmp_path / "out.c").exists()


def test_a_database_that_is_damaged_deeper_down_is_said_at_the_end(tmp_path: Path) -> None:
    path, database = tmp_path / "p.c", tmp_path / "x.duckdb"
    path.write_text("double a[9];\nint main(void) { for (int i = 0; i < 9; i++) a[i] = i; return 0; }")
    told: list[Event] = []

    def break_it(event: Event) -> None:
        told.append(event)
        if isinstance(event, Message) and event.text.startswith("running the program"):
            database.write_bytes(b"")

    result = tune(path, output=tmp_path / "out.c", cflags=("-O1",), database=database, budget_s=2, progress=break_it)
    assert result.exit_code == EXIT_DATABASE and (tmp_path / "out.c").exists()
    assert any(isinstance(event, Message) and event.loud and "not a DuckDB database" in event.text for event in told)
