"""The LIKWID backend: reading LIKWID's output and refusals, choosing the map, and the way through a replayed tool.

The files in `recorded/` are what LIKWID 5.2.2 wrote here, made to take this machine for another one by a topology file
and to find its registers in ordinary files: formats and messages are real, the numbers mean nothing.
"""

import dataclasses
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig
from profilers.contained.child import Finished
from profilers.contained.errors import ProfilersError
from profilers.likwid import LikwidBackend, choose
from profilers.likwid_output import architecture, read_regions, read_single, refusal
from profilers.machine import describe_machine
from profilers.mapping import event_maps
from profilers.profile import Profile
from profilers.run import DEFAULT_ENVIRONMENT
from profilers.workload import Argument, ConstantFill, Workload

RECORDED = Path(__file__).parent / "recorded"
BRANCHES, MISSES = "RETIRED_BRANCH_INSTR:PMC0", "RETIRED_MISP_BRANCH_INSTR:PMC1"
ENDED = Finished(1, None, b"", b"", 0.1, 0.1, 0, False, False, None, 0)


def said(name: str) -> tuple[str, str]:
    return (RECORDED / f"likwid-{name}.stdout").read_text(), (RECORDED / f"likwid-{name}.stderr").read_text()


def test_regions_of_two_threads_are_read():
    out, _ = said("two-threads")
    assert read_regions(out, (0, 1), 2) == (
        (
            {BRANCHES: 12885030000000.0, MISSES: 17180070000000.0},
            {BRANCHES: 12897920000000.0, MISSES: 17197250000000.0},
        ),
        (
            {BRANCHES: 25770070000000.0, MISSES: 34360130000000.0},
            {BRANCHES: 25782950000000.0, MISSES: 34377310000000.0},
        ),
    )
    assert [thread[BRANCHES] for thread in read_regions(out, (1, 0), 1)[0]] == [12897920000000.0, 12885030000000.0]


def test_a_core_without_a_column_ran_no_thread():
    out, _ = said("one-thread")
    first, second = read_regions(out, (0, 1), 2)
    assert first == ({BRANCHES: 12885030000000.0, MISSES: 17180070000000.0}, {BRANCHES: 0.0, MISSES: 0.0})
    assert second[0][MISSES] == 34360130000000.0


def test_what_the_program_prints_is_no_table():
    out, _ = said("two-threads")
    noisy = (
        "TABLE,hello\nEvent,Counter,HWThread 0\nx,y,3\n"
        + out.replace("STRUCT", "Event,Counter\nSTRUCT")
        + "1,2,3,4,5\n"
    )
    assert read_regions(noisy, (0, 1), 2) == read_regions(out, (0, 1), 2)


def test_older_versions_call_a_core_core():
    out, _ = said("two-threads")
    assert read_regions(out.replace("HWThread", "Core"), (0, 1), 2) == read_regions(out, (0, 1), 2)


def test_a_missing_region_or_table_is_no_count():
    assert read_regions(said("two-threads")[0], (0, 1), 3) == ()
    for name in ("no-marker", "no-event", "crash", "no-cpu"):
        assert read_regions(said(name)[0], (0,), 1) == () and read_single(said(name)[0]) == {}


def test_an_event_that_likwid_dropped_has_no_value():
    ((first, _),) = read_regions(said("partial")[0], (0, 1), 1)
    assert first["RETIRED_INSTRUCTIONS:PMC0"] == 12885030000000.0 and math.isnan(first["NO_SUCH_EVENT:PMC1"])


def test_a_run_without_regions_is_read():
    assert read_single(said("single")[0]) == {"RETIRED_INSTRUCTIONS:PMC0": 0.0}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no-msr", "no access to the MSRs: load the msr module"),
        ("no-daemon", "no access to the MSRs: load the msr module"),
        ("no-uncore", "finds no uncore counters"),
        ("locked", "another user holds LIKWID's lock"),
        ("in-use", "register PMC0 is in use: stop the program"),
        ("no-event", "does not know the event NO_SUCH_EVENT"),
        ("no-counter", "no counter register PMC77"),
        ("wrong-register", "RETIRED_INSTRUCTIONS cannot be counted in DFC0"),
        ("no-group", "LIKWID has no group NOGROUP"),
        ("unsupported", "does not know the CPU"),
        ("no-cpu", "may not use core 7"),
        ("no-marker", "crashed or ended the process"),
        ("crash", "crashed or ended the process"),
    ],
)
def test_refusals_of_a_real_likwid_are_one_telling_line(name, line):
    found = refusal(*said(name))
    assert line in found and "\n" not in found


