"""Parallel regions in every process: programs that fork, set limits, change how they round, load libraries."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from scheduler.codegen.emit.heap import region
from scheduler.codegen.emit.text import preamble
from tests.compilers import usable

BEGIN = """#include <pthread.h>
void nest(double);
static void *run(void *unused) { nest(0.5); return unused; }
__attribute__((constructor)) static void begin(void)
{
    pthread_t other;
    if (!pthread_create(&other, 0, run, 0)) pthread_join(other, 0);
}
"""
PROGRAM = Path(__file__).parent / "processes.c"
FLAGS = ("-O2", "-fopenmp", "-Wall", "-Wextra", "-ffp-contract=off", "-frounding-math")
LOADING = {"closed", "loaded_in_child"}
AS_ANOTHER = {"process_limit", "together"}
STACKS = ["16k", "1000000000"]  # in KiB: more than there is
OTHERS = {"name", "one_thread", *LOADING}
CASES = [case for case in re.findall(r"\bCASE\((\w+)\)", PROGRAM.read_text()) if case not in OTHERS]


def nests(errno: bool) -> str:
    def function(head: str, body: str) -> list[str]:
        loop = ["#pragma omp for schedule(static) nowait", "for (long i = 0; i < 4096; i++) {", body, "}"]
        return [head, "{", *region(loop, lambda name: name), "}"]

    lines = [
        "#include <math.h>",
        "double x[4096], y[4096]; long double z[4096]; void nest(double), roots(double);",
        *function("void nest(double scale)", "x[i] = y[i] * scale; z[i] = x[i] / 3.0L;"),
        *function("void roots(double shift)", "x[i] = log(y[i] - shift);"),
    ]
    return preamble("pe_threads", errno=errno) + "\n".join(lines) + "\n"


def compiled(cc: str, folder: Path, errno: bool, *flags: str) -> Path:
    source, program = folder / "nests.c", folder / "program"
    source.write_text(nests(errno))
    subprocess.run([usable(cc, "-fopenmp"), *FLAGS, *flags, source, PROGRAM, "-o", program, "-lm"], check=True)
    return program


def run(program: Path, case: str, **variables: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "4", **variables}
    done = subprocess.run([program, case], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{case}: {done.returncode} {done.stderr}"


@pytest.fixture(scope="module", params=["gcc", "clang"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(request.param, tmp_path_factory.mktemp(request.param), errno=True)


@pytest.mark.gcc
@pytest.mark.parametrize("case", CASES)
def test_programs(program: Path, case: str) -> None:
    if case in AS_ANOTHER and os.geteuid():
        pytest.skip("needs to become another user")
    run(program, case)


@pytest.mark.gcc
@pytest.mark.parametrize("size", STACKS)
def test_stacks_of_threads(program: Path, size: str) -> None:
    """Too small for what a loop has of its own, and larger than the memory."""
    run(program, "one_thread", OMP_STACKSIZE=size)


@pytest.mark.gcc
def test_libraries(program: Path, tmp_path: Path) -> None:
    """Closed while threads wait in the OpenMP runtime, and loaded by a process that was forked beside such.

    While it is loaded another thread has the first team, and is waited for.
    """
    cc = "gcc" if "gcc" in program.parent.name else usable("clang", "-fopenmp")
    library = tmp_path / "nests.so"
    flags = (*FLAGS, "-fPIC", "-shared")
    begin = tmp_path / "begin.c"
    begin.write_text(BEGIN)
    subprocess.run([cc, *flags, program.parent / "nests.c", begin, "-o", library, "-lm"], check=True)
    Path(f"{library}2").write_bytes(library.read_bytes())
    loading = tmp_path / "loading"
    subprocess.run([cc, "-O2", "-w", f'-DLOADS="{library}"', PROGRAM, "-o", loading, "-lm"], check=True)
    for case in sorted(LOADING):
        run(loading, case)


def test_names_of_a_programs_own_are_not_those_of_its_state() -> None:
    names = re.findall(r'__asm__\("(perfembed[^"]*)"\)', preamble("pe_threads"))
    assert len(names) == 10 and all("." in name for name in names)


def test_a_process_of_ours_gets_threads_without_asking() -> None:
    """What is measured is compiled often."""
    text = preamble("pe_threads", contained=True)
    assert "pe_try" not in text and "pe_enter_team" in text and len(text) < len(preamble("pe_threads")) / 2
