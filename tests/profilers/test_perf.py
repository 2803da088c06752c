"""The perf backend: reading perf's real output, its refusals, and software events counted for real where perf is."""

import dataclasses
import math
import shutil
from pathlib import Path

import pytest

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig
from profilers.contained.child import Finished
from profilers.contained.errors import ProfilersError
from profilers.machine import describe_machine
from profilers.mapping import Mapped, Run, load
from profilers.perf import PerfBackend, read_counts, refusal, verdict
from profilers.profile import Profile
from profilers.workload import Argument, ConstantFill, Workload

RECORDED = Path(__file__).parent / "recorded"
FAULTS, CLOCK = "page-faults:u", "task-clock:u"
BOTH = Run("instructions", (Mapped("instructions", (FAULTS,), "e1"), Mapped("branches", (CLOCK,), "e1")))
# What perf of Linux 6.1 writes for one thread in one repetition, with the value and share of the time to fill in.
LINE = (
    '{{"thread" : "nest-{tid}", "counter-value" : "{value}", "unit" : "", "event" : "{event}", '
    '"event-runtime" : 10, "pcnt-running" : {share:.2f}, "metric-value" : 0.000000, "metric-unit" : ""}}\n'
)
SOFTWARE = """
probe = "task-clock"
notes = ["page faults stand for instructions"]

[[counter]]
name = "instructions"
events = ["page-faults:u"]
formula = "e1"

[[counter]]
name = "branches"
events = ["minor-faults:u"]
formula = "e1"

[[counter]]
name = "loads"
events = ["L1-dcache-loads:u"]
formula = "e1"
note = "never seen, as it is not counted"

[[counter]]
name = "fp64_512"
events = ["r40c7:u"]
formula = "e1"
zero_without = "no-such-flag"
"""
# Thread 0 touches 50 fresh pages, thread 1 100 of them, thread 2 none.
PAGES = """
#include <sys/mman.h>
void pe_kernel(void *const *args)
{
    double *x = args[0];
    #pragma omp parallel for schedule(static, 1)
    for (long i = 0; i < 3; i++) {
        long pages = 50 * (i + 1) % 150;
        if (!pages) continue;
        volatile char *p = mmap(0, pages << 12, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise((void *)p, pages << 12, MADV_NOHUGEPAGE);
        for (long k = 0; k < pages; k++) p[k << 12] = 1;
        munmap((void *)p, pages << 12);
        x[i] += 1;
    }
}
"""
needs_perf = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")


def finished(name: str) -> Finished:
    err = (RECORDED / f"{name}.stderr").read_bytes()
    return Finished(0, None, b"", err, 0.1, 0.1, 0, False, False, None, 0)


def software(folder: Path) -> PerfBackend:
    (folder / "perf-software.toml").write_text(SOFTWARE)
    return PerfBackend(maps=(load(folder / "perf-software.toml"),))


def pages(folder: Path, text: str = PAGES, threads: int = 3) -> ProfileRequest:
    workload = Workload("pages", text, (Argument("x", "double", (64,), ConstantFill(0.0), True),), threads)
    config = CompilerConfig("gcc", ("-O2", "-fopenmp"))
    return ProfileRequest(workload, None, config, describe_machine(), folder, {}, 3)


def test_what_perf_really_wrote_is_read_thread_by_thread():
    read = read_counts((RECORDED / "perf-per-thread.json").read_text(), BOTH, 2)
    faults = [[thread[FAULTS] for thread in threads] for threads in read.repetitions]
    assert faults == [[55.0, 101.0], [54.0, 102.0]] and not read.shared
    assert [round(thread[CLOCK], 3) for thread in read.repetitions[0]] == [0.292, 0.357]


def test_threads_that_never_came_to_be_have_done_nothing():
    read = read_counts((RECORDED / "perf-per-thread.json").read_text(), BOTH, 4)
    assert [thread[FAULTS] for thread in read.repetitions[1]] == [54.0, 102.0, 0.0, 0.0]
    with pytest.raises(ProfilersError, match="2 threads instead of 1"):
        read_counts((RECORDED / "perf-per-thread.json").read_text(), BOTH, 1)


def test_an_unsupported_event_is_no_count_though_perf_ends_with_0():
    events = tuple(
        Mapped(name, (event,), "e1")
        for name, event in (("instructions", "instructions:u"), ("loads", "L1-dcache-loads:u"), ("stores", FAULTS))
    )
    read = read_counts((RECORDED / "perf-per-thread-not-supported.json").read_text(), Run("accesses", events), 3)
    for thread in read.repetitions[0]:
        assert math.isnan(thread["instructions:u"]) and math.isnan(thread["L1-dcache-loads:u"])
    assert [thread[FAULTS] for thread in read.repetitions[0]] == [52.0, 101.0, 0.0]


