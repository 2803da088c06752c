"""Paths among the flags mean where the user stands."""

from pathlib import Path

import pytest

from perfembed.flags import absolute, apart


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "inc").mkdir()
    for name in ("f.h", "other.c", "lib.a", "NAME"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("-I inc", "-I {}/inc"),
        ("-Iinc -I. -I../x", "-I{}/inc -I{} -I{up}/x"),
        ("-isystem inc -iquoteinc -L sub", "-isystem {}/inc -iquote{}/inc -L {}/sub"),
        ("--sysroot=inc -I=inc -I/abs", "--sysroot={}/inc -I=inc -I/abs"),
        ("-include f.h -include stdio.h", "-include {}/f.h -include stdio.h"),
        ("-includef.h", "-include{}/f.h"),
        ("other.c lib.a missing.c", "{}/other.c {}/lib.a missing.c"),
        ("-D NAME -x c -o NAME -DNAME=inc", "-D NAME -x c -o NAME -DNAME=inc"),
        ("-O3 -march=native -fprofile-use=f.h", "-O3 -march=native -fprofile-use={}/f.h"),
        ("@NAME @missing", "@{}/NAME @missing"),
        ("-Xlinker NAME -I", "-Xlinker NAME -I"),
    ],
)
def test_absolute(here: Path, flags: str, expected: str) -> None:
    found = absolute(flags.split(), here)
    assert " ".join(found) == expected.replace("{}", str(here)).replace("{up}", str(here.parent))
    assert absolute(found, "/elsewhere") == found


def test_apart() -> None:
    flags = ("-O2", "other.c", "-include", "x.h", "-D", "A", "lib.a", "-lz", "@more")
    assert apart(flags) == (("-O2", "-include", "x.h", "-D", "A", "-lz", "@more"), ("other.c", "lib.a"))
