"""OpenMP in the user's program, and compilers without it: real compilers, and one whose library is missing."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import perfembed
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_SOURCE
from perfembed.tuning.openmp import has_openmp, use_of_openmp, with_openmp
from perfembed.tuning.result import Event, Message, TuneResult
from profilers.doctor import diagnose
from profilers.openmp import openmp_advice, openmp_problem, openmp_works
from tests.compilers import clang

WORK = """
double a[300][300], b[300][300];
void work(void)
{
    for (int j = 0; j < 300; j++)
        for (int i = 0; i < 300; i++)
            b[i][j] = a[i][j] * 0.5 + b[i][j] + 1.0;
}
"""
MAIN = '#include <stdio.h>\nint main(void)\n{\n    work();\n    printf("%g\\n", b[3][5]);\n    return 0;\n}\n'
OWN = '#include <omp.h>\n#include <stdio.h>\nint main(void)\n{\n    work();\n    printf("%g %d\\n", b[3][5], omp_get_thread_num());\n    return 0;\n}\n'  # noqa: E501
WITHOUT = """#!{python} -S
import os, sys
if "-fopenmp" in sys.argv:
    print("/usr/bin/ld: cannot find -lomp: No such file or directory", file=sys.stderr)
    print("clang: error: linker command failed with exit code 1", file=sys.stderr)
    sys.exit(1)
if "--version" in sys.argv:
    print("Debian clang version 19.1.7 (3~deb12u1)")
    sys.exit(0)
