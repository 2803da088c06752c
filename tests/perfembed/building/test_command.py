"""Programs that a command of the user's builds, in copies of the project's folder."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perfembed.building.build import Changes, Made, NotBuilt, made
from perfembed.building.command import BuildCommand
from perfembed.errors import SourceRejected
from profilers.contained.child import confines_writes

pytestmark = pytest.mark.gcc

GRID = Path(__file__).parent / "grid"
ENVIRONMENT = {"PATH": os.defpath}


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "grid"
    shutil.copytree(GRID, folder)
    monkeypatch.chdir(folder)
    return folder


def built(command: str, program: str | None, folder: Path, **more: str) -> BuildCommand:
    return BuildCommand(command, program, Path.cwd(), folder / "scratch", {**ENVIRONMENT, **more})


def said(found: Made | NotBuilt, *arguments: str) -> str:
    assert isinstance(found, Made), found
    return subprocess.run(
        [found.executable, *arguments], cwd=found.folder, capture_output=True, text=True, check=True
    ).stdout


def listing(folder: Path) -> list[tuple[str, float]]:
    return sorted((str(path), path.stat().st_mtime) for path in folder.rglob("*"))


def test_every_file_is_seen_with_its_flags_and_the_users_folder_is_left_alone(grid: Path, tmp_path: Path) -> None:
    before = listing(grid)
    build = built("make grid", None, tmp_path)
    units = {unit.path: unit for unit in build.units}
    assert len(units) == 10 and "src/check.c" not in units
    assert units["src/product.c"].compiler.cc.endswith("/gcc")
    assert units["src/product.c"].alone == ("-O2", "-march=native", "-O3")
    assert "-DSCALE=3" in units["src/product.c"].compiler.flags
    assert units["src/relax.c"].alone == ("-O2", "-march=native", "-std=c99")
    assert '-DNAME="a grid"' in units["src/relax.c"].compiler.flags
    assert build.program == "./grid"
    assert said(made(build, Changes(), tmp_path / "plain"), "1").startswith("product 9")
    assert listing(grid) == before
    assert build.unchanged("src/main.c") and not build.unchanged("build/size.h")


def test_texts_and_flags_of_ours_and_again_with_others(grid: Path, tmp_path: Path) -> None:
    build = built("make grid", "./grid", tmp_path)
    text = (grid / "src/report.c").read_bytes().replace(b'"%s ', b'HEAD "%s ')
    changes = Changes({"src/report.c": text}, ('-DHEAD="new "',))
    assert said(made(build, changes, tmp_path / "one"), "1").startswith("new product")
    text = text.replace(b"HEAD", b'HEAD "er "')
    changes = Changes({"src/report.c": text}, ('-DHEAD="new "',))
    assert said(made(build, changes, tmp_path / "one"), "1").startswith("new er product")
    found = made(build, Changes({"src/report.c": b"int nothing;\n"}), tmp_path / "two")
    assert isinstance(found, NotBuilt) and "report" in found.reason
    assert "oops" in build.problem(Changes({"src/mix.c": b"oops\n"}), tmp_path / "three")


def compiled_in(folder: Path) -> list[str]:
    """The files that were compiled in a copy, each time."""
    log = (folder / "compilers" / "log").read_text().splitlines()
    return sorted(os.path.basename(word) for line in log for word in json.loads(line)["words"] if word.endswith(".c"))


@pytest.mark.parametrize("debugging", ["", " -g"])
def test_only_what_is_changed_is_compiled_again(grid: Path, tmp_path: Path, debugging: str) -> None:
    """The debugging information of what is taken over names the first copy, which is no reason."""
    (grid / "Makefile").write_text((grid / "Makefile").read_text().replace("-O2", f"-O2{debugging}"))
    build = built("make grid", None, tmp_path)
    report, mix = (grid / "src/report.c").read_bytes(), (grid / "src/mix.c").read_bytes()
    changed = Changes({"src/report.c": report.replace(b'"%s ', b'"new %s ')})
    assert said(made(build, changed, tmp_path / "one"), "1").startswith("new product")
    assert compiled_in(tmp_path / "one") == ["report.c"]
    assert said(made(build, Changes({"src/mix.c": mix + b"\n"}), tmp_path / "one"), "1").startswith("product")
    assert compiled_in(tmp_path / "one") == ["mix.c", "report.c", "report.c"], "that one is the user's again"


MAKEFILES = {
    "no dependencies": "p:\n\tgcc -c a.c main.c\n\tgcc a.o main.o -o p\n",
    "what names its place": "p: a.o main.o\n\tpwd > where\n\tgcc a.o main.o -o $$(cat where)/p\n",
    "a path in the program": "p: a.o main.o\n\tgcc a.o main.o -o p\n%.o: %.c\n\tgcc -DHERE='\"$(CURDIR)\"' -c $<\n",
    "made by a folder": "p: a.o main.o\n\tmkdir made\n\tgcc a.o main.o -o made/p\n\tmv made/p p\n",
    "a script": "p:\n\tgcc a.c main.c -o p\n.PHONY: p\n",
    "a file in a file": "p: main.o a.o\n\tgcc main.o -o p\nmain.o: CFLAGS = -DWHOLE\n",
}


@pytest.mark.parametrize("name", MAKEFILES)
def test_builds_that_have_to_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "a.c").write_text("int f(void) { return 1; }\n")
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#ifdef WHOLE\n#include "a.c"\n#endif\n#ifndef HERE\n#define HERE ""\n#endif\n'
        'int f(void);\nint main(void) { printf("%d %s\\n", f(), HERE); return 0; }\n'
    )
    (folder / "Makefile").write_text(MAKEFILES[name])
    build = built("make", "./p", tmp_path)
    assert said(made(build, Changes(), tmp_path / "plain")).split()[0] == "1"
    for number in (7, 8):
        changes = Changes({"a.c": b"int f(void) { return %d; }\n" % number})
        words = said(made(build, changes, tmp_path / "one")).split()
        assert words[0] == str(number) and "recorded" not in "".join(words[1:])


def test_what_the_user_has_built_is_built_anew(grid: Path, tmp_path: Path) -> None:
    subprocess.run(["make", "-s", "grid"], check=True)
    before = listing(grid)
    build = built("make grid", "./grid", tmp_path)
    assert len(build.units) == 10
    assert listing(grid) == before


def test_objects_are_linked_into_programs_that_use_a_library(grid: Path, tmp_path: Path) -> None:
    (tmp_path / "ours.c").write_text("int ours(void) { return 7; }\n")
    subprocess.run(["gcc", "-c", tmp_path / "ours.c", "-o", tmp_path / "ours.o"], check=True)
    build = built("make check", "./check", tmp_path)
    assert "src/check.c" in {unit.path for unit in build.units}
    text = (grid / "src/report.c").read_bytes().replace(b"double sums[N]", b"int ours(void); double sums[N]")
    changes = Changes({"src/report.c": text.replace(b"all = 0", b"all = ours() * 1e9")}, (), (tmp_path / "ours.o",))
    assert said(made(build, changes, tmp_path / "one")).startswith("check 7")


def test_a_shared_library_and_one_compiler_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "f.c").write_text("int f(void) { return 1; }\n")
    (folder / "main.c").write_text(
        '#include <stdio.h>\nint f(void);\nint main(void) { printf("%d\\n", f()); return 0; }\n'
    )
    (folder / "build.sh").write_text(
        "set -e\n$CC -shared -fPIC -Wl,-z,defs f.c -o libf.so\n$CC main.c -o main -L. -lf -Wl,-rpath,.\n"
    )
    (tmp_path / "ours.c").write_text("int ours(void) { return 7; }\n")
    subprocess.run(["gcc", "-c", tmp_path / "ours.c", "-o", tmp_path / "ours.o"], check=True)
    build = built("sh build.sh", "./main", tmp_path, CC=shutil.which("gcc") or "")
    changes = Changes({"f.c": b"int ours(void);\nint f(void) { return ours(); }\n"}, (), (tmp_path / "ours.o",))
    assert [unit.path for unit in build.units] == ["f.c", "main.c"]
    assert said(made(build, changes, tmp_path / "one")) == "7\n"


def test_what_cmake_has_configured_is_configured_anew(grid: Path, tmp_path: Path) -> None:
    """It names the folder that it was made in, where a build would go on."""
    (grid / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY={grid}\n")
    built("test ! -e CMakeCache.txt && make grid", "./grid", tmp_path)


@pytest.mark.parametrize(
    ("command", "program", "reason"),
    [
        ("make nothing", None, "No rule to make target"),
        ("true", None, "compiles no C file"),
        ("make grid check", None, r"makes 2 programs \(grid, check\)"),
        ("gcc -c -Iinclude -DN=9 src/scale.c && cp include/grid.h size.h", None, "size.h"),
    ],
)
def test_what_cannot_be_built(grid: Path, tmp_path: Path, command: str, program: str | None, reason: str) -> None:
    with pytest.raises(SourceRejected, match=reason):
        built(command, program, tmp_path)


def test_nothing_outside_of_the_copies_is_written(grid: Path, tmp_path: Path) -> None:
    """Neither behind a link, whose target is copied, nor elsewhere."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shutil.move(grid / "src" / "mix.c", shared)
    (grid / "src" / "mix.c").symlink_to(shared / "mix.c")
    before = listing(shared)
    build = built("make grid", "./grid", tmp_path)
    assert len(build.units) == 10
    text = b'#include "grid.h"\nunsigned long mix(grid a) { return a[0] != 0; }\n'
    assert "0000000000000001" in said(made(build, Changes({"src/mix.c": text}), tmp_path / "one"), "1")
    with pytest.raises(SourceRejected, match="outside of"):
        made(build, Changes({"../other.c": text}), tmp_path / "one")
    assert listing(shared) == before


