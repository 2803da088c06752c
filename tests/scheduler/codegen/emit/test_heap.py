"""Private arrays of parallel loops: small ones on the threads' stacks, others in a block of all threads."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from scheduler.codegen.emit.text import preamble
from scheduler.ir.text import parse_nest
from tests.scheduler.codegen.support import check_same, text_of

NEST = """nest g { param n: int; param m: int;
array t: double[m] private(i); array u: double[3][20000] private(i); array v: double[4] private(i);
array A: double[n][m] const; array B: double[n][m];
for i: int in [0, n) step 1 {
for j: int in [0, m) step 1 { S0: t[j] = A[i][j] * 2; }
for k: int in [0, 20000) step 1 { S1: u[1][k] = A[i][0] + k; }
for l: int in [0, 4) step 1 { S2: v[l] = l; }
for p: int in [0, m) step 1 { S3: B[i][p] = t[m - p - 1] + u[1][19999 - p] + v[2]; } } }"""


@pytest.mark.gcc
def test_large_private_arrays_are_allocated(tmp_path: Path) -> None:
    text = check_same(tmp_path, NEST, "parallelize(i)", {"n": 7, "m": 5}, {"n": 0, "m": 1}, {"n": 3, "m": 1})
    assert "double v[4] __attribute__((__aligned__(64)));" in text
    assert "double *restrict t = (void *)(pe_t_all + " in text
    assert "double (*restrict u)[20000] = (void *)(pe_u_all + (unsigned long)480000 * pe_thread());" in text
    assert text.count("pe_alloc(") == text.count("pe_free(") == 2


def test_in_source_order_they_stay_where_they_were() -> None:
    text = text_of(parse_nest(NEST), "")
    assert "double t[m]" in text and "pe_alloc" not in text


@pytest.mark.gcc
def test_threads_with_small_stacks(tmp_path: Path) -> None:
    body = text_of(parse_nest(NEST), "parallelize(i)")
    source = f"#include <stdio.h>\n{preamble(body)}static double A[9][500], B[9][500];\nint main(void)\n{{\n"
    source += f'    int n = 9, m = 500;\n{body}    printf("%g\\n", B[8][0]);\n    return 0;\n}}\n'
    (tmp_path / "t.c").write_text(source)
    subprocess.run(["gcc", "-O0", "-fopenmp", "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    environment = {"OMP_STACKSIZE": "64k", "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run([tmp_path / "t"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{np.float64(19999 + 2):g}\n")


EMPTY = """nest e { param n: int; param m: int;
array t: double[m][m - 2] private(i); array A: double[n] const; array B: double[n];
for i: int in [0, n) step 1 {
for j: int in [0, m - 2) step 1 { S0: t[j][j] = A[i] * 2; }
for p: int in [0, m - 2) step 1 { S1: B[i] = t[p][p]; } } }"""


@pytest.mark.gcc
def test_extents_of_loops_that_do_not_run(tmp_path: Path) -> None:
    body = text_of(parse_nest(EMPTY), "parallelize(i)")
    assert "double (*restrict t)[pe_max(m - 2L, 1)] = " in body
    source = f"#include <stdio.h>\n{preamble(body)}static double A[9], B[9];\nint main(int argc, char **argv)\n{{\n"
    source += f"    (void)argv;\n    int n = 9, m = argc;\n{body}    return B[8] != 0;\n}}\n"
    (tmp_path / "t.c").write_text(source)
    flags = ("-O1", "-w", "-fopenmp", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    subprocess.run(["gcc", *flags, "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run([tmp_path / "t"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
