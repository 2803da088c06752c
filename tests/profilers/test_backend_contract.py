"""What every source of profiles keeps to. A new one is added to BACKENDS."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from profilers.backend import Backend, ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig
from profilers.counters import counters, feature_names, metrics
from profilers.likwid import LikwidBackend
from profilers.machine import describe_machine
from profilers.mapping import load
from profilers.perf import PerfBackend
from profilers.profile import Profile
from profilers.simulated.backend import SimulatedBackend
from profilers.workload import Argument, ConstantFill, Workload
from tests.doubles.recorded_backend import RecordedBackend

SOURCES = {"likwid", "perf", "simulated"}
NEST = """
void pe_kernel(void *const *args);
__attribute__((noinline)) static void pe_nest(long n, double *a, const double *b)
{
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        if (PE_SKIP()) continue;
        PE_WRITE(a[i]) = PE_FLOP(64, PE_READ(b[i]) * 2.0);
    }
}
void pe_kernel(void *const *args) { pe_nest(4096, args[0], args[1]); }
"""
PLAIN = "#define PE_READ(x) (x)\n#define PE_WRITE(x) (x)\n#define PE_FLOP(b, x) (x)\n#define PE_SKIP() 0\n"
SOFTWARE = """
probe = "task-clock"
notes = ["page faults stand for instructions"]
[[counter]]
name = "instructions"
events = ["page-faults:u"]
formula = "e1"
"""


@dataclass(frozen=True)
class Candidate:
    """How to make a backend, given a folder of its own and the request it may have to know; may skip."""

    make: Callable[[Path, ProfileRequest], Backend]
    needs_tool: str | None = None  # without which it cannot count


def software(folder: Path, request: ProfileRequest) -> Backend:
    """perf on what it can count on any machine: software events."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    (folder / "perf-software.toml").write_text(SOFTWARE)
    return PerfBackend(maps=(load(folder / "perf-software.toml"),))


def recorded(folder: Path, request: ProfileRequest) -> Backend:
    backend = RecordedBackend(folder)
    counts = (("loads", (3.0,) * request.workload.threads),)
    machine = request.machine.fingerprint
    backend.record(Profile("likwid", machine, request.workload.threads, 1e-3, 64, counts), request)
    return backend


BACKENDS = {
    "likwid": Candidate(lambda folder, request: LikwidBackend(package=False), "likwid-perfctr"),
    "likwid-package": Candidate(lambda folder, request: LikwidBackend(package=True)),
    "perf": Candidate(lambda folder, request: PerfBackend(), "perf"),
    "perf-software": Candidate(software, "perf"),
    "simulated": Candidate(lambda folder, request: SimulatedBackend()),
    "recorded": Candidate(recorded),
    "recorded-nothing": Candidate(lambda folder, request: RecordedBackend(folder)),
}


@pytest.fixture
def request_(tmp_path: Path, marked) -> ProfileRequest:
    arguments = (
        Argument("a", "double", (4096,), ConstantFill(1.0), True),
        Argument("b", "double", (4096,), ConstantFill(1.0), False),
    )
    config = CompilerConfig("gcc", ("-O2", "-fopenmp"))
    workload = Workload("nest", PLAIN + NEST, arguments, 1)
    return ProfileRequest(workload, NEST, config, describe_machine(), tmp_path / "work", marked.env, 2)


@pytest.fixture(params=BACKENDS)
def candidate(request) -> Candidate:
    return BACKENDS[request.param]


@pytest.fixture
def backend(candidate: Candidate, tmp_path: Path, request_: ProfileRequest) -> Backend:
    (tmp_path / "own").mkdir()
    return candidate.make(tmp_path / "own", request_)


def one_line(text: str) -> bool:
    return bool(text.strip()) and len(text.splitlines()) == 1 and len(text) <= 400


def test_it_says_in_one_line_whether_it_counts(backend, request_):
    support = backend.available(request_.environment)
    assert support.tool == backend.name and one_line(support.detail)


def test_it_gives_a_profile_exactly_where_it_counts(backend, request_):
    support = backend.available(request_.environment)
    found = backend.profile(request_)
    if not support.usable:
        assert isinstance(found, ProfileFailed) and one_line(found.reason)
        return
    assert isinstance(found, Profile), found
    assert found.source in SOURCES and backend.name in (found.source, "recorded")
    assert found.threads == 1 and found.runtime_s > 0 and found.line_bytes > 0
    assert found.machine == request_.machine.fingerprint
    assert {name for name, _ in found.counts} <= {counter.name for counter in counters()} and found.counts
    assert any(value > 0 for _, values in found.counts for value in values)
    assert len(found.features()) == len(feature_names()) and len(found.metrics()) == len(metrics())
    assert Profile.from_json(found.to_json()) == found
    assert all(one_line(note) for note in found.notes)


def test_it_leaves_nothing_behind(backend, request_, tmp_path, marked):
    elsewhere = sorted(Path("/tmp").glob("likwid*_*"))
    own = sorted((tmp_path / "own").rglob("*"))
    found = backend.profile(request_)
    assert marked.survivors() == []
    assert sorted(Path("/tmp").glob("likwid*_*")) == elsewhere and sorted((tmp_path / "own").rglob("*")) == own
    left = [path.suffix for path in (tmp_path / "work").rglob("*") if path.is_file()]
    if isinstance(found, ProfileFailed):
        assert left == []
    else:  # what is compiled may be kept for the next time
        assert set(left) <= {".exe", ".c", ".o", ".failed", ".s", ".h"}


def test_without_its_tool_it_says_so(candidate, backend, request_):
    if candidate.needs_tool is None:
        pytest.skip("needs no tool")
    bare = replace(request_, environment={"PATH": "/nonexistent"})
    support, found = backend.available(bare.environment), backend.profile(bare)
    assert not support.usable and "is not installed" in support.detail and one_line(support.detail)
    assert isinstance(found, ProfileFailed) and "is not installed" in found.reason and one_line(found.reason)


def test_a_nest_that_does_not_compile_or_crashes_is_one_line(backend, request_):
    for wrong in ("no C at all", "void pe_kernel(void *const *args) { *(volatile int *)8 = 1; }"):
        workload = replace(request_.workload, source=wrong)
        found = backend.profile(replace(request_, workload=workload, traced=wrong))
        assert isinstance(found, ProfileFailed) and one_line(found.reason)
