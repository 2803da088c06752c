"""What a program is made of and where its tuned files go, as the command line says it."""

import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from perfembed.cli.building import Places, named_files, output_places
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.cli.texts import run_arguments
from perfembed.errors import UsageError
from perfembed.tuning.opening import HowBuilt, found_commands
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import Event, FileResult, NestReport, TuneResult

pytestmark = pytest.mark.gcc


class Tuner:
    """Stands in for `perfembed.tuning.opening.tune_project`."""

    def __init__(self) -> None:
        self.asked: tuple[list[str], HowBuilt, TuneOptions] | None = None

    def __call__(
        self, paths: Sequence[str], how: HowBuilt, options: TuneOptions, progress: Callable[[Event], None]
    ) -> TuneResult:
        self.asked = list(paths), how, options
        nests = (NestReport("f_0", "f", "a.c", 3, 1, 0.9, "tuned", "", "parallelize(i)", 2.0),)
        files = (FileResult("a.c", "out/a.c", 1, ("-fopenmp",)), FileResult("b.c", None, 0))
        return TuneResult(
            *(
                "a.c",
                "out/a.c",
                nests,
                None,
                None,
                None,
                0.0,
                options.threads,
                options.cc,
                options.cflags,
                "m",
                False,
                0,
            ),
            files=files,
        )


@pytest.fixture
def tuner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tuner:
    double = Tuner()
    module = types.ModuleType("perfembed.tuning.opening")
    module.tune_project = double  # type: ignore[attr-defined]
    module.HowBuilt, module.found_commands = HowBuilt, found_commands  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfembed.tuning.opening", module)
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.c").write_text("int x;\n")
    return double


def test_several_files_and_a_folder(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "a.c", "b.c", "-o", "out", "--run", "./p 1 'x y'", "--args", "z", "-DN=3"], Session({})) == 0
    assert tuner.asked is not None
    paths, how, options = tuner.asked
    assert paths == ["a.c", "b.c"] and how == HowBuilt(more=("-DN=3",))
    assert options.output is None and options.output_folder == "out"
    assert options.cflags == ("-O3", "-march=native", "-DN=3")
    out = capsys.readouterr().out
    assert "wrote    out/a.c (1 of 1 nest tuned)" in out and "needed   -fopenmp, where" in out


@pytest.mark.parametrize("files", [[], ["-"]])
def test_all_files_of_a_build(tuner: Tuner, files: list[str]) -> None:
    assert main(["tune", *files, "--build", "make p", "--run", "./p 1", "--in-place"], Session({})) == 0
    assert tuner.asked is not None and tuner.asked[0] == []
    assert tuner.asked[1] == HowBuilt(command="make p", program="./p") and tuner.asked[2].in_place


def test_compile_commands_and_flags_besides(tuner: Tuner, tmp_path: Path) -> None:
    arguments = ["tune", "a.c", "--compile-commands", "x.json", "--cflags", "-O1", "-I", "inc"]
    assert main(arguments, Session({})) == 0
    assert tuner.asked is not None and tuner.asked[1] == HowBuilt(commands="x.json", more=("-O1", f"-I{tmp_path}/inc"))
    assert tuner.asked[2].output == "a.opt.c"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("a.c b.c", "where do they go?"),
        ("a.c b.c -o a.c", "not a folder"),
        ("a.c b.c -o .", "the files themselves are there"),
        ("a.c b.c -o out --output-dir out", "exclude each other"),
        ("a.c --output-dir out --in-place", "exclude each other"),
        ("a.c b.c -o out --in-place", "exclude each other"),
        ("", "no file is named"),
        ("-", "no such file"),
        ("a.c --build make --compile-commands x.json", "exclude each other"),
        ("a.c --build=", "the command is empty"),
        ("a.c --build make --run=", "the command is empty"),
        ("a.c b.c --dry-run --format sarif", "takes one file"),
    ],
)
def test_what_does_not_go_together(
    tuner: Tuner, capsys: pytest.CaptureFixture[str], arguments: str, reason: str
) -> None:
    assert main(["tune", *arguments.split()], Session({})) == 2
    assert reason in capsys.readouterr().err and tuner.asked is None


def test_where_one_file_goes() -> None:
    assert output_places(["d/a.c"], None, None, False, False) == Places("d/a.opt.c", None)
    assert output_places(["d/a.c"], None, "out", False, False) == Places(None, "out")
    assert output_places(["d/a.c"], None, None, True, False) == Places(None, None)
    assert output_places([], None, None, False, True) == Places(None, None)


def test_arguments_of_the_program() -> None:
    assert run_arguments(None, "1 '2 3'") == ("1", "2 3")
    assert run_arguments("./p 1", "2") == ("1", "2")
    assert named_files(["a.c"], None) == ["a.c"] and named_files(["-"], "make") == []
    with pytest.raises(UsageError, match="no closing quotation"):
        run_arguments("./p '1", "")
