"""The maps of events: every file is sound, fits its machine's registers, and knows what it cannot count."""

import math
import re
from pathlib import Path

import pytest

from profilers.contained.errors import ProfilersError
from profilers.counters import counters
from profilers.mapping import EventMap, Mapped, Run, event_maps, load, medians

RECORDED = Path(__file__).parent / "recorded"
MAPS = [*event_maps("likwid"), *event_maps("perf")]
AVX512 = ("avx", "avx2", "avx512f")


@pytest.mark.parametrize("chosen", MAPS, ids=lambda one: one.name)
def test_a_map_counts_a_counter_or_says_why_not(chosen: EventMap):
    counted = {counter.name for counter in chosen.counters}
    said = [name for names, why in chosen.missing for name in names if why]
    assert sorted([*counted, *said]) == sorted(counter.name for counter in counters())
    assert "instructions" in counted


@pytest.mark.parametrize("chosen", event_maps("likwid"), ids=lambda one: one.name)
def test_no_register_has_to_count_two_events_at_once(chosen: EventMap):
    for run in chosen.runs(AVX512):
        registers = [event.rpartition(":")[2] for event in run.events]
        assert len(set(registers)) == len(registers), run.group
        core = [register for register in registers if re.fullmatch(r"PMC[0-3]|FIXC0", register)]
        assert core == registers or run.group == "memory"
    assert chosen.selects["cpu_short"] and chosen.selects["cpu_types"]


@pytest.mark.parametrize("chosen", event_maps("perf"), ids=lambda one: one.name)
def test_perf_never_needs_more_than_four_counters_at_once(chosen: EventMap):
    for run in chosen.runs(AVX512):
        assert len(run.events) <= 4
        assert all(event.endswith(":u") for event in run.events)


def test_likwid_knows_every_event_of_the_zen3_map_in_its_register():
    known = {}
    for line in (RECORDED / "likwid-events-zen3.txt").read_text().splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) >= 4:
            known[fields[0]] = fields[3]
    zen3 = next(one for one in event_maps("likwid") if one.name == "likwid-zen3")
    events = {event for counter in zen3.counters for event in counter.events}
    for name, _, register in (event.partition(":") for event in events):
        assert register.startswith(known[name]), name


def test_a_cpu_without_512_bit_vectors_counts_none_of_them():
    intel = next(one for one in event_maps("perf") if one.name == "perf-intel")
    with_them = {c.name: c for run in intel.runs(AVX512) for c in run.counters}
    without = {c.name: c for run in intel.runs(("avx2",)) for c in run.counters}
    assert with_them["fp64_512"].events == ("r40c7:u",)
    assert without["fp64_512"].events == () and without["fp64_512"].value({}) == 0
    assert without["fp64_256"].events == ("r10c7:u",)


def test_medians_are_taken_for_each_thread():
    loads = Mapped("loads", ("a", "b"), "e1 + e2")
    stores = Mapped("stores", ("c",), "e1")
    repetitions = [[{"a": r, "b": 10.0 * t} for t in range(2)] for r in (1.0, 7.0, 2.0)]
    found, absent = medians(Run("accesses", (loads, stores)), repetitions)
    assert found == (("loads", (2.0, 12.0)),) and absent == ("stores",)


def test_a_socket_stands_with_its_first_thread_and_may_lack_channels():
    reads = Mapped("memory_reads", ("x", "y"), "e1 + e2", "socket")
    first, other = {"x": 5.0, "y": math.nan}, {"x": math.nan, "y": math.nan}
    found, absent = medians(Run("memory", (reads,)), [[first, other, {"x": 3.0}]])
    assert found == (("memory_reads", (5.0, 0.0, 3.0)),) and absent == ()
    assert medians(Run("memory", (reads,)), [[other, other]]) == ((), ("memory_reads",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("probe = 1", "no map"),
        ('probe = "x"\nnotes = []\n[[counter]]\nname = "loads"\nevents = ["a"]\nformula = "e2"', "does not fit"),
        ('probe = "x"\nnotes = []\n[[counter]]\nname = "lods"\nevents = ["a"]\nformula = "e1"', "unknown"),
        (
            'probe = "x"\nnotes = []\n[[counter]]\nname = "loads"\nevents = ["a"]\nformula = "e1"\ncolour = "red"',
            "no map",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, problem):
    (tmp_path / "likwid-x.toml").write_text(text)
    with pytest.raises(ProfilersError, match=problem):
        load(tmp_path / "likwid-x.toml")
