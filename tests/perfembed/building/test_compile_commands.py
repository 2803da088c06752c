"""compile_commands.json, as CMake and others write it."""

import json
import os
from pathlib import Path

import pytest

from perfembed.building.compile_commands import read_compile_commands
from perfembed.errors import UsageError


def written(folder: Path, *entries: object) -> str:
    path = folder / "compile_commands.json"
    path.write_text(json.dumps(entries))
    return str(path)


def test_each_file_with_its_own_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    path = written(
        tmp_path,
        {
            "directory": str(tmp_path / "build"),
            "command": "gcc -Igen -DNAME='\"a b\"' -O2 -o a.o -c ../src/a.c",
            "file": "../src/a.c",
        },
        {"directory": "build", "arguments": ["ccache", "clang", "-c", "-O1", "../src/b.c"], "file": "../src/b.c"},
        {"directory": "build", "arguments": ["gcc", "-c", "-O0", "../src/a.c"], "file": "../src/a.c"},
        {"directory": "build", "arguments": ["g++", "-c", "../src/c.cc"], "file": "../src/c.cc"},
    )
    first, second = read_compile_commands(path)
    assert first.path == "src/a.c" and first.compiler.cc == "gcc"
    assert first.compiler.flags == (f"-I{tmp_path}/build/gen", '-DNAME="a b"', "-O2")
    assert first.alone == ("-O2",) and os.fspath(first.directory) == f"{tmp_path}/build"
    assert second.path == "src/b.c" and second.compiler.cc == "clang" and second.compiler.flags == ("-O1",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{}", "not a list"), ("nonsense", "cannot be read"), ('[{"file": "a.c"}]', "entry 1"), ("[3]", "entry 1")],
)
def test_what_is_none(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=reason):
        read_compile_commands(str(path))
    with pytest.raises(UsageError, match="No such file"):
        read_compile_commands(str(tmp_path / "none.json"))
