"""Sampled programs: the lines that run and their callers, whatever the program does with its time."""

from pathlib import Path

import pytest

from perfembed.building.compiling import one_file
from perfembed.capture import ProgramFailed, World
from perfembed.capture.samples import Samples, name_of, named, sample_program
from profilers.build import CompilerConfig
from scheduler.frontend import SourceFile

PROGRAM = """#include <math.h>
#include <unistd.h>
#line 700 "made.y"
static double work(int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += sin(i * 1e-3);
    return s;
}
int main(void)
{
    double s = 0;
    for (int r = 0; r < 200; r++)
        s += work(20000);
    END;
}
"""
INNER, OUTER = 8, 15
NAME = name_of(0)


def sampled(tmp_path: Path, text: str, *flags: str) -> Samples | ProgramFailed:
    path = tmp_path / "p.c"
    path.write_text(text)
    compiler = CompilerConfig("gcc", ("-O2", *flags))
    build = one_file(str(path), text.encode(), compiler, tmp_path)
    source = SourceFile(str(path), text.encode(), (), (), (), True, ())
    return sample_program((source,), build, World(tmp_path), tmp_path / "work")


@pytest.mark.gcc
@pytest.mark.parametrize("end", ["return s > 1e9", "_exit(s > 1e9)"])
def test_lines_and_callers(tmp_path: Path, end: str) -> None:
    found = sampled(tmp_path, PROGRAM.replace("END", end))
    assert isinstance(found, Samples)
    total = sum(found.stacks.values())
    both = sum(n for stack, n in found.stacks.items() if {(NAME, INNER), (NAME, OUTER)} <= set(stack))
    assert total >= 20
    assert both > 0.7 * total, found.stacks
    assert 0 < found.cpu_s <= found.wall_s * 1.1


@pytest.mark.gcc
def test_sleeping_calls_are_not_interrupted(tmp_path: Path) -> None:
    end = "unsigned left = 0; for (int k = 0; k < 3; k++) left += usleep(30000) != 0; return left ? 3 : 0"
    found = sampled(tmp_path, PROGRAM.replace("END", f"{end}; return s > 1e9"))
    assert isinstance(found, Samples)
    assert found.wall_s > 0.09


@pytest.mark.gcc
def test_without_debugging_information(tmp_path: Path) -> None:
    found = sampled(tmp_path, PROGRAM.replace("END", "return s > 1e9"), "-s")
    assert isinstance(found, ProgramFailed)
    assert "without debugging information" in found.reason


@pytest.mark.gcc
def test_crash(tmp_path: Path) -> None:
    found = sampled(tmp_path, PROGRAM.replace("END", "return *(volatile int *)8"))
    assert isinstance(found, ProgramFailed)
    assert "crashed" in found.reason


def test_generated_lines_are_not_asked_for() -> None:
    text = named(b'# 7 "a.y"\nint x;\n  #line 9\n#define line 3\n', NAME)
    assert text.splitlines()[1:] == [b"", b"int x;", b"  ", b"#define line 3"]
