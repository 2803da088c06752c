"""Projects of several files: tuned together by one command, however they are built."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from perfembed.capture import ProgramProfile
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_NOT_READ, NotRead, NoTunableNest, SourceRejected, UsageError
from perfembed.measuring.stopwatch import Stopwatch
from perfembed.tuning import opening, project_tuner
from perfembed.tuning.inputs import Collecting
from perfembed.tuning.nest_outcome import NestOutcome, Winner
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.opening import HowBuilt, found_commands, open_project, tune_project, unique
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.program import ProgramComparison
from perfembed.tuning.project import NOT_ENTERED, Project
from perfembed.tuning.result import Event, Message, TuneResult
from perfembed.tuning.source import parse_all
from perfembed.tuning.winners import Winners
from perfembed.world import World
from profilers.build import CompilerConfig
from profilers.deadline import within
from profilers.outcome import Timed
from profilers.timing import Comparison, Round
from scheduler.frontend import ParseOptions, read_source
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from tests.little_time import no_time_to_read

GRID = Path(__file__).parent.parent / "building" / "grid"
NAMES = ("main", "start", "product", "relax", "columns", "scale", "turn", "mix", "norm", "report")
FILES = [f"src/{name}.c" for name in NAMES]
WON = {"product_0": "parallelize(i)", "turn_0": "interchange(i, j)", "clear_0_b": "parallelize(i)"}
FLAGS = ("-O2", "-Iinclude", "-Ibuild", "-DSCALE=3", '-DNAME="a grid"')


Verified = Callable[[Winners, ProgramProfile], ProgramComparison | None]


def as_if_faster(verify: Verified) -> Verified:
    """The comparison of the whole programs, whatever their times are."""

    def verified(self: Winners, profile: ProgramProfile) -> ProgramComparison | None:
        found = verify(self, profile)
        return replace(found, tuned_s=0.0) if found is not None else None

    return verified


def with_every_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little of the time it takes."""
    monkeypatch.setattr(project_tuner, "Collecting", partial(Collecting, least_share=0.0))


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, and a search that finds what the tests say: what is faster here is not for them to say."""
    folder = tmp_path / "grid"
    shutil.copytree(GRID, folder)
    makefile = folder / "Makefile"
    makefile.write_text(makefile.read_text().replace("#define N 500", "#define N 150"))
    monkeypatch.chdir(folder)
    round_ = Round((Timed((2.0,)),) * 2, (Timed((1.0,)),) * 2, 0.0, True)
    comparison = Comparison(2.0, 1.9, 2.1, (2.0,), (1.0,), False, (round_,), 0.95)

    def found(self: NestTuner) -> NestOutcome:
        if self.nest.name in WON:
            scheduled = self.replayer.replay(parse_schedule(WON[self.nest.name]))
            assert isinstance(scheduled, ScheduledNest)
            self.outcome.winner = Winner(scheduled, comparison, ("equal",))
        else:
            self.outcome.reason = "nothing"
        return self.outcome

    monkeypatch.setattr(NestTuner, "run", found)
    monkeypatch.setattr(Winners, "_verify_program", as_if_faster(Winners._verify_program))
    with_every_nest(monkeypatch)
    return folder


def output(command: str = "./grid 2") -> str:
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def tuned(paths: list[str], how: HowBuilt, told: list[Event] | None = None, **options: object) -> TuneResult:
    environment = (("PATH", os.defpath), ("PERFEMBED_LOCK", str(Path.cwd())))  # nothing is measured for others to wait
    options = {"threads": 2, "budget_s": 40.0, "search": "random", "world": World(Path.cwd()), **options}
    options["environment"] = environment
    return tune_project(paths, how, TuneOptions(**options), [].append if told is None else told.append)  # type: ignore[arg-type]


def statuses(result: TuneResult) -> dict[str, tuple[str, str]]:
    return {nest.nest: (nest.file, nest.status) for nest in result.nests}


@pytest.mark.gcc
def test_a_project_with_a_makefile_is_tuned_in_place_and_made_again(grid: Path) -> None:
    subprocess.run(["make", "-s", "grid"], check=True)
    expected, before = output(), (grid / "src/product.c").read_bytes()
    result = tuned([], HowBuilt(command="make grid"), in_place=True, world=World(Path.cwd(), ("2",)))
    found = statuses(result)
    assert found["product_0"] == ("src/product.c", "tuned") and found["turn_0"] == ("src/turn.c", "tuned")
    assert found["clear_0"] == ("src/product.c", "kept") and found["clear_0_b"] == ("src/relax.c", "tuned")
    assert found["loop at line 10"] == ("include/grid.h", "refused")
    assert not any(file == "src/check.c" for file, _ in found.values())
    assert result.program_output_equal and result.exit_code == 0
    written = {file.path: file for file in result.files if file.output_path is not None}
    assert set(written) == {"src/product.c", "src/turn.c", "src/relax.c"}
    assert written["src/product.c"].needs == ("-fopenmp",) and written["src/turn.c"].needs == ()
    assert (grid / "src/product.c").read_bytes() != before
    subprocess.run(["make", "-s", "grid"], check=True)
    assert output() == expected
    subprocess.run(["make", "-s", "clean"], check=True)
    subprocess.run(["make", "-s", "grid", "LDFLAGS=-fopenmp", "CC=gcc -fopenmp"], check=True)
    assert output() == expected


@pytest.mark.gcc
@pytest.mark.usefixtures("own_parser")
def test_files_that_there_was_no_time_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are left out, which is said and has an exit code; where they are named or nothing is left, it fails."""
    monkeypatch.chdir(tmp_path)
    loop = "for (int i = 0; i < 9; i++) {}[i] = i;"
    Path("a.c").write_text(f"double a[9]; void f(void);\nint main(void) {{ {loop.format('a')} f(); return 0; }}\n")
    Path("b.c").write_text(f"double b[9];\nvoid f(void) {{ {loop.format('b')} }}\n")
    no_time_to_read(monkeypatch, "b.c")
    told: list[Event] = []
    result = tuned([], HowBuilt(command="gcc -O1 a.c b.c -o p"), told, dry_run=True, budget_s=2.0)
    assert result.exit_code == EXIT_NOT_READ
    (problem,) = result.unread
    assert problem.startswith("b.c: not read: the C parser needed more than 0.01 s of processor time")
    assert any(isinstance(event, Message) and event.loud and problem in event.text for event in told)
    assert statuses(result)["main_0"][0] == "a.c"
    with pytest.raises(NotRead, match=r"b\.c: not read"):
        tuned(["a.c", "b.c"], HowBuilt(command="gcc -O1 a.c b.c -o p"), dry_run=True)
    Path("a.c").write_text("void f(void);\nint main(void) { f(); return 0; }\n")
    with pytest.raises(NotRead, match=r"b\.c: not read"):
        tuned([], HowBuilt(command="gcc -O1 a.c b.c -o p"), dry_run=True)


