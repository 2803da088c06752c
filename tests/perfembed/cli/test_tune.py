"""`perfembed tune`: options reach the tuner, its result is shown. The tuner itself is replaced here."""

import json
import os
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.measuring.events import CandidateMeasured
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import Event, Message, NestFinished, NestReport, NestStarted, TuneResult
from perfembed.world import World

TUNED = NestReport(
    "gemm_1", "gemm", "a.c", 48, 5, 0.97, "tuned", "", "interchange(j, k); parallelize(i)", 10.3, 5.1, 20.5,
    1.49, 0.145, 212, 23, 2, 0, "distribute(i, 1)", ("bit-identical on captured input",),
    told_low=10.1, told_high=10.5, told_coverage=0.94875, runs=6,
)  # fmt: skip
KEPT = NestReport("init_1", "init", "a.c", 31, 5, 0.02, "kept", "nothing was confirmed faster", candidates=12)


class Tuner:
    """Stands in for `perfembed.tuning.file_tuner.tune`."""

    def __init__(self) -> None:
        self.path = ""
        self.options = TuneOptions()
        self.change: dict[str, object] = {}

    def __call__(self, path: str, options: TuneOptions, progress: Callable[[Event], None]) -> TuneResult:
        self.path, self.options = path, options
        for event in (
            Message("capturing inputs"),
            NestStarted("gemm_1", "gemm", 48, 1, 2, 30.0),
            CandidateMeasured(0.5, 1.5, 1),
            NestFinished(TUNED),
        ):
            progress(event)
        result = TuneResult(
            path, options.output, (TUNED, KEPT), 1.53, 0.187, True, 61.2, options.threads, options.cc, options.cflags,
            "AMD EPYC, 2 cores", False, 0,
        )  # fmt: skip
        return replace(result, **self.change)  # type: ignore[arg-type]


@pytest.fixture
def tuner(monkeypatch: pytest.MonkeyPatch) -> Tuner:
    double = Tuner()
    module = types.ModuleType("perfembed.tuning.file_tuner")
    module.tune = double  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfembed.tuning.file_tuner", module)
    monkeypatch.setattr("scheduler.frontend.parsing.prepare_parser", lambda: None)  # nothing is read or run here
    monkeypatch.setattr("profilers.contained.supervisor.prepare_supervisor", lambda path: None)
    return double


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.c"
    path.write_text("int x;\n")
    return path


@pytest.mark.gcc
def test_defaults(tuner: Tuner, source: Path) -> None:
    session = Session({"HOME": "/x", "A": "b"})
    assert main(["tune", str(source)], session) == 0
    assert tuner.path == str(source)
    options = tuner.options
    assert options.output == str(source.with_name("a.opt.c"))
    assert options.cflags == ("-O3", "-march=native")
    assert 1 <= options.threads <= len(os.sched_getaffinity(0))
    assert options.environment == (("A", "b"), ("HOME", "/x"))
    assert options.database == "/x/.local/share/perfembed/perfembed.duckdb"
    assert options.cache == "/x/.cache/perfembed"
    assert options.world == World(Path.cwd())
    assert options.began_s == session.began
    neutral = replace(options, output=None, threads=1, environment=(), database=None, cache=None, world=World())
    neutral = replace(neutral, began_s=None)
    assert neutral == TuneOptions()


def test_options(tuner: Tuner, source: Path) -> None:
    arguments = f"""tune {source} -o {source.parent}/b.c --dry-run --function f --function g --cc clang --cflags=-O2
        -DN=4 -D M -I. -I inc -std=c99 --param n=2000 --param m=3 --threads 3 --search beam --budget 2m
        --reassociate --seed 7"""
    session = Session({})
    assert main([*arguments.split(), "--args", "-x 'a b'"], session) == 0
    assert tuner.options == TuneOptions(
        output=f"{source.parent}/b.c",
        dry_run=True,
        functions=("f", "g"),
        cc="clang",
        cflags=("-O2", "-DN=4", "-DM", f"-I{Path.cwd()}", f"-I{Path.cwd()}/inc", "-std=c99"),
        world=World(Path.cwd(), ("-x", "a b")),
        parameters=(("n", 2000), ("m", 3)),
        threads=3,
        search="beam",
        evaluate="model+run",
        budget_s=120.0,
        began_s=session.began,
        reassociate=True,
        seed=7,
    )


