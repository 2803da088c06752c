"""Nests that a team of threads comes to: recorded with a team of one, or while the others wait."""

from pathlib import Path

import numpy as np
import pytest

from perfembed.building.compiling import one_file
from perfembed.capture import CapturedNest, ProgramProfile, World, capture_nests, profile_program
from profilers.build import CompilerConfig
from profilers.contained.child import Limits
from scheduler.frontend import ParseOptions, SourceFile, read_source
from tests.perfembed.capture_support import contents

pytestmark = pytest.mark.gcc

FLAGS = ("-O1", "-fopenmp")
PROGRAM = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static double a[4000], b[4000];
int main(void)
{
    double s = 0;
    omp_set_num_threads(3);
#pragma omp parallel
    {
        if (INSISTS && omp_get_num_threads() != 3)
            exit(9);
        for (int t = 0; t < 20; t++) {
            (void)omp_get_wtime();
#pragma omp for nowait
            for (int i = 0; i < 4000; i++)
                a[i] += i + t;
            (void)omp_get_wtime();
#pragma omp for
            for (int i = 0; i < 4000; i++)
                b[i] += 2 * i;
        }
    }
    for (int i = 0; i < 4000; i++) s += a[i] * b[i];
    printf("%g\\n", s);
    return 0;
}
"""


@pytest.mark.parametrize("insists", [0, 1])
def test_what_a_team_shares(tmp_path: Path, insists: int) -> None:
    path = tmp_path / "p.c"
    path.write_text(PROGRAM.replace("INSISTS", str(insists)))
    source = read_source(path, ParseOptions(FLAGS))
    assert isinstance(source, SourceFile)
    teams = {name for name, sharing in source.sharing.items() if sharing.context == "team"}
    nests = tuple(nest for nest in source.nests if nest.name in teams)
    assert len(nests) == 2
    build = one_file(str(path), source.content, CompilerConfig("gcc", FLAGS), tmp_path)
    world = World(tmp_path, limits=Limits(wall_s=20.0, memory_bytes=4 << 30))
    profile = profile_program((source,), build, world, tmp_path / "work")
    assert isinstance(profile, ProgramProfile)
    found = capture_nests((source,), nests, profile, tmp_path / "work", after=True)
    first, second = (found[nest.name] for nest in nests)
    assert isinstance(first, CapturedNest) and isinstance(second, CapturedNest), found
    assert first.call is not None and second.call is not None
    calls = first.call - 1
    i = np.arange(4000.0)
    before = sum((i + t for t in range(calls)), np.zeros(4000))
    assert np.array_equal(contents(first, "a"), before)
    assert np.array_equal(contents(first, "a", after=True), before + i + calls)
    assert np.array_equal(contents(second, "b", after=True), 2 * i * second.call)