@pytest.mark.skipif(not confines_writes(), reason="the kernel has no Landlock")
def test_a_build_that_leaves_its_folder_fails(grid: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceRejected, match="ermission denied"):
        built(f"make grid && touch {grid}/stain", "./grid", tmp_path)
    assert not (grid / "stain").exists()
    folder = tmp_path / "extra"
    folder.mkdir()
    BuildCommand(f"make grid && touch {folder}/stain", None, grid, tmp_path / "more", ENVIRONMENT, (folder,))
    assert (folder / "stain").exists()


def test_what_stands_beside_the_folder_is_found(grid: Path, tmp_path: Path) -> None:
    shutil.move(grid / "include", tmp_path / "headers")
    makefile = grid / "Makefile"
    makefile.write_text(makefile.read_text().replace("include/", "../headers/").replace("-Iinclude", "-I../headers"))
    build = built("make grid", "./grid", tmp_path)
    assert "product" in said(made(build, Changes(), tmp_path / "one"), "1")


def test_a_program_that_is_not_there(grid: Path, tmp_path: Path) -> None:
    build = built("make grid", "./gird", tmp_path)
    found = made(build, Changes(), tmp_path / "one")
    assert isinstance(found, NotBuilt) and "no program ./gird" in found.reason
    build = built("make grid", "env", tmp_path / "again")
    assert "product" in said(made(build, Changes(), tmp_path / "one"), "./grid", "1")