def test_evaluate_is_of_a_search(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(source), "--evaluate", "model"], Session({})) == 2
    assert "--search beam" in capsys.readouterr().err
    assert main(["tune", str(source), "--search", "beam", "--evaluate", "model"], Session({})) == 0
    assert tuner.options.evaluate == "model"
    for search, expected in (("transfer", "run"), ("mcts", "model+run"), ("random", "run")):
        assert main(["tune", str(source), "--search", search], Session({})) == 0
        assert tuner.options.evaluate == expected
    assert main(["tune", str(source), "--search", "beam", "--evaluate", "guess"], Session({})) == 2
    assert "is not one of 'run', 'model', 'model+run'" in capsys.readouterr().err


def test_what_donors_have_in_common(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(source), "--same", "type", "--same", "machine"], Session({})) == 0
    assert tuner.options.same == ("machine", "type")
    assert main(["tune", str(source), "--same", "luck"], Session({})) == 2
    assert "expected machine, type, assumptions" in capsys.readouterr().err


def test_in_place(tuner: Tuner, source: Path) -> None:
    assert main(["tune", str(source), "--in-place"], Session({})) == 0
    assert tuner.options.in_place and tuner.options.output is None


def test_report_on_stdout_progress_on_stderr(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", str(source), "-o", str(source.parent / "b.c")], Session({}))
    out, err = capsys.readouterr()
    assert "\033" not in out + err
    assert "gemm_1 (a.c:48:5), 97.0 % of the run: 10.3x faster [10.1x, 10.5x], 1.49 s -> 145 ms" in out
    assert "interchange(j, k); parallelize(i)" in out
    assert "bit-identical on captured input" in out
    assert "6 runs of each, in turns;" in out and "in 94.8 % of cases at least" in out
    assert "212 candidates, 23 illegal, 2 failed" in out
    assert "nothing was confirmed faster" in out
    assert "1.53 s -> 187 ms, 8.18x faster, output identical" in out
    assert "b.c (1 of 2 nests tuned)" in out
    assert "capturing inputs" in err and "nest 1 of 2: gemm_1" in err
    assert "1 candidate" not in err


def test_verbose_and_quiet(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", str(source), "-v"], Session({}))
    out, err = capsys.readouterr()
    assert "distribute(i, 1)" in out
    assert "1 candidate, best 500 ms (3.00x)" in err
    main(["tune", str(source), "-q"], Session({}))
    out, err = capsys.readouterr()
    assert err == "" and "gemm_1" not in out and "8.18x faster" in out


def test_json(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", str(source), "--json", "-q"], Session({}))
    out, err = capsys.readouterr()
    assert err == ""
    document = json.loads(out)
    assert (document["schema_version"], document["kind"]) == (1, "tune")
    assert document["nests"][0]["speedup"] == 10.3
    interval = {name: document["nests"][0][name] for name in ("low", "high", "told_low", "told_high", "told_coverage")}
    assert list(interval.values()) == [5.1, 20.5, 10.1, 10.5, 0.94875] and document["nests"][0]["runs"] == 6
    assert document["nests"][0]["checks"] == ["bit-identical on captured input"]


@pytest.mark.parametrize(("json_", "shown"), [(False, "program  "), (True, '"kind": "tune"')])
def test_a_page_that_fails_takes_nothing_away(
    tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    json_: bool, shown: str,
) -> None:  # fmt: skip
    """The tuned file is written and the result is told; what is wrong with the page is one line, and no failure."""

    def broken(result: TuneResult) -> str:
        raise ValueError("zip() argument 2 is longer than argument 1\nand more")

    page = source.with_name("page.html")
    monkeypatch.setattr("perfembed.report.tuning_page.tuning_page", broken)
    assert main(["tune", str(source), "--report", str(page), "-q", *["--json"] * json_], Session({})) == 0
    out, err = capsys.readouterr()
    assert shown in out and "report   " not in out
    [line] = err.splitlines()
    assert line.startswith(f"perfembed tune: warning: there is no page {page}: ValueError: zip() argument 2")
    assert not page.exists()
    monkeypatch.undo()


def test_a_page_that_cannot_be_written_takes_nothing_away(
    tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = source.parent / "gone" / "page.html"
    page.parent.mkdir()
    tuned = Tuner.__call__

    def tuned_meanwhile(self: Tuner, path: str, options: TuneOptions, progress: Callable[[Event], None]) -> TuneResult:
        page.parent.rmdir()  # somebody cleans up while it tunes
        return tuned(self, path, options, progress)

    monkeypatch.setattr(Tuner, "__call__", tuned_meanwhile)
    assert main(["tune", str(source), "--report", str(page)], Session({})) == 0
    out, err = capsys.readouterr()
    assert "program  " in out and "warning: there is no page" in err and "report   " not in out


def test_report(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, other = source.with_name("page.html"), source.with_name("a.opt.c")
    assert main(["tune", str(source), "--report", str(page)], Session({})) == 0
    assert tuner.options.pictures and "10.3x faster</span></h2>" in page.read_text()
    assert capsys.readouterr().out.endswith(f"report   {page}\n")
    for wrong in (str(source), str(other), str(source.parent), str(source.parent / "no" / "page.html")):
        tuner.path = ""
        assert main(["tune", str(source), "--report", wrong], Session({})) == 2
        assert tuner.path == "" and wrong in capsys.readouterr().err
    assert main(["tune", str(source), "--json"], Session({})) == 0 and tuner.options.pictures
    assert main(["tune", str(source)], Session({})) == 0 and not tuner.options.pictures


@pytest.mark.parametrize("code", [0, 1, 3, 130])
def test_exit_code_is_the_tuner_s(tuner: Tuner, source: Path, code: int) -> None:
    tuner.change = {"exit_code": code}
    assert main(["tune", str(source)], Session({})) == code


def test_nothing_better(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuner.change = {"nests": (KEPT,), "output_path": None, "program_after_s": None, "program_output_equal": None}
    main(["tune", str(source)], Session({}))
    assert "nothing: the original stays" in capsys.readouterr().out


def test_wrong_output_is_shouted(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuner.change = {"output_path": None, "program_output_equal": False, "exit_code": 1}
    assert main(["tune", str(source)], Session({})) == 1
    assert "OUTPUT DIFFERS" in capsys.readouterr().out


def test_sarif_of_a_dry_run(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuner.change = {"output_path": None}
    assert main(["tune", str(source), "--dry-run", "--format", "sarif"], Session({})) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "missed-gain" and result["properties"]["speedup"] == 10.3
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 48


def test_sarif_goes_with_a_dry_run(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(source), "--format", "sarif"], Session({})) == 2
    assert "add --dry-run" in capsys.readouterr().err


def test_remarks(tuner: Tuner, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(source), "--format", "remarks"], Session({})) == 0
    tuned, kept = capsys.readouterr().out.splitlines()
    assert tuned.startswith("a.c:48:5: remark: gemm_1 tuned 10.3x faster: ") and tuned.endswith("[-Rpass=perfembed]")
    assert kept.startswith("a.c:31:5: remark: init_1 not tuned: ") and kept.endswith("[-Rpass-missed=perfembed]")


def test_what_stands_behind_two_dashes_is_the_program_s(tuner: Tuner, source: Path) -> None:
    assert main(["tune", str(source), "--args", "a 'b c'", "--", "-x", "d e"], Session({})) == 0
    assert tuner.path == str(source) and tuner.options.world.arguments == ("a", "b c", "-x", "d e")


def test_a_file_may_stand_behind_two_dashes(tuner: Tuner, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source.rename(source.with_name("-a.c"))
    monkeypatch.chdir(source.parent)
    assert main(["tune", "--dry-run", "--", "-a.c"], Session({})) == 0
    assert tuner.path == "-a.c" and tuner.options.world.arguments == ()


def test_rarely_needed_options_are_in_the_whole_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--help"], Session({})) == 0
    usual = capsys.readouterr().out
    assert "Search:\n" in usual and "Examples:\n" in usual and "--tolerance" not in usual
    assert main(["tune", "--help-all"], Session({})) == 0
    assert "--tolerance" in capsys.readouterr().out
