"""What a written parallel region costs beside a plain one of OpenMP: what it asks and hands on in every process."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import EnvironmentMissing
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from scheduler.codegen.emit.heap import region
from scheduler.codegen.emit.text import preamble

_FORMS = ("no threads", "plain region", "written region")
_FLAGS = ("-O2", "-fopenmp", "-ffp-contract=off")
_MAIN = """
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(int argc, char **argv)
{
    int calls = atoi(argv[1]), rounds = atoi(argv[2]);
    void (*const forms[])(void) = { none, plain, written };
    for (int f = 0; f < 3; f++) forms[f]();
    for (int r = 0; r < rounds; r++)
        for (int f = 0; f < 3; f++) {
            double began = now();
            for (int k = 0; k < calls; k++) forms[f]();
            printf("%d %.9f\\n", f, (now() - began) / calls);
        }
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class RegionsResult:
    """Seconds of a call of a loop of `elements` doubles, by form: the median of the rounds, and the least and most."""

    elements: int
    threads: int
    calls: int
    rounds: int
    seconds: Mapping[str, float]
    least: Mapping[str, float]
    most: Mapping[str, float]

    @property
    def more(self) -> float:
        """Seconds that the written region takes more than the plain one."""
        return self.seconds["written region"] - self.seconds["plain region"]


def source(elements: int) -> str:
    """The program: the same loop three times."""
    loop = [f"for (long i = 0; i < {elements}; i++)", "    x[i] = y[i] * 0.5 + x[i];"]
    shared = ["#pragma omp for schedule(static) nowait", *loop]
    forms = {
        "none": loop,
        "plain": ["#pragma omp parallel", "{", *shared, "}"],
        "written": region(shared, lambda name: name),
    }
    functions = "\n".join(f"static void {name}(void)\n{{\n{chr(10).join(body)}\n}}" for name, body in forms.items())
    head = f"#include <stdio.h>\nstatic double x[{elements}], y[{elements}];\n"
    return preamble(functions) + head + functions + _MAIN


def run_regions(
    elements: int, calls: int, rounds: int, threads: int, cc: str, environment: Mapping[str, str]
) -> RegionsResult:
    """Raises EnvironmentMissing where the compiler makes no such program."""
    with scratch_folder() as folder, machine_lock(environment, lambda text: None):
        path, program = Path(folder) / "regions.c", Path(folder) / "regions"
        path.write_text(source(elements))
        built = subprocess.run([cc, *_FLAGS, path, "-o", program, "-lm"], capture_output=True, text=True, check=False)
        if built.returncode:
            raise EnvironmentMissing(f"{cc} cannot compile it: {built.stderr[-300:]}", "see perfembed doctor")
        settings = {**environment, "OMP_NUM_THREADS": str(threads)}
        command = [str(program), str(calls), str(rounds)]
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=settings).stdout
    times: dict[str, list[float]] = {name: [] for name in _FORMS}
    for line in said.splitlines():
        form, took = line.split()
        times[_FORMS[int(form)]].append(float(took))
    median, least, most = ({name: of(found) for name, found in times.items()} for of in (statistics.median, min, max))
    return RegionsResult(elements, threads, calls, rounds, median, least, most)
