"""What a kernel does at least, counted by hand; and what that means on a machine whose figures are known."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.comparing.bound import Bound, Work, bound_of, capacities, kernel_work, products_of
from perfembed.comparing.openblas import Product, run_openblas
from perfembed.comparing.regions import mark_kernel
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from profilers.build import CompilerConfig
from profilers.calibration import FLAGS, KINDS, MEMORY, PRECISIONS, Calibration, Figure
from profilers.machine import Cache, Machine

CACHES = (Cache(1, "Data", 64, 64, 1, 1), Cache(2, "Unified", 128, 64, 1, 1), Cache(3, "Unified", 256, 64, 1, 2))
MACHINE = Machine("m", "v", "x86_64", (), 2, 2, CACHES, "sys", 1 << 30, None, "k")


def calibration(other_load: float = 0.0) -> Calibration:
    """100 GFLOP/s in double, 200 in float; L1 to memory 80, 40, 20 and 10 GB/s."""
    figures = [Figure(name, "", "", n, 1e-6, 0.0, 1, 0) for name in ("fork_join", "barrier") for n in (1, 2)]
    for n in (1, 2):
        for level, speed in (("L1", 80.0), ("L2", 40.0), ("L3", 20.0), (MEMORY, 10.0)):
            figures += [Figure("bandwidth", level, kind, n, speed, 0.0, 1, 1) for kind in KINDS]
            figures.append(Figure("latency", level, "", n, 1e-9, 0.0, 1, 1))
        for precision, peak in zip(PRECISIONS, (200e9, 100e9), strict=True):
            figures += [Figure("flops", precision, kind, n, peak, 0.0, 1, 0) for kind in ("scalar", "vector")]
    return Calibration("m", "gcc", FLAGS, "2026-11-20T00:00:00+00:00", 2, other_load, tuple(figures))


def work_of(text: str, folder: Path) -> Work:
    path = folder / "program.c"
    path.write_text(text)
    source = parse(str(path), path.read_bytes(), TuneOptions(cflags=("-O1",)))
    where = (folder / "work", {"PATH": os.environ["PATH"]})
    return kernel_work(source, mark_kernel(source), CompilerConfig("gcc", ("-O1",)), (), MACHINE, 2, *where)


def program(loops: str, arrays: str, calls: int = 1) -> str:
    return (
        f"#include <stdio.h>\n#define N 100\nstatic {arrays};\nstatic void work(void)\n{{\n{loops}\n}}\n"
        f'int main(void) {{ for (int r = 0; r < {calls}; r++) work(); printf("%g\\n", (double)C[7][9]); return 0; }}\n'
    )


PRODUCT = """for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++)
    C[i][j] += 1.5f * A[i][k] * B[k][j];"""


@pytest.mark.gcc
def test_a_product(tmp_path: Path) -> None:
    """1.5 * A[i][k] does not change with j, and need not be computed each time."""
    work = work_of(program(PRODUCT, "float A[N][N], B[N][N], C[N][N]", calls=3), tmp_path)
    assert work.reason == ""
    assert work.flops == {"float": 3 * 2e6, "double": 0.0}
    assert products_of(work) == (Product(100, 100, 100, "float"),) * 3
    assert list(work.traffic) == ["L2", "L3", MEMORY]
    assert all(work.traffic[level] >= 3 * (4 * 4 * 100 * 100 - 2 * 256) for level in work.traffic)


@pytest.mark.gcc
def test_bytes_and_operations_of_a_copy(tmp_path: Path) -> None:
    loops = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = A[j][i] / 3.0;"
    work = work_of(program(loops, "double A[N][N], C[N][N]"), tmp_path)
    assert work.flops == {"float": 0.0, "double": 1e4}
    # Each of 2 threads has a cache of 64 and one of 128 bytes, both share 256.
    assert work.traffic == {"L2": 160_000 - 2 * 128, "L3": 160_000 - 2 * 256, MEMORY: 160_000 - 2 * 256}
    assert products_of(work) == ()


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("loops", "arrays", "reason"),
    [
        ("for (int i = 0; i < N; i++) C[D[i]][i] = C[i][D[i]] + 1;", "int D[N], C[N][N]", "data decides what work_0"),
        ("for (int i = 0; i < N; i++) for (int j = D[i]; j < D[i + 1]; j++) C[i][0] += C[i][1];",
         "int D[N + 1], C[N][N]", "data decides how long work_0"),
    ],
)  # fmt: skip
def test_what_cannot_be_said(tmp_path: Path, loops: str, arrays: str, reason: str) -> None:
    assert reason in work_of(program(loops, arrays), tmp_path).reason


@pytest.mark.gcc
def test_other_sizes_in_every_call(tmp_path: Path) -> None:
    text = program("for (int i = 0; i < n; i++) C[0][i] = C[1][i] + 1.0;", "double C[N][N]", 3)
    text = text.replace("work(void)", "work(int n)").replace("work();", "work(10 + r);")
    assert "other sizes" in work_of(text, tmp_path).reason


@pytest.mark.gcc
def test_only_the_kernel_of_main_counts(tmp_path: Path) -> None:
    text = """#include <stdio.h>
    static double A[100], B[100];
    int main(void) {
        for (int i = 0; i < 100; i++) A[i] = i * 0.5;
        for (int i = 1; i < 100; i++) B[i] = A[i] * A[i - 1];
        printf("%g\\n", B[7]);
        return 0;
    }"""
    work = work_of(text.replace("\\\\n", "\\n"), tmp_path)
    assert work.reason == "" and work.flops["double"] == 99


def test_the_slowest_limit_is_the_bound() -> None:
    known = calibration()
    work = Work({"double": 1e9, "float": 2e9}, {"L2": 4e8, "L3": 4e8, MEMORY: 4e8}, seconds=1.0)
    assert bound_of(work, 1.0, known, 2) == Bound(pytest.approx(0.04), MEMORY)  # type: ignore[arg-type]
    more = replace(work, flops={"double": 1e10, "float": 2e9})
    assert bound_of(more, 1.0, known, 2) == Bound(pytest.approx(0.11), "arithmetic")  # type: ignore[arg-type]


def test_no_bound() -> None:
    known = calibration()
    work = Work({"double": 1e9}, {MEMORY: 4e8}, seconds=1.0)
    assert bound_of(work, 1.0, known, 2) is not None
    assert bound_of(None, 1.0, known, 2) is None
    assert bound_of(replace(work, reason="why"), 1.0, known, 2) is None
    assert bound_of(work, None, known, 2) is None
    assert bound_of(work, 1.0, None, 2) is None
    assert bound_of(work, 1.0, calibration(other_load=1.0), 2) is None
    assert bound_of(work, 1.0, known, 3) is None  # not measured
    assert bound_of(work, 2.0, known, 2) is None  # half of the time is not in nests
    assert bound_of(replace(work, integers=1e12), 1.0, known, 2) is None
    assert bound_of(Work(seconds=1.0), 1.0, known, 2) is None


def test_capacities() -> None:
    assert capacities(MACHINE, 1) == (("L2", 64), ("L3", 128), (MEMORY, 256))
    assert capacities(MACHINE, 2) == (("L2", 128), ("L3", 256), (MEMORY, 256))


@pytest.mark.gcc
def test_openblas_adds_products_up(tmp_path: Path) -> None:
    products = (Product(20, 30, 40, "double"), Product(20, 30, 40, "double"), Product(8, 9, 10, "float"))
    finished = run_openblas(products, 1, {"PATH": os.environ["PATH"]}, tmp_path)
    assert float(finished.stdout) > 0
