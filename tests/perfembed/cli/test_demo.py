"""`perfembed demo`: the programs are placed and tuned, nothing of others is lost. The tuner is replaced here."""

import json
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.cli.demo import PROGRAMS, about
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import Event, Message, TuneResult
from tests.perfembed.cli.test_tune import TUNED

DEMO = Path(__file__).resolve().parents[3] / "perfembed" / "demo"


class Tuner:
    def __init__(self) -> None:
        self.calls: list[tuple[str, TuneOptions]] = []
        self.interrupted = False

    def __call__(self, path: str, options: TuneOptions, progress: Callable[[Event], None]) -> TuneResult:
        self.calls.append((path, options))
        progress(Message("capturing inputs"))
        return TuneResult(
            path, options.output, (replace(TUNED, file=path),), 0.4, 0.1, True, 5.0, options.threads, options.cc,
            options.cflags, "AMD EPYC, 2 cores", self.interrupted, 0,
        )  # fmt: skip


@pytest.fixture
def tuner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tuner:
    double = Tuner()
    module = types.ModuleType("perfembed.tuning.file_tuner")
    module.tune = double  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfembed.tuning.file_tuner", module)
    monkeypatch.chdir(tmp_path)
    return double


def test_every_program_is_tuned_where_it_was_put(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--dir", "new/folder", "--budget", "7s"], Session({"HOME": "/x"})) == 0
    out, err = capsys.readouterr()
    assert [path for path, _ in tuner.calls] == [f"new/folder/{name}" for name in PROGRAMS]
    for path, options in tuner.calls:
        assert Path(path).read_bytes() == (DEMO / Path(path).name).read_bytes()
        assert options.output == path.replace(".c", ".opt.c") and options.database is None and options.budget_s == 7.0
        assert about(Path(path).read_text()) in out
    assert out.count("10.3x faster") == len(PROGRAMS)
    assert "new/folder/heat.c            400 ms  100 ms  4.00x  new/folder/heat.opt.c" in out
    assert "cc -O3 -march=native -fopenmp new/folder/heat.opt.c -lm" in out
    assert "capturing inputs" in err


def test_json(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json", "-q"], Session({})) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["folder"] == "perfembed-demo" and len(found["programs"]) == len(PROGRAMS) and err == ""
    assert found["programs"][0]["result"]["output_path"] == "perfembed-demo/matrix-product.opt.c"


def test_it_can_be_repeated_but_loses_no_file(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"], Session({})) == 0
    assert main(["demo"], Session({})) == 0
    own = Path("perfembed-demo/heat.c")
    own.write_text("mine")
    capsys.readouterr()
    assert main(["demo"], Session({})) == 2
    assert "perfembed-demo/heat.c: is there already, and is another file\n  choose" in capsys.readouterr().err
    assert own.read_text() == "mine" and len(tuner.calls) == 2 * len(PROGRAMS)


def test_where_no_folder_can_be(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main(["demo", "--dir", "file"], Session({})) == 2
    assert "no folder can be made here" in capsys.readouterr().err


def test_ctrl_c_ends_it(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    tuner.interrupted = True
    assert main(["demo"], Session({})) == 130
    assert len(tuner.calls) == 1 and "matrix-product.opt.c" in capsys.readouterr().out


@pytest.mark.gcc
def test_every_loop_of_the_programs_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    for name in PROGRAMS:
        assert main(["inspect", str(DEMO / name), "--format", "remarks"], Session({})) == 0
        assert capsys.readouterr().out == ""


@pytest.mark.gcc
def test_the_programs_compile_without_a_word_and_say_what_they_show(tmp_path: Path) -> None:
    assert {path.name for path in DEMO.iterdir()} == set(PROGRAMS)
    for name in PROGRAMS:
        assert about((DEMO / name).read_text(encoding="utf-8")).endswith(".")
        command = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(DEMO / name)]
        subprocess.run(command, check=True, timeout=60)
