"""Loops as isl makes them: an outer loop runs only where those inside it have iterations."""

import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.schedule import parse_schedule
from tests.compilers import usable
from tests.rewriting import read, rewritten

pytestmark = pytest.mark.gcc

RECTANGLE = "for (unsigned i = 0; i < n; i++) for (long j = 0; j < k; j++) x[i] += b[j & 31];"
TRIANGLE = "for (long i = 0; i < (long)n; i++) for (long j = -k; j < i; j++) x[i] += b[j & 31];"
PROGRAM = """#include <stdio.h>
#include <stdlib.h>
static double x[64], b[64];
static void f(unsigned n, long k)
{{
    {loops}
}}
int main(int argc, char **argv)
{{
    for (int i = 0; i < 64; i++) b[i] = i * 0.5;
    f(argc > 1 ? atoi(argv[1]) : 3, argc > 2 ? atol(argv[2]) : 20);
    printf("%g %g\\n", x[0], x[2]);
    return 0;
}}
"""


@pytest.mark.parametrize("loops", [RECTANGLE, TRIANGLE])
@pytest.mark.parametrize("steps", ["interchange(i, j)", "interchange(i, j); tile([j, i], [4, 8])"])
def test_no_iterations_take_no_time(tmp_path: Path, loops: str, steps: str) -> None:
    source = read(tmp_path / "a.c", PROGRAM.format(loops=loops).encode())
    nest = next(n for n in source.nests if n.name == "f_0")
    written = tmp_path / "b.c"
    written.write_bytes(rewritten(source, [Rewrite(nest, parse_schedule(steps), 1.0)]))
    assert b"pe_same" in written.read_bytes()
    printed = []
    for name in ("a", "b"):
        build = [usable("gcc"), "-O0", "-w", str(tmp_path / f"{name}.c"), "-o", str(tmp_path / name)]
        subprocess.run(build, check=True)
        runs = [
            subprocess.run([tmp_path / name, *args], capture_output=True, timeout=20, check=True).stdout
            for args in (("0", str(1 << 46)), ("3", "20"), ("3", "0"))
        ]
        printed.append(runs)
    assert printed[0] == printed[1]


def test_what_a_loop_tests_by_itself_is_not_tested_again(tmp_path: Path) -> None:
    source = read(tmp_path / "a.c", PROGRAM.format(loops=RECTANGLE).encode())
    nest = next(n for n in source.nests if n.name == "f_0")
    for steps, tested in (("", "k"), ("tile([i], [4])", "k"), ("interchange(i, j)", "(long)n")):
        text = rewritten(source, [Rewrite(nest, parse_schedule(steps), 1.0)]).decode()
        inside = text[text.rindex("pe_same(") :].split("} else")[0]
        assert inside.count("if (") == 1, inside
        assert f"if ({tested} >= 1)" in inside
