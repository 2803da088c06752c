"""Command lines of compilers, taken apart."""

from pathlib import Path

import pytest

from perfembed.building.arguments import CommandLine, code_flags, expanded


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
