"""When what is linked needs OpenMP, and when optimized code is asked for."""

import subprocess
from pathlib import Path

import pytest

from perfembed.building.arguments import CommandLine
from perfembed.wrapper.linking import expects_code, openmp_for

pytestmark = pytest.mark.gcc

PARALLEL = "int f(int *a) {\n#pragma omp parallel for\nfor (int i = 0; i < 9; i++) a[i] = i;\nreturn 0; }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.c").write_text(PARALLEL)
    (tmp_path / "s.c").write_text("int g(void) { return 1; }\n")
    for command in (
        "gcc -fopenmp -c p.c",
        "gcc -c s.c",
        "ar rcs libp.a s.o p.o",
        "gcc -fopenmp -shared -fPIC p.c -o q.so",
    ):
        subprocess.run(command.split(), check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "added"),
    [
        ("p.o s.o -o x", ["-fopenmp"]),
        ("s.o -o x", []),
        ("s.o -L. -lp", ["-fopenmp"]),
        ("s.o libp.a -shared -o x.so", ["-fopenmp"]),
        ("p.o s.c", ["-lgomp"]),  # the flag would change what the source means
        ("p.o -fopenmp", []),
        ("p.o -lgomp", []),
        ("q.so s.o none.o", []),  # it brings its own
        ("-c p.c", []),
        ("--version", []),
    ],
)
def test_objects_that_run_in_parallel_get_their_library(folder: Path, words: str, added: list[str]) -> None:
    assert openmp_for(CommandLine(words.split())) == added


@pytest.mark.parametrize(
    ("words", "expected"),
    [("-O2", True), ("", False), ("-O2 -O0", False), ("-O3 --coverage", False), ("-Og", False), ("-O1 -g", True)],
)
def test_when_optimized_code_is_asked_for(words: str, expected: bool) -> None:
    assert expects_code(words.split()) == expected
