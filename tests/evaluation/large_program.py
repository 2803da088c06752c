"""One large program of the programs in tests/programs: a file of each, and a main that enters few of them.

What a program spends its time on is a small part of what it consists of. Here some parts run, of a few others only what
they do first (their usage), and the rest is only entered when it is named on the command line.
"""

from __future__ import annotations

import random
import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import EnvironmentMissing

PARTS = Path(__file__).parent.parent / "programs"
FILES = 20
_HOT = 3  # parts that run, with the arguments for a fraction of a second
_INCLUDE = re.compile(r'^(\s*#\s*include\s*)"(?:[^"]*/)?([^"/]+)"', re.MULTILINE)
_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*[\s\S]*?\*/|[A-Za-z_]\w*')
_MAKEFILE = """CC     ?= gcc
CFLAGS ?= -O3 -march=native
OPENMP ?= -fopenmp

SRC = $(wildcard src/*.c)
OBJ = $(SRC:.c=.o)

prog: $(OBJ)
	$(CC) $(CFLAGS) $(OPENMP) -o $@ $(OBJ) -lm

src/%.o: src/%.c
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(OPENMP) -Iinclude -c $< -o $@

clean:
	rm -f prog $(OBJ)
.PHONY: clean
"""
_MAIN = """#include <stdio.h>
#include <string.h>

typedef int entry(int argc, char **argv);

struct part {
    const char *name;
    entry *run;
};

DECLARED
static const struct part parts[] = {
LISTED    {0, 0},
};

static int named(const char *name, int argc, char **argv)
{
    for (const struct part *p = parts; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p->run(argc, argv);
    fprintf(stderr, "there is no part %s\\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 1)
        return named(argv[1], argc - 1, argv + 1);
RUN    return failed;
}
"""


@dataclass(frozen=True, slots=True)
class LargeProgram:
    """`files`: its C files as its build calls them; `hot`: those of them that it runs; `lines`: with headers."""

    folder: Path
    files: tuple[str, ...]
    hot: tuple[str, ...]
    lines: int


def write_large_program(folder: Path, seed: int) -> LargeProgram:
    """Writes it into an empty folder, or a new one: `make` builds `prog`. Which parts it has, and runs, the seed says.

    Raises EnvironmentMissing where there is no gcc or nm, which say what names the parts share.
    """
    rng = random.Random(seed)
    known = sorted(path.parent for path in PARTS.glob("*/program.toml"))
    chosen = sorted(rng.sample(known, FILES - 1))
    about = {part.name: tomllib.loads((part / "program.toml").read_text(encoding="utf-8")) for part in chosen}
    hot = sorted(rng.sample([name for name, told in about.items() if "stdin" not in told], _HOT))
    for name in ("src", "include"):
        (folder / name).mkdir(parents=True)
    for part in chosen:
        _write_part(part, folder)
    names = [part.name for part in chosen]
    (folder / "src/main.c").write_text(_main(names, {name: about[name]["small_args"] for name in hot}), "ascii")
    (folder / "Makefile").write_text(_MAKEFILE, encoding="ascii")
    written = [path for path in folder.rglob("*") if path.suffix in (".c", ".h")]
    lines = sum(path.read_bytes().count(b"\n") for path in written)
    files = tuple(f"src/{name}.c" for name in sorted([*names, "main"]))
    return LargeProgram(folder, files, tuple(f"src/{name}.c" for name in hot), lines)


def _main(names: list[str], run: Mapping[str, list[str]]) -> str:
    of = {name: f"{_letters(name)}_main" for name in names}
    calls = ""
    for name, arguments in run.items():
        words = ", ".join(f'"{word}"' for word in (name, *arguments))
        calls += f"    failed |= {of[name]}({len(arguments) + 1}, (char *[]){{{words}, 0}});\n"
    return (
        _MAIN.replace("DECLARED", "".join(f"entry {entry};\n" for entry in of.values()))
        .replace("LISTED", "".join(f'    {{"{name}", {entry}}},\n' for name, entry in of.items()))
        .replace("RUN", calls)
    )


def _letters(name: str) -> str:
    return name.replace("-", "_")


def _write_part(part: Path, folder: Path) -> None:
    """The C files of a program as one, its headers in a folder of their own; what it exports has its name in front."""
    include = folder / "include" / part.name
    include.mkdir()
    for header in part.rglob("*.h"):
        (include / header.name).write_text(_INCLUDE.sub(r'\1"\2"', header.read_text(encoding="utf-8")), "utf-8")
    texts = [path.read_text(encoding="utf-8") for path in sorted(part.rglob("*.c"))]
    whole = _INCLUDE.sub(rf'\1"{part.name}/\2"', "\n".join(texts))
    target = folder / "src" / f"{part.name}.c"
    target.write_text(whole, encoding="utf-8")
    exported = _exported(target, folder)
    for path in (target, *include.iterdir()):
        path.write_text(_prefixed(path.read_text(encoding="utf-8"), exported, _letters(part.name)), "utf-8")


def _exported(path: Path, folder: Path) -> frozenset[str]:
    """The functions and variables of a file that others see. Raises EnvironmentMissing."""
    thing = folder / "part.o"
    compile_it = [
        "gcc",
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-w",
        "-fopenmp",
        "-Iinclude",
        "-c",
        str(path),
        "-o",
        str(thing),
    ]
    try:
        subprocess.run(compile_it, cwd=folder, check=True, capture_output=True)
        said = subprocess.run(["nm", "-g", "--defined-only", str(thing)], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentMissing(f"{path.name} does not compile: {error}", "it takes gcc and nm") from None
    thing.unlink()
    return frozenset(line.split()[-1] for line in said.stdout.splitlines())


def _prefixed(text: str, names: frozenset[str], prefix: str) -> str:
    return _WORD.sub(lambda match: f"{prefix}_{match[0]}" if match[0] in names else match[0], text)
