"""The README's Python example is run as it stands, and its commands, options and exit codes are those there are."""

import re
import subprocess
import sys
from pathlib import Path

import typer

from perfembed import errors
from perfembed.cli.main import app
from tests.optdb.support import filled

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_example(tmp_path: Path) -> None:
    filled(tmp_path / "perfembed.duckdb", nests=3, measurements=5).close()
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    example = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and lines[3:] == ["3 nests of other algorithms", "[('timed', 5)]"]
    speedups = [float(line.split()[1]) for line in lines[:3]]
    assert speedups == sorted(speedups, reverse=True) and all(line.endswith("; parallelize(i_t)") for line in lines[:3])


def commands_of(command: object) -> dict[str, object]:
    return getattr(command, "commands", {})


def test_commands_exist() -> None:
    commands = commands_of(typer.main.get_command(app))
    for name, below in re.findall(r"`perfembed ([a-z]+)(?: ([a-z]+))?", README):
        assert name in commands
        inner = commands_of(commands[name])
        assert not below or not inner or below in inner, below


def test_db_commands_are_documented() -> None:
    section = README.partition("## `perfembed db`\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `([a-z]+)", section, re.MULTILINE))
    assert listed == set(commands_of(commands_of(typer.main.get_command(app))["db"]))


def test_exit_codes_are_documented() -> None:
    table = set(map(int, re.findall(r"^\| (\d+) \|", README, re.MULTILINE)))
    assert table == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