@pytest.mark.gcc
def test_a_library_that_another_program_calls(grid: Path) -> None:
    before = {path: path.read_bytes() for path in grid.rglob("*") if path.is_file()}
    result = tuned(["src/product.c"], HowBuilt(command="make grid check", program="./check"), output_folder="out")
    assert statuses(result)["product_0"] == ("src/product.c", "tuned")
    assert result.output_path == "out/src/product.c" and result.program_output_equal
    after = {path: path.read_bytes() for path in grid.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before and set(after) - set(before) == {grid / "out/src/product.c"}


@pytest.mark.gcc
def test_files_that_are_compiled_and_linked_together(grid: Path) -> None:
    subprocess.run(["make", "-s", "build/size.h"], check=True)
    result = tuned(FILES, HowBuilt(), output="", dry_run=True, cflags=FLAGS, world=World(Path.cwd(), ("1",)))
    assert {n for n, (_, status) in statuses(result).items() if status == "tuned"} == set(WON)
    assert result.program_output_equal and not any(file.output_path for file in result.files)


@pytest.mark.gcc
def test_a_file_of_a_compile_commands_json_with_all_that_it_needs(grid: Path) -> None:
    subprocess.run(["make", "-s", "build/size.h"], check=True)
    entries = [
        {"directory": str(grid), "file": file, "arguments": ["gcc", *FLAGS, "-c", file, "-o", f"{file}.o"]}
        for file in FILES
    ]
    (grid / "compile_commands.json").write_text(json.dumps(entries))
    assert found_commands(["src/turn.c"]) == "compile_commands.json" and found_commands(["src/check.c"]) is None
    how = HowBuilt(commands="compile_commands.json", more=("-O1",))
    result = tuned(["src/turn.c"], how, output="turned.c", cflags=("-O1",), world=World(Path.cwd(), ("1",)))
    assert statuses(result)["turn_0"] == ("src/turn.c", "tuned") and result.program_output_equal
    assert result.flags == ("-O2", "-O1", "-fopenmp") and (grid / "turned.c").exists()


def test_names_of_nests_are_those_of_one_nest(tmp_path: Path) -> None:
    text = b"static double a[9];\nvoid f(void) { for (int i = 0; i < 9; i++) a[i] = i; }\n"
    sources = unique([read_source(f"{name}.c", ParseOptions(), text) for name in "xyz"])
    assert [nest.name for source in sources for nest in source.nests] == ["f_0", "f_0_b", "f_0_c"]
    assert [list(source.assumptions) for source in sources] == [["f_0"], ["f_0_b"], ["f_0_c"]]


@pytest.mark.gcc
def test_what_is_wrong_is_said(grid: Path) -> None:
    subprocess.run(["make", "-s", "build/size.h"], check=True)
    make = HowBuilt(command="make grid")
    with pytest.raises(UsageError, match="same file"):
        tuned(["src/mix.c", "./src/mix.c"], make)
    with pytest.raises(UsageError, match="not compiled by the build"):
        tuned(["src/check.c"], make)
    with pytest.raises(SourceRejected, match="No rule"):
        tuned([], HowBuilt(command="make nothing"))
    with pytest.raises(SourceRejected, match="each has a main"):
        tuned(["src/main.c", "src/check.c"], HowBuilt(), cflags=FLAGS)
    with pytest.raises(UsageError, match="no function nobody"):
        tuned(FILES, HowBuilt(), cflags=FLAGS, functions=("nobody",))
    for name in ("mix", "norm"):
        (grid / f"src/{name}.c").write_text("int nothing;\n")
    with pytest.raises(NoTunableNest, match=r"src/mix.c, src/norm.c: no loop nest found"):
        tuned(["src/mix.c", "src/norm.c"], HowBuilt(), cflags=FLAGS)
    (grid / "src/mix.c").write_text('#include "grid.h"\noops\n')
    with pytest.raises(SourceRejected, match=r"^the build fails: make grid: src/mix.c:2:1: error"):
        tuned([], make)


@pytest.mark.gcc
def test_a_file_that_cannot_be_read_is_no_reason_to_leave_the_others(grid: Path) -> None:
    told: list[Event] = []
    strange = "int f(int k) { return k; }"
    (grid / "src/mix.c").write_text(
        f'#include "grid.h"\nunsigned long mix(grid a)\n{{\n{strange}\nfor (;;) return f(3);\n}}\n'
    )
    result = tuned([], HowBuilt(command="make grid"), told, dry_run=True, world=World(Path.cwd(), ("1",)))
    assert [n.reason for n in result.nests if n.file == "src/mix.c" and n.status == "refused"]
    assert statuses(result)["product_0"][1] == "tuned"
    assert [event for event in told if isinstance(event, Message) and "to see how" in event.text]


def test_files_that_there_is_no_time_to_read_are_left_alone(tmp_path: Path) -> None:
    """The first one is read in any case."""
    texts = {name: b"void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = i; }" for name in ("a.c", "b.c")}
    files = [(name, text, CompilerConfig("gcc", ())) for name, text in texts.items()]
    unread: list[str] = []
    left = iter((0.0, 60.0))  # when half of it has passed, and when all of it has
    with within(lambda: next(left)):
        first, second = parse_all(files, TuneOptions(), unread)
    assert len(unread) == 1 and unread[0].startswith("b.c: the file was not read")
    assert len(first.nests) == 1 and not first.rejections
    assert not second.nests and "not read" in second.rejections[0].reason
    assert all(len(source.nests) == 1 for source in parse_all(files, TuneOptions()))


PARTED = {
    "main.c": "void hot(int n, double *a); void cold(int n, double *a);\ndouble a[3000];\n"
    "int main(int argc, char **argv)\n"
    "{\nfor (int r = 0; r < 250000; r++) hot(3000, a);\nif (argc > 9) cold(3000, a);\nreturn a[7] == 0.5;\n}\n",
    "hot.c": "void hot(int n, double *a) { for (int i = 0; i < n; i++) a[i] = a[i] / 3 + i; }\n",
    "cold.c": "void cold(int n, double *a) { for (int i = 0; i < n; i++) a[i] += i; }\n",
    "Makefile": "p: main.o hot.o cold.o\n\tgcc $^ -o $@\n%.o: %.c\n\tgcc -O1 -c $<\n",
}


@pytest.mark.gcc
def test_files_in_which_no_time_is_spent_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many files: of few all are read. Whoever asks for a function has it looked at."""
    for name, text in PARTED.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    environment = (("PATH", os.defpath),)
    options = TuneOptions(world=World(tmp_path), environment=environment)

    def opened(number: int, options: TuneOptions = options, whole: bool = False) -> Project:
        scratch = tmp_path / "scratch" / str(number)
        return open_project([], HowBuilt(command="make"), options, lambda text: None, scratch, Stopwatch(), whole)

    assert {nest.function for nest in opened(0).nests} == {"hot", "cold"}
    monkeypatch.setattr(opening, "_READ_S", 0.1)
    project = opened(1)
    assert {nest.function for nest in project.nests} == {"hot"}
    assert project.cold == {"cold.c"}
    (cold,) = (source for source in project.sources if source.path == "cold.c")
    assert cold.rejections[0].reason.startswith(f"{NOT_ENTERED}: none of ")
    assert {nest.function for nest in opened(2, whole=True).nests} == {"hot", "cold"}
    assert {nest.function for nest in opened(3, replace(options, functions=("cold",))).nests} == {"cold"}


@pytest.mark.gcc
def test_a_summary_says_which_files_were_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in PARTED.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "_READ_S", 0.1)
    assert main(["inspect", "main.c", "hot.c", "cold.c", "--summary", "--build", "make"], Session()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "hot.c: 1 nest, 0 refused" in lines and "main.c: 1 nest, 0 refused" not in lines
    assert "not looked at, for the program spends no time in them: cold.c" in lines
    assert any(float(line.split()[0]) > 80 and line.endswith("(read as nests)") for line in lines if "read as" in line)
