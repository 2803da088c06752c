"""Every way a command can fail: one clear line on stderr and the documented exit code."""

import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from perfembed import errors
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_BROKEN_PIPE
from tests.perfembed.documents_support import check_document

pytestmark = pytest.mark.gcc

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """perfembed(arguments) -> exit code, stdout, stderr."""

    def call(*arguments: object, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments], Session(environment or {"PATH": os.environ["PATH"]}))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.c"
    path.write_text("int x;\n")
    return path


def planted(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    """Makes `tune` raise."""

    def tune(*arguments: object) -> None:
        raise failure

    module = types.ModuleType("perfembed.tuning.file_tuner")
    module.tune = tune  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfembed.tuning.file_tuner", module)


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["--frobnicate"],
        ["tune"],
        ["inspect"],
        ["tune", "a.c", "b.c"],
        ["tune", "a.c", "--frobnicate"],
        ["tune", "a.c", "-O3"],
        ["tune", "a.c", "-o"],
        ["tune", "a.c", "--threads", "many"],
        ["tune", "a.c", "--threads", "0"],
        ["tune", "a.c", "--threads", "99999999999999999999"],
        ["tune", "a.c", "--seed", "x"],
        ["tune", "a.c", "--search", "magic"],
        ["tune", "a.c", "--budget", "soon"],
        ["tune", "a.c", "--budget", "-5s"],
        ["tune", "a.c", "--param", "n"],
        ["tune", "a.c", "--cflags", "'"],
        ["tune", "a.c", "-q", "-v"],
        ["tune", "none.c"],
        ["inspect", "none.c"],
        ["tune", "."],
        ["inspect", "."],
        ["tune", "a.c", "-o", "a.c"],
        ["tune", "a.c", "-o", "none/b.c"],
        ["tune", "a.c", "-o", "."],
        ["tune", "a.c", "-o", "b.c", "--in-place"],
        ["doctor", "a.c"],
    ],
    ids=" ".join,
)
def test_usage(run: Run, source: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(source.parent)
    code, out, err = run(*arguments)
    assert code == errors.EXIT_USAGE
    assert out == ""
    assert err.startswith("perfembed") and "Traceback" not in err
    assert 1 <= err.count("\n") <= 2


@pytest.mark.parametrize(
    "arguments", [["--frobnicate"], ["--threads", "many"], ["--search", "magic"], ["b.c"]], ids=" ".join
)
def test_usage_as_a_document(run: Run, source: Path, arguments: list[str]) -> None:
    code, out, err = run("tune", source, *arguments, "--json")
    document = json.loads(out)
    check_document(document)
    assert document["error"]["exit_code"] == code == errors.EXIT_USAGE
    assert err.startswith("perfembed tune: ")


def test_no_arguments_show_help(run: Run) -> None:
    code, out, _ = run()
    assert code == errors.EXIT_USAGE
    assert "tune" in out


@pytest.mark.parametrize("command", ["tune", "inspect"])
@pytest.mark.parametrize(
    ("content", "expected"), [(b"", errors.EXIT_NO_NEST), (b"\n", errors.EXIT_NO_NEST), (b"\0\1", errors.EXIT_SOURCE)]
)
def test_empty_and_binary_files(run: Run, source: Path, command: str, content: bytes, expected: int) -> None:
    source.write_bytes(content)
    code, out, err = run(command, source)
    assert (code, out) == (expected, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (errors.UsageError("x"), 2),
        (errors.NoTunableNest("x"), 3),
        (errors.SourceRejected("x"), 4),
        (errors.EnvironmentMissing("x"), 5),
    ],
)
def test_own_errors(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch, failure: errors.PerfembedError, expected: int
) -> None:
    planted(monkeypatch, failure)
    assert run("tune", source) == (expected, "", "perfembed tune: x\n")
    code, out, _ = run("tune", source, "--json")
    assert code == expected
    document = json.loads(out)
    assert document["schema_version"] == 1
    assert document["error"] == {"exit_code": expected, "message": "x", "advice": ""}


def test_internal_error(run: Run, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, ZeroDivisionError("division\nby zero"))
    code, out, err = run("tune", source)
    assert (code, out) == (errors.EXIT_INTERNAL, "")
    assert err.count("\n") == 1
    assert "ZeroDivisionError: division by zero (test_failures.py:" in err
    assert "--traceback" in err and "Traceback" not in err

    code, _, err = run("tune", source, "--traceback")
    assert code == errors.EXIT_INTERNAL and "Traceback (most recent call last)" in err
    code, _, err = run("tune", source, environment={"PERFEMBED_TRACEBACK": "1"})
    assert code == errors.EXIT_INTERNAL and "Traceback (most recent call last)" in err
    code, out, _ = run("tune", source, "--json")
    document = json.loads(out)
    check_document(document)
    assert document["error"]["exit_code"] == code == errors.EXIT_INTERNAL


@pytest.mark.parametrize(
    "failure", [RecursionError("deep"), MemoryError(), UnicodeDecodeError("utf-8", b"", 0, 1, "x")]
)
def test_every_exception_is_one_line(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    planted(monkeypatch, failure)
    code, _, err = run("tune", source)
    assert code == errors.EXIT_INTERNAL
    assert err.count("\n") == 1


def test_ctrl_c(run: Run, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, KeyboardInterrupt())
    code, out, err = run("tune", source)
    assert (code, out) == (errors.EXIT_INTERRUPTED, "")
    assert err == "perfembed tune: interrupted; nothing was written\n"


def test_sigterm_is_ctrl_c(run: Run, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tune(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    module = types.ModuleType("perfembed.tuning.file_tuner")
    module.tune = tune  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfembed.tuning.file_tuner", module)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert run("tune", source)[0] == errors.EXIT_INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def test_messages_cannot_steer_the_terminal(run: Run) -> None:
    _, _, err = run("tune", "\033]0;pwned\a.c")
    assert "\033" not in err and "\a" not in err


def test_reader_that_leaves() -> None:
    code = "from perfembed.cli.main import run; import sys; sys.argv = ['perfembed', 'doctor', '--json']; run()"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(timeout=60) == EXIT_BROKEN_PIPE


@pytest.mark.parametrize("command", [("cost", "--model", "lstm"), ("embedding",)])
def test_training_a_network_without_torch(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = run("train", *command, "-o", tmp_path / "weights")
    assert (code, out) == (errors.EXIT_ENVIRONMENT, "") and "needs torch" in err and "perfembed[train]" in err
