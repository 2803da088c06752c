"""Programs that print times, draw from them, or say more than they mean: what counts is found by running them."""

from pathlib import Path

import pytest

from perfembed.building.build import Changes, Made, made
from perfembed.building.compiling import one_file
from perfembed.capture.outputs import Outputs, with_still_clock
from perfembed.capture.program import ProgramRun, run_program
from perfembed.capture.stage import Stage
from perfembed.world import World
from profilers.build import CompilerConfig
from profilers.contained.child import Limits

pytestmark = pytest.mark.gcc

FLAGS = ("-O1", "-fopenmp", "-pthread")
HEAD = """#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifndef SUM
#define SUM 5
#endif
#ifndef WORK_US
#define WORK_US 3000
#endif
"""
TIMES = (
    HEAD
    + """int main(void)
{
    struct timeval a, b;
    struct timespec t;
    double w = omp_get_wtime();
    clock_t c = clock();
    gettimeofday(&a, NULL);
    clock_gettime(CLOCK_MONOTONIC, &t);
    usleep(WORK_US);
    gettimeofday(&b, NULL);
    printf("sum %d took %ld us, %g s\\n", SUM, (b.tv_sec - a.tv_sec) * 1000000L + b.tv_usec - a.tv_usec,
           omp_get_wtime() - w);
    printf("up %ld, since 1970 %ld, worked %ld\\n", (long)t.tv_nsec, (long)time(NULL), (long)(clock() - c));
    return 3;
}
"""
)
WHOLE_SECONDS = HEAD + 'int main(void) { printf("%d in %d ms\\n", SUM, WORK_US / 1000); return 0; }\n'
DRAWN = (
    HEAD
    + """int main(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    srand((unsigned)t.tv_nsec);
    printf("%d\\n", rand() % 1000000 + SUM);
    return 0;
}
"""
)
PROCESS = HEAD + 'int main(void) { printf("process %d found %d\\n", (int)getpid(), SUM); return 0; }\n'
THREADS = (
    HEAD
    + """int main(void)
{
#pragma omp parallel num_threads(4)
    for (int k = 0; k < 20; k++) {
        usleep((unsigned)(getpid() * 37 + omp_get_thread_num() * 59) % 97);
#pragma omp critical
        printf("thread %d: %d\\n", omp_get_thread_num(), SUM * k);
    }
    return 0;
}
"""
)
WAITS = (
    HEAD
    + """int main(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b); while (b.tv_sec - a.tv_sec < 3600 && b.tv_sec < 1001);
    printf("sum %d at %ld\\n", SUM, (long)b.tv_nsec);
    return a.tv_sec == 1000;  /* it notices the clock */
}
"""
)


class Pair:
    """A program, and the same with other macros."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        path = folder / "p.c"
        path.write_text(text)
        build = one_file(str(path), text.encode(), CompilerConfig("gcc", FLAGS), folder)
        world = World(limits=Limits(wall_s=20.0, memory_bytes=4 << 30))
        self.program = ProgramRun(build, Stage(world, folder / "stage"))
        self.original = self.built()
        first = run_program(self.original, self.program)
        self.outputs = Outputs(self.program, self.original, folder / "clock", first.wall_s, first.exit_code, first)

    def built(self, *flags: str) -> Made:
        path = self.folder / "p.c"
        changes = Changes({str(path): path.read_bytes()}, flags)
        found = made(self.program.build, changes, self.folder / "-".join(("built", *flags)))
        assert isinstance(found, Made), found
        return found

    def difference(self, *flags: str) -> str:
        other = self.built(*flags)
        ran = run_program(other, self.program)
        return self.outputs.difference(lambda program, limits: run_program(other, program, limits=limits), ran)


@pytest.mark.parametrize("text", [TIMES, DRAWN])
def test_under_a_clock_that_stands_still_every_word_counts(tmp_path: Path, text: str) -> None:
    pair = Pair(tmp_path, text)
    assert pair.difference("-DWORK_US=40000") == "" and pair.outputs.note == "with its clock stopped"
    assert "became" in pair.difference("-DSUM=6")


def test_what_does_not_vary_counts(tmp_path: Path) -> None:
    pair = Pair(tmp_path, WHOLE_SECONDS)
    assert "b'5 in 3 ms' became b'5 in 40 ms'" in pair.difference("-DWORK_US=40000")
    assert pair.difference() == "" and not pair.outputs.note


def test_words_that_vary_under_any_clock_are_left_out(tmp_path: Path) -> None:
    pair = Pair(tmp_path, PROCESS)
    assert pair.difference("-O2") == ""
    assert pair.outputs.note == "with its clock stopped and but for 1 word that the original changes from run to run"
    assert "became" in pair.difference("-DSUM=6")


def test_lines_of_threads_come_in_any_order(tmp_path: Path) -> None:
    pair = Pair(tmp_path, THREADS)
    assert pair.difference("-O2") == ""
    assert pair.difference("-DSUM=6")


def test_a_program_that_does_something_else_then_keeps_its_clock(tmp_path: Path) -> None:
    pair = Pair(tmp_path, WAITS)
    assert pair.difference("-O2") == "" and "but for 1 word" in pair.outputs.note and "clock" not in pair.outputs.note
    assert "became" in pair.difference("-DSUM=6")


def test_who_preloads_something_keeps_it(tmp_path: Path) -> None:
    pair = Pair(tmp_path, DRAWN)
    world = World(variables=(("LD_PRELOAD", "libm.so.6"),))
    program = ProgramRun(pair.program.build, Stage(world, tmp_path / "other"))
    assert with_still_clock(program, tmp_path / "clock") is None
