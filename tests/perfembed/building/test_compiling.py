"""Files compiled by their own flags and linked together."""

import subprocess
from pathlib import Path

import pytest

from perfembed.building.build import Changes, Made, NotBuilt, Unit, made
from perfembed.building.compiling import CompileAndLink, one_file
from profilers.build import CompilerConfig

pytestmark = pytest.mark.gcc

MAIN = b'#include <stdio.h>\nint f(void);\nint main(void) { printf("%d\\n", f()); return 0; }\n'


def unit(path: Path, *flags: str) -> Unit:
    return Unit(str(path), CompilerConfig("gcc", flags), path.parent, flags)


def said(found: Made | NotBuilt) -> str:
    assert isinstance(found, Made), found
    return subprocess.run([found.executable], capture_output=True, text=True, check=True).stdout


def test_each_with_its_flags_and_other_files_where_needed(tmp_path: Path) -> None:
    main, file, other, unused = (tmp_path / name for name in ("main.c", "f.c", "g.c", "u.c"))
    texts = {str(main): MAIN, str(file): b"int g(void);\nint f(void) { return g() + A; }\n"}
    other.write_text("int g(void) { return B; }\n")
    unused.write_text("int f(void) { return 9; }\nint main(void) { return 1; }\n")
    units = (unit(main), unit(file, "-DA=1"))
    build = CompileAndLink(units, texts, tmp_path, others=(unit(other, "-DB=20"), unit(unused)))
    assert said(made(build, Changes(), tmp_path / "work")) == "21\n"
    changed = Changes({str(file): b"int f(void) { return A + C; }\n"}, ("-DC=5",))
    assert said(made(build, changed, tmp_path / "changed")) == "6\n"
    both = build.make_all([(Changes(), tmp_path / "work"), (changed, tmp_path / "changed")])
    assert [said(one) for one in both] == ["21\n", "6\n"]


def test_the_compiler_speaks_of_the_users_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.h").write_text("#define X 3\n")
    path = tmp_path / "sub" / "p.c"
    build = one_file(
        str(path), b'#include "x.h"\nint main(void) { return X + ; }\n', CompilerConfig("gcc", ()), tmp_path
    )
    found = made(build, Changes(), tmp_path / "work")
    assert isinstance(found, NotBuilt) and f"{path}:2:" in found.reason
    assert f"{path}:2:" in build.problem(Changes(), tmp_path / "work")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"int f(void) { return 1; }\n", "no main"),
        (b"int omp_get_thread_num(void);\nint main(void) { return omp_get_thread_num(); }\n", "with OpenMP"),
    ],
)
def test_why_there_is_no_program(tmp_path: Path, text: bytes, reason: str) -> None:
    build = one_file(str(tmp_path / "p.c"), text, CompilerConfig("gcc", ()), tmp_path)
    found = made(build, Changes(), tmp_path / "work")
    assert isinstance(found, NotBuilt) and reason in found.reason
    assert build.problem(Changes(), tmp_path / "work") == ""


def test_flags_may_name_another_file(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text("int f(void) { return 4; }\n")
    build = one_file("main.c", MAIN, CompilerConfig("gcc", ("f.c",)), tmp_path)
    assert said(made(build, Changes(), tmp_path / "work")) == "4\n"
