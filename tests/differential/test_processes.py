"""Written files in programs that fork, and that change how they round: the same output as the original's."""

import os
import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.schedule import parse_schedule
from tests.rewriting import read, rewritten

MUL = """
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { N = 96 };
static double a[N][N], b[N][N], c[N][N];
static long least;
static void mul(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
}
static void smallest(void)
{
    for (int i = 0; i < N; i++)
        least += (long)(a[i][0] * 1000);
}
static void show(const char *who)
{
    double sum = 0;
    mul();
    smallest();
    for (int i = 0; i < N * N; i++)
        sum += c[0][i];
    printf("%s %a %a %ld\\n", who, sum, c[N - 1][N - 1], least);
    fflush(stdout);
}
int main(void)
{
    for (int i = 0; i < N * N; i++) {
        a[0][i] = i / 3.0;
        b[0][i] = i * 0.1 - 7;
    }
    for (int generation = 0; generation < 3; generation++) {
        show("before");
        pid_t child = fork();
        if (child) {
            int status = 1;
            waitpid(child, &status, 0);
            show("parent");
            return status != 0;
        }
        fesetround(generation ? FE_UPWARD : FE_DOWNWARD);
        show("child in another mode");
    }
    return 0;
}
"""
SCHEDULES = {
    "plain": "parallelize(i)",
    "packed": "interchange(j, k); interchange(i, j); tile([j, k, i], [32, 32, 32]); interchange(j_t, k_t); "
    "register_block([i, j], [4, 8]); "
    "pack(k_t, b, [1, 0], 1, 8); parallelize(i_t, 1, 1)",
}


@pytest.mark.parametrize("how", SCHEDULES)
def test_fork_and_rounding(tmp_path: Path, how: str) -> None:
    source = read(tmp_path / "program.c", MUL.encode())
    steps = {"mul": SCHEDULES[how], "smallest": "parallelize(i)"}
    chosen = [nest for nest in source.nests if nest.function in steps]
    written = rewritten(source, [Rewrite(n, parse_schedule(steps[n.function or ""]), 1.0) for n in chosen])
    assert written.count(b"#pragma omp parallel num_threads") == 2
    (tmp_path / "written.c").write_bytes(written)
    outputs = []
    for name in ("program", "written"):
        command = ["gcc", "-O2", "-ffp-contract=off", "-fopenmp", "-w", f"{name}.c", "-o", name, "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "4"}
        done = subprocess.run([tmp_path / name], env=environment, capture_output=True, timeout=30, check=False)
        assert done.returncode == 0
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] and outputs[0].count(b"mode") == 3