def test_refusals_that_could_not_be_provoked_here():
    # texts taken from likwid-perfctr 5.2.2 and its library
    paranoid = refusal("", "Cannot use performance monitoring with perf_event_paranoid = 3\n")
    assert "kernel.perf_event_paranoid is 3: set it to 2 or less" in paranoid
    assert "access daemon is missing" in refusal("", "Failed to fork access daemon for CPU 0\n")
    assert refusal("", "") == "LIKWID failed and did not say why"
    assert refusal("", "\nsomething new\nmore\n") == "LIKWID failed: something new"


@pytest.mark.parametrize(
    ("info", "chosen"),
    [
        ("skx", "likwid-skylakex"),
        ("clx", "likwid-skylakex"),
        ("icx", "likwid-icelakex"),
        ("bdw", "likwid-broadwell"),
        ("zen3", "likwid-zen3"),
    ],
)
def test_likwids_name_of_the_cpu_chooses_the_map(info, chosen):
    text = (RECORDED / f"likwid-info-{info}.txt").read_text()
    named = architecture(text)
    assert choose(event_maps("likwid"), named, text, ENDED).name == chosen
    only_type = {"CPU type": named["CPU type"]}
    assert choose(event_maps("likwid"), only_type, text, ENDED).name == chosen


def test_a_cpu_without_a_map_is_one_line():
    text = (RECORDED / "likwid-info-unsupported.txt").read_text()
    with pytest.raises(
        ProfilersError, match=r"does not know the CPU AMD EPYC \(family 25, model 17\): install a newer"
    ):
        choose(event_maps("likwid"), architecture(text), text, ENDED)
    haswell = {"CPU type": "Intel Core Haswell processor", "CPU short": "haswell"}
    with pytest.raises(ProfilersError, match=r"add profilers/groups/likwid-haswell\.toml"):
        choose(event_maps("likwid"), haswell, "", ENDED)
    with pytest.raises(ProfilersError, match="LIKWID failed: boom"):
        choose(event_maps("likwid"), {}, "", dataclasses.replace(ENDED, stderr=b"boom"))


# Takes LIKWID's place: says of the CPU what LIKWID said of a Skylake SP, runs the program, and writes tables as LIKWID
# does, with numbers that tell event, core and repetition. It knows nothing of memory channels beyond the third.
REPLAY = """#!{python}
import subprocess, sys
args = sys.argv[1:]
if "-i" in args:
    print(open({info!r}).read())
    sys.exit(0)
events, cpus = args[args.index("-g") + 1].split(","), args[args.index("-C") + 1].split(",")
if {refuse!r} in events[0]:
    sys.stderr.write("WARN: Event " + events[0].split(":")[0] + " not found for current architecture\\n")
    sys.exit(1)
program = args[args.index("-g") + 2:]
ended = subprocess.run(program, close_fds=False)
def table(name, repetition):
    print(f"TABLE,{{name}},Custom,{{len(events)}}" + "," * 9)
    print(",".join(["Event", "Counter", *(f"HWThread {{cpu}}" for cpu in cpus)]) + ",,")
    for number, event in enumerate(events):
        row = []
        for place, _ in enumerate(cpus):
            value = str(1000 * (number + 1) + 100 * place + repetition)
            if event.startswith("CAS_"):
                value = "-" if place or not event.split(":")[1].startswith(("MBOX0", "MBOX1", "MBOX2")) else value
            row.append(value)
        print(",".join([*event.split(":"), *row]) + ",,")
if "-m" in args and ended.returncode:
    sys.stderr.write("Marker API result file does not exist.\\n")
elif "-m" in args:
    print("the kernel prints, too")
    for repetition in range(10):
        table(f"Region nest{{repetition}},Group 1 Raw", repetition)
else:
    table("Group 1 Raw", 0)
sys.exit(ended.returncode)
"""
HEADER = """
#include <stdio.h>
#define LIKWID_MARKER_INIT fprintf(stderr, "init ")
#define LIKWID_MARKER_THREADINIT (void)0
#define LIKWID_MARKER_START(name) fprintf(stderr, "+%s ", name)
#define LIKWID_MARKER_STOP(name) fprintf(stderr, "-%s ", name)
#define LIKWID_MARKER_CLOSE fprintf(stderr, "close")
"""


def replayed(prefix: Path, refuse: str = "never") -> dict[str, str]:
    """An environment with a LIKWID of its own below `prefix`: tool, header and (empty) library."""
    for name in ("bin", "include", "lib"):
        (prefix / name).mkdir(parents=True)
    (prefix / "include/likwid-marker.h").write_text(HEADER)
    tool = prefix / "bin/likwid-perfctr"
    tool.write_text(REPLAY.format(python=sys.executable, info=str(RECORDED / "likwid-info-skx.txt"), refuse=refuse))
    tool.chmod(0o755)
    subprocess.run(["ar", "rc", str(prefix / "lib/liblikwid.a")], check=True)
    return {"PATH": f"{prefix}/bin:{DEFAULT_ENVIRONMENT['PATH']}"}