os.execv({gcc!r}, [{gcc!r}, *sys.argv[1:]])
"""


@pytest.fixture
def incomplete(tmp_path: Path) -> str:
    """As clang is without its OpenMP library."""
    path = tmp_path / "incomplete-clang"
    path.write_text(WITHOUT.format(python=sys.executable, gcc=shutil.which("gcc")))
    path.chmod(0o755)
    return str(path)


def tuned(folder: Path, text: str, budget_s: float = 3.0, **options: object) -> tuple[TuneResult, list[str]]:
    source, said = folder / "program.c", []
    source.write_text(text)

    def progress(event: Event) -> None:
        if isinstance(event, Message):
            said.append(event.text)

    result = perfembed.tune(  # type: ignore[arg-type]
        source, output=folder / "out.c", search="random", budget_s=budget_s, environment=os.environ, progress=progress,
        **options,
    )  # fmt: skip
    return result, said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("int main(void) { return 0; }", None),
        ("\nint x;\n  # pragma  omp parallel for\n", ("#pragma omp parallel", 3)),
        ("int f(void) { return\n omp_get_max_threads (); }", ("omp_get_max_threads", 2)),
        ("#pragma omp simd\n#pragma omp declare simd\n", None),
        ("/* omp_get_num_threads()\n#pragma omp parallel\n*/ // omp_get_num_threads()\n", None),
        ('char *s = "omp_get_num_threads()"; int omp_like;', None),
        ("char q = '\"';\nint n = omp_get_num_procs();", ("omp_get_num_procs", 2)),
        ("#include <omp.h>\n", None),
        ('int x;\n_Pragma( "omp parallel for")', ("#pragma omp parallel", 2)),
        ('_Pragma("omp simd") puts("omp_get_wtime()");', None),
        ("int comp_x(int); int y = comp_x(1);", None),
    ],
)
def test_what_makes_an_openmp_program(text: str, found: tuple[str, int] | None) -> None:
    assert use_of_openmp(text.encode()) == found


def test_flags() -> None:
    told: list[str] = []
    assert with_openmp("a.c", b"omp_get_wtime();", ("-O3",), told.append) == ("-O3", "-fopenmp")
    assert told == ["a.c:1: the program uses OpenMP (omp_get_wtime), so it is compiled with -fopenmp"]
    for flags in (("-fopenmp",), ("-fopenmp=libomp",)):
        assert with_openmp("a.c", b"omp_get_wtime();", flags, told.append) == flags and has_openmp(flags)
    assert with_openmp("a.c", b"int x;", ("-O3",), told.append) == ("-O3",) and len(told) == 1
    assert not has_openmp(("-O3", "-fopenmp-simd"))


@pytest.mark.gcc
def test_a_program_that_uses_openmp_itself(tmp_path: Path) -> None:
    result, said = tuned(tmp_path, WORK + OWN, 30.0, threads=1)
    assert result.exit_code == EXIT_DONE and result.flags == ("-O3", "-march=native", "-fopenmp")
    assert any("uses OpenMP (omp_get_thread_num)" in text for text in said)
    assert {nest.status for nest in result.nests if nest.function == "work"} <= {"tuned", "kept"}


@pytest.mark.gcc
def test_one_whose_header_does_so_is_told_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.h").write_text("#include <omp.h>\n#define WHO omp_get_thread_num()\n")
    text = '#include "mine.h"\n' + WORK + OWN.replace("#include <omp.h>\n", "").replace("omp_get_thread_num()", "WHO")
    (tmp_path / "program.c").write_text(text)
    session = Session(dict(os.environ))
    assert main(["tune", str(tmp_path / "program.c"), "--no-db", "-q"], session) == EXIT_SOURCE
    said = capsys.readouterr().err
    assert "the program calls omp_get_thread_num, so it has to be compiled with OpenMP: --cflags" in said


@pytest.mark.gcc
def test_without_the_library_there_is_one_message(
    tmp_path: Path, incomplete: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.c").write_text(WORK + MAIN)
    options = ["--cc", incomplete, "--no-db", "-q", "--threads", "2"]
    session = Session(dict(os.environ))
    for command in ("tune", "profile"):
        arguments = [command, str(tmp_path / "program.c"), *options]
        if command == "profile":
            arguments.remove("--no-db")
            arguments.remove("-q")
        assert main(arguments, session) == EXIT_ENVIRONMENT
        said = capsys.readouterr().err
        assert "cannot make parallel programs: /usr/bin/ld: cannot find -lomp" in said
        assert "libomp-19-dev" in said and "--threads 1" in said
    options = ["--cc", incomplete, "--db", str(tmp_path / "db"), "--threads", "2", "--search", "random"]
    assert main(["populate", str(tmp_path / "program.c"), *options], session) == EXIT_ENVIRONMENT
    assert "libomp-19-dev" in capsys.readouterr().err


@pytest.mark.gcc
def test_without_the_library_one_thread_is_tuned(tmp_path: Path, incomplete: str) -> None:
    result, said = tuned(tmp_path, WORK + MAIN, 30.0, threads=1, cc=incomplete)
    assert result.exit_code == EXIT_DONE and result.flags[-1] == "-fopenmp-simd"
    assert any("done without threads" in text for text in said)
    assert {nest.status for nest in result.nests if nest.function == "work"} <= {"tuned", "kept"}


@pytest.mark.gcc
def test_a_program_that_needs_the_library_cannot_do_without(tmp_path: Path, incomplete: str) -> None:
    with pytest.raises(perfembed.errors.EnvironmentMissing, match="cannot make parallel programs") as problem:
        tuned(tmp_path, WORK + OWN, threads=1, cc=incomplete)
    assert "--threads" not in problem.value.advice


@pytest.mark.gcc
def test_the_doctor_says_what_is_missing(incomplete: str) -> None:
    checks = {check.name: check for check in diagnose(os.environ, incomplete, None)}
    assert not checks["OpenMP"].ok and "cannot find -lomp" in checks["OpenMP"].found
    assert "libomp-19-dev" in str(checks["OpenMP"].fix)
    assert openmp_advice("no-such-compiler", os.environ).startswith("install")


@pytest.mark.gcc
def test_gcc_needs_nothing() -> None:
    assert openmp_problem("gcc", ("-O3",), os.environ) == ""
    assert openmp_works("gcc", environment=os.environ) == (True, "2 threads ran in parallel")
    assert "gcc" in openmp_problem("gcc", ("-fno-such-flag",), os.environ)


@pytest.mark.skipif(clang() is None, reason="there is no clang")
def test_clang(tmp_path: Path) -> None:
    """With threads where it has its OpenMP library, else with one and vector pragmas."""
    whole = clang("-fopenmp")
    result, _ = tuned(tmp_path, WORK + MAIN, threads=2 if whole else 1, cc=whole or clang(), budget_s=15)
    assert result.exit_code == EXIT_DONE and result.flags[-1] == ("-fopenmp" if whole else "-fopenmp-simd")
    (nest,) = [nest for nest in result.nests if nest.function == "work"]
    assert nest.status in ("tuned", "kept") and nest.candidates > nest.failed + nest.wrong and nest.wrong == 0