def test_a_sleeping_thread_has_counted_0_and_a_starved_event_nothing():
    def said(values: dict[tuple[int, str], str], share: float = 100.0) -> str:
        return "".join(LINE.format(tid=t, event=e, value=v, share=share) for (t, e), v in values.items())

    asleep = {(7, FAULTS): "5.0", (7, CLOCK): "2.0", (8, FAULTS): "<not counted>", (8, CLOCK): "<not counted>"}
    assert read_counts(said(asleep), BOTH, 2).repetitions[0][1] == {FAULTS: 0.0, CLOCK: 0.0}
    starved = {(7, FAULTS): "5.0", (7, CLOCK): "<not counted>", (8, FAULTS): "6.0", (8, CLOCK): "3.0"}
    first, second = read_counts(said(starved), BOTH, 2).repetitions[0]
    assert math.isnan(first[CLOCK]) and first[FAULTS] == 5.0 and second == {FAULTS: 6.0, CLOCK: 3.0}
    nobody = {(7, FAULTS): "<not counted>", (8, FAULTS): "<not counted>"}
    assert all(math.isnan(thread[FAULTS]) for thread in read_counts(said(nobody), BOTH, 3).repetitions[0])
    assert read_counts(said({(7, FAULTS): "5.0"}, 43.0), BOTH, 1).shared


@pytest.mark.parametrize("said", ["", '{"event" : "page-faults:u"}', '{"thread" : "a-1", "event" : "other"}', "{"])
def test_anything_else_is_refused(said):
    with pytest.raises(ProfilersError):
        read_counts(said, BOTH, 1)


def test_verdicts_and_refusals_of_a_real_perf():
    assert "kernel.perf_event_paranoid to 2" in verdict(finished("perf-refused"), "instructions:u").detail
    assert "does not know an event" in verdict(finished("perf-no-event"), "instructions:u").detail
    unseen = dataclasses.replace(finished("perf-refused"), stderr=b"<not supported>;;instructions:u;0;100.00;;\n")
    assert not verdict(unseen, "instructions:u").usable and "virtual" in verdict(unseen, "instructions:u").detail
    counted = dataclasses.replace(unseen, stderr=b"211942;;instructions;498000;100.00;;\n")
    assert verdict(counted, "instructions:u").usable
    assert not verdict(dataclasses.replace(unseen, stderr=b"0;;instructions:u;0;100.00;;\n"), "instructions:u").usable
    assert "did not answer" in verdict(dataclasses.replace(unseen, timed_out=True), "instructions:u").detail
    assert refusal("Events disabled\n") == "perf failed and did not say why"
    assert refusal("Error:\nsomething new\nmore") == "perf failed: something new"


@needs_perf
def test_a_real_perf_counts_each_thread_of_the_nest_alone(tmp_path, marked):
    backend = software(tmp_path)
    assert backend.available(marked.env).usable
    found = backend.profile(dataclasses.replace(pages(tmp_path / "work"), environment=marked.env))
    assert isinstance(found, Profile), found
    counts = dict(found.counts)
    # a few faults more: the stack's first pages and the runtime's own
    assert sorted(counts) == ["branches", "fp64_512", "instructions"]
    for name in ("instructions", "branches"):
        assert all(0 <= have - want <= 20 for have, want in zip(counts[name], (50, 100, 0), strict=True)), counts
    assert counts["fp64_512"] == (0.0, 0.0, 0.0)
    assert (found.source, found.threads, found.machine) == ("perf", 3, describe_machine().fingerprint)
    assert 0 < found.runtime_s < 0.1
    assert "page faults stand for instructions" in found.notes and not any("never seen" in note for note in found.notes)
    assert any(note.startswith("not counted: loads:") for note in found.notes)


@needs_perf
def test_a_real_perf_that_can_count_nothing_gives_no_profile(tmp_path):
    text = SOFTWARE.replace("page-faults:u", "r01c7:u").replace("minor-faults:u", "r02c7:u")
    (tmp_path / "perf-raw.toml").write_text(text)
    found = PerfBackend(maps=(load(tmp_path / "perf-raw.toml"),)).profile(pages(tmp_path / "work"))
    if isinstance(found, ProfileFailed):  # a machine with such counters has counted
        assert "counted nothing" in found.reason and "\n" not in found.reason


@needs_perf
def test_a_real_perf_that_refuses_an_event_is_one_line(tmp_path):
    (tmp_path / "perf-wrong.toml").write_text(SOFTWARE.replace("page-faults:u", "no_such_event:u"))
    found = PerfBackend(maps=(load(tmp_path / "perf-wrong.toml"),)).profile(pages(tmp_path / "work"))
    assert isinstance(found, ProfileFailed) and "does not know an event" in found.reason


@needs_perf
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAGES.replace("long pages", "lang pages"), "does not compile"),
        (PAGES.replace("x[i] += 1", "x[i] += *(volatile double *)8"), "SIGSEGV"),
        (PAGES.replace("x[i] += 1", "x[64 + i] += 1"), "outside x"),
    ],
)
def test_a_nest_that_fails_is_one_line(tmp_path, text, reason):
    found = software(tmp_path).profile(pages(tmp_path / "work", text))
    assert isinstance(found, ProfileFailed) and reason in found.reason and "\n" not in found.reason


def test_the_map_is_that_of_the_vendor():
    machine = describe_machine()
    names = {
        vendor: PerfBackend()._map(dataclasses.replace(machine, vendor=vendor)).name
        for vendor in ("GenuineIntel", "AuthenticAMD", "0x41")
    }
    assert names == {"GenuineIntel": "perf-intel", "AuthenticAMD": "perf-amd", "0x41": "perf-generic"}
