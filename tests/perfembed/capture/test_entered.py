"""Which files of a program its hot path enters, of builds of all manners."""

import os
from pathlib import Path

import pytest

from perfembed.building.build import Changes, Made, made
from perfembed.building.command import BuildCommand
from perfembed.capture.entered import entered_files
from perfembed.capture.program import ProgramRun
from perfembed.capture.stage import Stage
from perfembed.world import World

pytestmark = pytest.mark.gcc

APART = "__attribute__((noinline)) static double"
FILES = {
    "main.c": "double hot(int n); double cold(int n); double other(int n);\nint main(int argc, char **argv)\n{\n"
    "double s = 0;\nfor (int r = 0; r < ROUNDS; r++) s += hot(argc);\nif (argc > 9) s += cold(argc) + other(argc);\n"
    "return s == 0.5;\n}\n",
    "hot.c": f'#include "flux.h"\n{APART} work(int n) {{ double s = 0;\nfor (int i = 0; i < 20000; i++)'
    " s += flux(i * n); return s; }\ndouble hot(int n) { return work(n); }\n",
    "cold.c": f"{APART} work(int n) {{ return n; }}\ndouble cold(int n) {{ return work(n); }}\n",
    "other.c": f"{APART} play(int n) {{ return n; }}\ndouble other(int n) {{ return play(n); }}\n",
    "flux.h": f"{APART} flux(int i) {{ return i / 3.0; }}\n",
}
MAKEFILE = (
    "p: main.o hot.o cold.o other.o\n\t$(CC) $(LDFLAGS) $^ -o $@\n%.o: %.c\n\t$(CC) -O1 $(MORE) -DROUNDS=ROUNDS -c $<\n"
)


def entered(tmp_path: Path, command: str, rounds: int = 20_000, most_s: float = 30.0) -> set[str] | None:
    folder = tmp_path / "p"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "Makefile").write_text(MAKEFILE.replace("=ROUNDS", f"={rounds}"))
    environment = {"PATH": os.defpath}
    build = BuildCommand(command, "./p", folder, tmp_path / "build", environment)
    plain = made(build, Changes(), tmp_path / "plain")
    assert isinstance(plain, Made)
    objects = {os.path.basename(path): some for path, some in build.objects().items()}
    program = ProgramRun(build, Stage(World(folder), tmp_path / "stage"), environment)
    found = entered_files(plain, program, objects, tmp_path / "work", most_s) if objects else None
    return None if found is None else set(found[0])


def test_files_without_a_function_on_the_stack_are_not_entered(tmp_path: Path) -> None:
    """`work` is also the name of a function in cold.c: of two that may be meant both are."""
    assert entered(tmp_path, "make") == {"main.c", "hot.c", "cold.c"}


@pytest.mark.parametrize(
    "command", ["make MORE=-fopenmp LDFLAGS='-static-libgcc -fopenmp'", "make MORE='-g -fno-pie' LDFLAGS=-no-pie"]
)
def test_other_ways_to_link(tmp_path: Path, command: str) -> None:
    found = entered(tmp_path, command)
    assert found is not None and {"main.c", "hot.c"} <= found and "other.c" not in found


@pytest.mark.parametrize(
    "command",
    [
        "make LDFLAGS=-s",
        "make LDFLAGS=-static",
        "make MORE=-flto LDFLAGS=-flto",
        "gcc -O1 -DROUNDS=20000 main.c hot.c cold.c other.c -o p",
    ],
)
def test_what_does_not_say(tmp_path: Path, command: str) -> None:
    assert entered(tmp_path, command) is None


def test_programs_that_are_too_short_or_too_long_for_it(tmp_path: Path) -> None:
    assert entered(tmp_path / "short", "make", rounds=1) is None
    assert entered(tmp_path / "long", "make", rounds=400_000, most_s=0.5) is None
