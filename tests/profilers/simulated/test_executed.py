"""Compiled nests that count themselves: figures that follow from the loops, on one thread and on two."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from profilers.backend import ProfileRequest
from profilers.build import CompilerConfig
from profilers.contained.child import Limits
from profilers.machine import describe_machine
from profilers.simulated.assembly import Work
from profilers.simulated.executed import executed
from profilers.workload import Argument, RandomFill, Workload
from tests.compilers import usable

N = 4096
LIMITS = Limits(wall_s=20)
SCALE = "for (long i = 0; i < n; i++) a[i] = b[i] * 2.0;"


def request(body: str, folder: Path, flags: tuple[str, ...], threads: int = 1, cc: str = "gcc") -> ProfileRequest:
    source = (
        "void *memset(void *, int, unsigned long);\ndouble exp(double);\n"
        "void pe_kernel(void *const *args);\n"
        "__attribute__((noinline)) static void pe_nest(long n, double *restrict a, const double *restrict b)\n"
        f"{{\n{body}\n}}\n"
        f"void pe_kernel(void *const *args) {{ pe_nest({N}, args[0], args[1]); }}\n"
    )
    arguments = (
        Argument("a", "double", (N,), RandomFill(1, 0.0, 1.0), True),
        Argument("b", "double", (N,), RandomFill(2, 0.0, 1.0), False),
    )
    workload = Workload("k", source, arguments, threads)
    return ProfileRequest(workload, None, CompilerConfig(cc, flags), describe_machine(), folder, dict(os.environ), 3)


def count(body: str, folder: Path, flags: tuple[str, ...], threads: int = 1, cc: str = "gcc") -> tuple[Work, ...]:
    found = executed(request(body, folder, flags, threads, cc), LIMITS)
    assert not isinstance(found, str), found
    return found


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_a_scalar_loop(tmp_path: Path, cc: str) -> None:
    cc = usable(cc, "-fopenmp")
    (one,) = count(SCALE, tmp_path, ("-O1", "-fno-tree-vectorize", "-fno-unroll-loops"), cc=cc)
    assert N <= one.loads <= N + 4 and N <= one.stores <= N + 4
    assert N <= one.branches <= N + 4
    assert one.operations(64) == N and one.operations(32) == 0
    assert one.flops == {(64, 0): N}


def test_vectors_access_less_often(tmp_path: Path) -> None:
    (one,) = count(SCALE, tmp_path, ("-O3", "-msse2", "-fno-unroll-loops"))
    assert N / 2 <= one.loads <= N / 2 + 8 and N / 2 <= one.stores <= N / 2 + 8
    assert one.flops[64, 128] == N / 2 and one.operations(64) == N


def test_loops_of_different_lengths(tmp_path: Path) -> None:
    """What no share of the work tells: a long loop without arithmetic, stores outside the inner loop."""
    body = """
    for (long i = 0; i < n; i++) a[i] = b[n - 1 - i];
    for (long i = 0; i < 10; i++) {
        double sum = 0.0;
        for (long j = 0; j < 7; j++) sum += b[i + j];
        a[i] = sum;
    }"""
    (one,) = count(body, tmp_path, ("-O1", "-fno-tree-vectorize"))
    assert one.loads == pytest.approx(N + 70, abs=8)
    assert one.stores == pytest.approx(N + 10, abs=4)
    assert one.operations(64) == 70


def test_what_the_data_decide(tmp_path: Path) -> None:
    """Random numbers in [0, 1)."""
    (one,) = count("for (long i = 0; i < n; i++) if (b[i] > 0.75) a[i] /= 3.0;", tmp_path, ("-O1",))
    assert one.operations(64) == pytest.approx(N / 4, rel=0.1)
    assert one.stores == pytest.approx(one.operations(64), abs=4)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_threads_count_for_themselves(tmp_path: Path, cc: str) -> None:
    cc = usable(cc, "-fopenmp")
    asked = request("#pragma omp parallel for schedule(static)\n" + SCALE, tmp_path, ("-O2", "-fopenmp"), 2, cc)
    found = executed(asked, LIMITS)
    assert not isinstance(found, str), found
    assert [one.operations(64) for one in found] == [N / 2, N / 2]
    assert found[0].stores == pytest.approx(found[1].stores, rel=0.1)


def test_library_functions(tmp_path: Path) -> None:
    (filled,) = count("memset(a, 0, n * sizeof *a);", tmp_path, ("-O2",))
    assert filled.stores == pytest.approx(N * 8 / 32, abs=4)
    (plain,) = count(SCALE, tmp_path, ("-O1", "-fno-tree-vectorize"))
    (called,) = count("for (long i = 0; i < n; i++) a[i] = exp(b[i]);", tmp_path, ("-O1",))
    assert called.instructions > plain.instructions + 40 * N


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    count(SCALE, tmp_path, ("-O1",))
    assert {path.suffix for path in (tmp_path / "profile").iterdir()} <= {".c", ".exe", ".o"}


def test_what_cannot_be_counted(tmp_path: Path) -> None:
    good = request(SCALE, tmp_path, ("-O1",))
    for bad, word in (
        (replace(good, compiler=CompilerConfig("gcc", ("-m32",))), "no assembly"),
        (replace(good, workload=replace(good.workload, source="nonsense")), "no assembly"),
        (replace(good, workload=replace(good.workload, source="int nothing;")), "holds no nest"),
        (request("*(volatile int *)8 = 1;", tmp_path, ("-O1",)), "does not run"),
    ):
        found = executed(bad, LIMITS)
        assert isinstance(found, str) and word in found
