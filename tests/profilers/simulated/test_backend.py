"""The simulation: counts that can be worked out by hand, sampling, threads, and what cannot be profiled."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig
from profilers.machine import Cache, Machine, describe_machine
from profilers.profile import Profile
from profilers.simulated.assembly import Work
from profilers.simulated.backend import SimulatedBackend, geometry
from profilers.simulated.traced_report import Counted, counters_of
from profilers.workload import Argument, RandomFill, Workload

N = 40_000
FLAGS = CompilerConfig("gcc", ("-O2", "-fopenmp"))


def machine() -> Machine:
    """This one with caches that are easy to reason about: 32 KiB, 256 KiB, 1 MiB shared by two."""
    caches = (
        Cache(1, "Data", 32 << 10, 64, 8, 1),
        Cache(2, "Unified", 256 << 10, 64, 8, 1),
        Cache(3, "Unified", 1 << 20, 64, 16, 2),
    )
    return replace(describe_machine(), caches=caches)


def request(body: str, folder: Path, threads: int = 1, n: int = N, traced: str | None = None) -> ProfileRequest:
    """`body` with a[] written, b[] read; accesses marked by hand in `traced`."""

    def source(text: str) -> str:
        return (
            "void pe_kernel(void *const *args);\n"
            "__attribute__((noinline)) static void pe_nest(long n, double *a, const double *b)\n"
            f"{{\n{text}\n}}\n"
            f"void pe_kernel(void *const *args) {{ pe_nest({n}, args[0], args[1]); }}\n"
        )

    arguments = (
        Argument("a", "double", (n,), RandomFill(1, 0.0, 1.0), True),
        Argument("b", "double", (n,), RandomFill(2, 0.0, 1.0), False),
    )
    plain = body.replace("PE_", "P_")
    macros = (
        "#define P_READ(x) (x)\n#define P_WRITE(x) (x)\n#define P_UPDATE(b, x) (x)\n#define P_FLOP(b, x) (x)\n"
        "#define P_BRANCH(x) (x)\n#define P_SKIP() 0\n"
    )
    workload = Workload("k", macros + source(plain), arguments, threads)
    return ProfileRequest(workload, source(body), FLAGS, machine(), folder, dict(os.environ), 3)


def counts(found: Profile | ProfileFailed) -> dict[str, tuple[float, ...]]:
    assert isinstance(found, Profile), found
    return dict(found.counts)


COPY = """    for (long i = 0; i < n; i++) {
        if (PE_SKIP()) continue;
        PE_WRITE(a[i]) = PE_FLOP(64, PE_READ(b[i]) * 2.0);
    }"""


def test_streaming_counts_by_hand(tmp_path: Path) -> None:
    """Both arrays (640 KB) pass through L1 and L2 each time; of the 1 MiB L3 they stay in it once warm."""
    found = SimulatedBackend(budget=1 << 40).profile(request(COPY, tmp_path))
    c = counts(found)
    lines = N * 8 / 64
    assert c["fp64_scalar"][0] + 2 * c["fp64_128"][0] == N
    assert c["fp32_scalar"] == (0.0,)
    assert c["l1_replacements"][0] == pytest.approx(2 * lines, rel=0.01)
    assert c["l1_evictions"][0] == pytest.approx(lines, rel=0.03)
    assert c["l2_lines_in"][0] == pytest.approx(2 * lines, rel=0.01)
    assert c["memory_reads"] == (0.0,) and c["memory_writes"] == (0.0,)
    assert isinstance(found, Profile) and found.sampling_error == 0.0 and found.source == "simulated"
    assert found.metrics()["fp64_rate"] > 0


def test_what_fits_stays(tmp_path: Path) -> None:
    c = counts(SimulatedBackend(budget=1 << 40).profile(request(COPY, tmp_path, n=1000)))
    assert c["l1_replacements"] == (0.0,) and c["memory_reads"] == (0.0,)


def test_memory_traffic(tmp_path: Path) -> None:
    c = counts(SimulatedBackend(budget=1 << 40).profile(request(COPY, tmp_path, n=400_000)))
    lines = 400_000 * 8 / 64
    assert c["memory_reads"][0] == pytest.approx(2 * lines, rel=0.02)
    assert c["memory_writes"][0] == pytest.approx(lines, rel=0.05)


def test_stride(tmp_path: Path) -> None:
    """Column by column through a matrix that does not fit: a line for every element."""
    body = """    for (long j = 0; j < 200; j++) {
        if (PE_SKIP()) continue;
        for (long i = 0; PE_BRANCH(i < n / 200); i++)
            PE_UPDATE(64, a[i * 200 + j]) += 1.0;
    }"""
    big = counts(SimulatedBackend(budget=1 << 40).profile(request(body, tmp_path, n=400_000)))
    assert big["l1_replacements"][0] == pytest.approx(400_000, rel=0.02)


def test_threads_have_their_shares(tmp_path: Path) -> None:
    body = "    #pragma omp parallel for schedule(static)\n" + COPY
    found = SimulatedBackend(budget=1 << 40).profile(request(body, tmp_path, threads=2))
    c = counts(found)
    assert len(c["loads"]) == 2
    for values in (c["l1_replacements"], c["fp64_scalar"]):
        assert values[0] == pytest.approx(values[1], rel=0.02)
    assert sum(c["fp64_scalar"]) + 2 * sum(c["fp64_128"]) == N
    assert geometry(machine(), 2).levels[2][0] * 2 == geometry(machine(), 1).levels[2][0]


def test_sampling_comes_close_and_says_so(tmp_path: Path) -> None:
    """A triangle, of which only some windows are simulated."""
    body = """    for (long i = 0; i < 2000; i++) {
        if (PE_SKIP()) continue;
        for (long j = 0; PE_BRANCH(j < i); j++)
            PE_UPDATE(64, a[i]) += PE_READ(b[j]);
    }"""
    exact = counts(SimulatedBackend(budget=1 << 40).profile(request(body, tmp_path)))
    found = SimulatedBackend(budget=200_000).profile(request(body, tmp_path))
    sampled = counts(found)
    assert isinstance(found, Profile) and found.sampling_error > 0
    assert any("simulated" in note for note in found.notes)
    assert sum(exact["fp64_scalar"]) == 2000 * 1999 / 2
    assert sum(sampled["fp64_scalar"]) == pytest.approx(sum(exact["fp64_scalar"]), rel=0.1)


def test_branches(tmp_path: Path) -> None:
    """A condition on random data is predicted wrongly about half of the time, a loop's own nearly never."""
    body = """    for (long i = 0; i < n; i++) {
        if (PE_SKIP()) continue;
        if (PE_BRANCH(PE_READ(b[i]) > LIMIT)) PE_WRITE(a[i]) = 1.0;
    }"""
    random = counts(SimulatedBackend(budget=1 << 40).profile(request(body.replace("LIMIT", "0.5"), tmp_path)))
    steady = counts(SimulatedBackend(budget=1 << 40).profile(request(body.replace("LIMIT", "2.0"), tmp_path)))
    assert 0.4 * N < random["branch_misses"][0] < 0.6 * N
    assert steady["branch_misses"][0] < 0.01 * N


