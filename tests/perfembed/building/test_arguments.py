"""Command lines of compilers, taken apart."""

import json
import os
from pathlib import Path

import pytest

from perfembed.building.arguments import CommandLine, code_flags, expanded, read_compile_commands
from perfembed.errors import UsageError


@pytest.mark.parametrize(
    ("words", "stage", "sources", "output", "compile_flags", "link_flags"),
    [
        ("-c a.c", "compile", ["a.c"], None, [], []),
        ("-O2 a.c b.c -o p -lm", "link", ["a.c", "b.c"], "p", ["-O2"], ["-lm"]),
        ("a.o b.o -Lx -l m -Wl,-rpath,y -op", "link", [], "p", [], ["-Lx", "-l", "m", "-Wl,-rpath,y"]),
        ("-MMD -MP -MF a.d -MT x -c a.c -o a.o", "compile", ["a.c"], "a.o", [], []),
        ("-E a.c", "preprocess", ["a.c"], None, [], []),
        ("-M a.c -MG", "preprocess", ["a.c"], None, [], []),
        ("-S -I x -D A=1 -include y.h a.c", "assemble", ["a.c"], None, ["-I", "x", "-D", "A=1", "-include", "y.h"], []),
        ("-x c a.txt -x none b.o", "link", ["a.txt"], None, [], []),
        ("-xc++ a.c -c", "compile", [], None, [], []),
        ("-c a.cc b.S", "compile", [], None, [], []),
        ("-shared -fPIC a.c -o a.so", "link", ["a.c"], "a.so", ["-fPIC"], ["-shared"]),
        ("-", "link", [], None, [], []),
        ("--version", "link", [], None, ["--version"], []),
        ("-fsyntax-only a.c", "check", ["a.c"], None, [], []),
        ("-static-libgcc -fopenmp a.o", "link", [], None, ["-fopenmp"], ["-static-libgcc"]),
    ],
)
def test_what_a_command_line_asks_for(
    words: str, stage: str, sources: list[str], output: str | None, compile_flags: list[str], link_flags: list[str]
) -> None:
    line = CommandLine(words.split())
    assert line.stage == stage and [s.path for s in line.sources] == sources and line.output == output
    assert line.compile == compile_flags and line.link == link_flags


def test_programs_and_libraries() -> None:
    assert CommandLine(["a.o"]).links_program and not CommandLine(["-c", "a.c"]).links_program
    assert not CommandLine(["--version"]).links_program and not CommandLine(["-r", "a.o"]).links_program
    library = CommandLine(["-shared", "a.o"])
    assert library.links_library and not library.links_program


def test_response_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("-DA='x y' @rest")
    (tmp_path / "rest").write_text("b.c")
    assert expanded(["@more", "@none", "-c"], str(tmp_path)) == ["-DA=x y", "b.c", "@none", "-c"]
    (tmp_path / "loop").write_text("@loop")
    assert expanded(["@loop"], str(tmp_path)) == ["@loop"]


def test_flags_of_code_alone() -> None:
    flags = ("-O3", "-Ix", "-D", "A", "-Wall", "-Werror", "-march=native", "-include", "y.h", "-std=c99", "-fopenmp")
    assert code_flags(flags) == ("-O3", "-march=native", "-std=c99", "-fopenmp")


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