def request(folder: Path, environment: dict[str, str], text: str = "", threads: int = 1) -> ProfileRequest:
    body = text or "    double *x = args[0];\n#pragma omp parallel for\n    for (int i = 0; i < 8; i++) x[i] += 1;\n"
    source = f"void pe_kernel(void *const *args)\n{{\n{body}}}\n"
    workload = Workload("w", source, (Argument("x", "double", (8,), ConstantFill(0.0), True),), threads)
    machine = dataclasses.replace(describe_machine(), flags=("avx512f",))
    return ProfileRequest(workload, None, CompilerConfig("gcc", ("-O1", "-fopenmp")), machine, folder, environment, 3)


needs_two = pytest.mark.skipif(describe_machine().logical_cores < 2, reason="needs two cores")


@needs_two
def test_a_replayed_likwid_gives_medians_for_each_thread(tmp_path, marked):
    env = {**marked.env, **replayed(tmp_path / "with space")}
    backend = LikwidBackend(package=False)
    assert backend.available(env).usable, backend.available(env)
    found = backend.profile(request(tmp_path / "work", env, threads=2))
    assert isinstance(found, Profile), found
    counts = dict(found.counts)
    assert len(counts) == 19 and found.source == "likwid" and found.threads == 2 and found.runtime_s > 0
    assert counts["instructions"] == (1001.0, 1101.0)
    assert counts["fp64_512"] == (4001.0, 4101.0) and counts["stores"] == (2001.0, 2101.0)
    assert counts["memory_reads"] == (1001.0 + 2001.0 + 3001.0, 0.0)
    assert counts["memory_writes"] == (7001.0 + 8001.0 + 9001.0, 0.0)
    assert any("whole sockets" in note for note in found.notes)
    assert any("fused multiply-add" in note for note in found.notes)
    assert not any("not counted" in note for note in found.notes)


def test_events_that_likwid_refuses_are_left_out(tmp_path):
    env = replayed(tmp_path / "likwid", refuse="CAS_COUNT_RD")
    found = LikwidBackend(package=False).profile(request(tmp_path / "work", env))
    assert isinstance(found, Profile), found
    assert len(found.counts) == 17 and not any("whole sockets" in note for note in found.notes)
    (missing,) = (note for note in found.notes if note.startswith("not counted"))
    assert missing.startswith("not counted: memory_reads, memory_writes: ") and "CAS_COUNT_RD" in missing


@pytest.mark.parametrize(
    ("text", "threads", "reason"),
    [
        ("    no C at all", 1, "does not compile"),
        ("    __builtin_trap();\n", 1, "crashed or ended"),
        ("    ((double *)args[0])[8] = 1;\n", 1, "outside x"),
        ("", 1000, "a core of its own"),
    ],
)
def test_a_nest_that_cannot_be_counted_is_one_line(tmp_path, text, threads, reason):
    found = LikwidBackend(package=False).profile(
        request(tmp_path / "work", replayed(tmp_path / "likwid"), text, threads)
    )
    assert isinstance(found, ProfileFailed) and reason in found.reason and "\n" not in found.reason


def test_a_likwid_that_counts_no_instructions_is_not_used(tmp_path):
    env = replayed(tmp_path, refuse="INSTR_RETIRED_ANY")
    found = LikwidBackend(package=False).available(env)
    assert not found.usable and "INSTR_RETIRED_ANY" in found.detail


@pytest.mark.skipif(not Path("/usr/include/likwid-marker.h").exists(), reason="LIKWID is not installed in /usr")
def test_the_marker_file_compiles_with_the_real_header(tmp_path):
    marker = Path(__file__).parents[2] / "profilers/likwid_marker.c"
    for flags in (["-fopenmp", "-std=c99"], ["-Werror", "-Wall", "-Wno-unknown-pragmas"]):
        argv = ["gcc", *flags, "-DLIKWID_PERFMON", "-c", str(marker), "-o", str(tmp_path / "marker.o")]
        assert subprocess.run(argv, capture_output=True, text=True).stderr == ""


@pytest.mark.skipif(shutil.which("likwid-perfctr") is None, reason="LIKWID is not installed")
def test_a_real_likwid_answers_in_one_line():
    found = LikwidBackend(package=False).available({})
    assert found.tool == "likwid" and found.detail and "\n" not in found.detail