def test_the_compiled_nest_is_counted(tmp_path: Path) -> None:
    """Accesses of the vectorized loop, not of the one as written; arithmetic stays that of the one as written."""
    asked = request(COPY, tmp_path)
    asked = replace(asked, compiler=CompilerConfig("gcc", ("-O3", "-msse2")))
    found = SimulatedBackend(budget=1 << 40).count(asked, geometry(machine(), 1))
    assert isinstance(found, Counted) and found.missing is None
    (traced,), (one,) = found.traced, found.threads
    assert traced.counts["reads"] == N and traced.counts["flops64"] == N
    assert one["fp64_128"] == N / 2 and one["fp64_scalar"] == 0
    assert N / 2 <= one["loads"] < 0.51 * N and N / 2 <= one["stores"] < 0.51 * N
    assert one["instructions"] > one["loads"] + one["branches"] >= N


def test_widths_and_what_stands_in_for_them() -> None:
    names = ("reads", "writes", "branches", "misses", "l1_in", "l1_out", "l2_in", "l2_out", "memory_in", "memory_out")
    traced = {"flops32": 0.0, "flops64": 120.0, **dict.fromkeys(names, 10.0)}
    own, of_all = Work(50, 5, 20, 10, {(64, 256): 10, (64, 0): 20}), {(64, 128): 7.0}
    assert (found := counters_of(traced, own, of_all))["fp64_256"] == 20 and found["fp64_scalar"] == 40
    assert found["branches"] == 10  # no fewer than were predicted wrongly
    assert counters_of(traced, Work(9), of_all)["fp64_128"] == 60  # another thread did this one's share
    unknown = counters_of(traced, None, {})
    assert unknown["fp64_scalar"] == 120 and unknown["loads"] == 10 and unknown["instructions"] == 150


def test_refusals(tmp_path: Path) -> None:
    good = request(COPY, tmp_path)
    for bad, word in (
        (replace(good, traced=None), "traced"),
        (replace(good, traced="nonsense"), "compile"),
        (replace(good, workload=replace(good.workload, source="nonsense")), "compile"),
        (request(COPY + "\n    *(volatile int *)8 = 1;", tmp_path), "run"),
    ):
        failed = SimulatedBackend().profile(bad)
        assert isinstance(failed, ProfileFailed) and word in failed.reason
