"""Calibration: the real program on this machine, its figures, their JSON, the cache, rooflines."""

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from profilers.build import compiler_version
from profilers.calibrate import build_calibration, calibrate, working_sets
from profilers.calibration import (
    FLAGS,
    KINDS,
    MEMORY,
    PRECISIONS,
    UNITS,
    Calibration,
    CalibrationCache,
    Figure,
    Roofline,
)
from profilers.contained.errors import CompilerMissing, ProfilersError
from profilers.errors import HarnessError
from profilers.machine import Cache, Machine, describe_machine
from profilers.run import DEFAULT_ENVIRONMENT

DATE = "2026-11-21T23:06:00+00:00"


@pytest.fixture(scope="module")
def machine() -> Machine:
    return describe_machine()


@pytest.fixture(scope="module")
def measured(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Much too short for good figures, long enough for figures."""
    folder = tmp_path_factory.mktemp("calibration")
    return calibrate(machine, "gcc", DEFAULT_ENVIRONMENT, folder, machine.physical_cores, date=DATE, seconds=0.002)


def invented(threads: int = 4, levels: tuple[str, ...] = ("L1", MEMORY)) -> Calibration:
    """Figures whose values tell which they are."""
    figures = []
    for count in sorted({1, threads}):
        for level in levels:
            scale = count * (1.0 if level == MEMORY else 10.0)
            figures += [Figure("bandwidth", level, k, count, scale * (i + 1), 0.0, 5, 64) for i, k in enumerate(KINDS)]
            figures.append(Figure("latency", level, "", count, 1e-9, 0.1, 5, 64))
        for i, precision in enumerate(PRECISIONS):
            for j, kind in enumerate(("scalar", "vector")):
                figures.append(Figure("flops", precision, kind, count, 1e9 * count * 8**j / (i + 1), 0.0, 5, 0))
        figures += [Figure(name, "", "", count, 1e-6, 0.0, 5, 0) for name in ("fork_join", "barrier")]
    return Calibration("0" * 16, "gcc 1", FLAGS, DATE, threads, 0.0, tuple(figures))


def described(machine: Machine, cores: int, *caches: tuple[int, int, int]) -> Machine:
    """A machine of that many cores; caches as (level, bytes, shared by)."""
    made = tuple(Cache(level, "Unified", size, 64, 8, shared) for level, size, shared in caches)
    return replace(machine, physical_cores=cores, logical_cores=cores, caches=made, memory_bytes=64 << 30)


# ---- what is measured


def test_every_figure_is_measured_for_one_thread_and_for_all(measured: Calibration, machine: Machine) -> None:
    levels = (*(f"L{cache.level}" for cache in machine.caches), MEMORY)
    assert measured.levels == levels
    per_thread_count = len(levels) * (len(KINDS) + 1) + 2 * len(PRECISIONS) + 2
    assert len(measured.figures) == per_thread_count * len({1, machine.physical_cores})
    assert measured.machine == machine.fingerprint
    assert (measured.date, measured.flags, measured.threads) == (DATE, FLAGS, machine.physical_cores)
    assert measured.compiler == compiler_version("gcc")
    assert all(figure.samples >= 5 for figure in measured.figures)
    assert any(figure.spread > 0 for figure in measured.figures)
    for threads in {1, machine.physical_cores}:
        sets = dict(working_sets(machine, threads))
        used = {f.subject: f.working_set_bytes for f in measured.figures if f.subject in sets and f.threads == threads}
        assert used == sets


def test_units_are_plausible(measured: Calibration) -> None:
    """Orders of magnitude: a wrong unit or count is off by a thousand, a folded loop by more.

    Threads that wait for a busy core may be as slow as they like: only one thread has a lower limit.
    """
    bounds = {"GB/s": (0.05, 5e3), "FLOP/s": (1e7, 1e12), "s": (1e-10, 1e-3)}
    for figure in measured.figures:
        low, high = bounds[UNITS[figure.quantity]]
        if figure.quantity in ("bandwidth", "flops"):
            assert figure.value < high * figure.threads, figure
            assert figure.value > low or figure.threads > 1, figure
        else:
            assert figure.value > low, figure
            assert figure.value < high or figure.threads > 1, figure


def test_far_is_slower_than_near_and_vectors_are_faster_than_scalars(measured: Calibration, machine: Machine) -> None:
    assert measured.latency(MEMORY) > 3 * measured.latency("L1")
    assert measured.bandwidth("L1", "load", 1) > 2 * measured.bandwidth(MEMORY, "load", 1)
    if machine.vector_bytes >= 32:
        for precision in PRECISIONS:
            assert measured.peak_flops(precision, True, 1) > 1.5 * measured.peak_flops(precision, False, 1)


def test_the_loops_are_those_that_were_meant(machine: Machine, tmp_path: Path) -> None:
    """Twelve fused multiply-adds of the right width in each FLOP loop; vector accesses, no memset or memcpy."""
    if shutil.which("objdump") is None or "fma" not in machine.flags:
        pytest.skip("needs objdump and a machine with fma")
    executable = build_calibration(machine, "gcc", DEFAULT_ENVIRONMENT, tmp_path)
    text = subprocess.run(["objdump", "-d", executable], capture_output=True, text=True, check=True).stdout
    functions = dict(re.findall(r"<(\w+)>:\n(.*?)(?:\n\n|\Z)", text, re.DOTALL))
    register = {16: "xmm", 32: "ymm", 64: "zmm"}[machine.vector_bytes]
    for precision, letter in (("float", "s"), ("double", "d")):
        vector = re.findall(rf"vfmadd\d+p{letter} .*%{register}", functions[f"flops_{precision}_vector"])
        scalar = re.findall(rf"vfmadd\d+s{letter} .*%xmm", functions[f"flops_{precision}_scalar"])
        assert (len(vector), len(scalar)) == (12, 12)
        assert not re.search(rf"vfmadd\d+p{letter}", functions[f"flops_{precision}_scalar"])
    for kind in KINDS:
        assert len(re.findall(rf"\(%r\w+\).*%{register}|%{register}.*\(%r\w+\)", functions[kind])) >= 8, functions[kind]
        assert "call" not in functions[kind]
    assert len(re.findall(r"mov +\((%r\w+)\),\1", functions["chase"])) == 16


def test_working_sets_lie_inside_their_level_and_outside_the_one_before(machine: Machine) -> None:
    kib, mib = 1 << 10, 1 << 20
    this = described(machine, 2, (1, 32 * kib, 1), (2, mib, 1), (3, 32 * mib, 2))
    assert working_sets(this, 1) == (("L1", 16 * kib), ("L2", 512 * kib), ("L3", 4 * mib), (MEMORY, 128 * mib))
    assert working_sets(this, 2) == (("L1", 16 * kib), ("L2", 512 * kib), ("L3", 2 * mib), (MEMORY, 64 * mib))
    crowded = described(machine, 28, (1, 32 * kib, 1), (2, mib, 1), (3, 38 * mib, 28))
    assert dict(working_sets(crowded, 28))["L3"] == 38 * mib // 28  # more than the L2 in front of it
    two_sockets = described(machine, 16, (1, 32 * kib, 1), (2, mib, 1), (3, 32 * mib, 8))
    assert 16 * dict(working_sets(two_sockets, 16))[MEMORY] == 4 * 2 * 32 * mib
    hyperthreads = described(machine, 8, (1, 32 * kib, 2), (2, mib, 2))
    assert dict(working_sets(hyperthreads, 4))["L1"] == 16 * kib  # one thread on each core
    assert dict(working_sets(hyperthreads, 8))["L1"] == 8 * kib


# ---- what can go wrong


def test_what_cannot_be_built_or_run_is_said_in_one_line(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(CompilerMissing):
        calibrate(machine, "no-such-compiler", DEFAULT_ENVIRONMENT, tmp_path, 1, date=DATE)
    compiler = tmp_path / "cc-that-refuses"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo cc 1 && exit 0\necho no OpenMP here >&2; exit 1\n')
    compiler.chmod(0o755)
    with pytest.raises(HarnessError, match="no OpenMP here"):
        calibrate(machine, str(compiler), DEFAULT_ENVIRONMENT, tmp_path, 1, date=DATE)
    small = replace(machine, memory_bytes=4 << 20)
    with pytest.raises(HarnessError, match="more than half"):
        calibrate(small, "gcc", DEFAULT_ENVIRONMENT, tmp_path, 1, date=DATE)


def test_the_program_refuses_what_it_does_not_understand(machine: Machine, tmp_path: Path) -> None:
    executable = build_calibration(machine, "gcc", DEFAULT_ENVIRONMENT, tmp_path)
    for arguments in ((), ("1", "0.1", "64"), ("x", "0.1", "64", "L1", "4096"), ("1", "0.1", "64", "L1", "64")):
        done = subprocess.run([executable, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done


def test_figures_that_are_none_are_refused() -> None:
    good = invented().figures[0]
    for wrong in (
        {"value": math.nan}, {"value": math.inf}, {"value": 0.0}, {"value": -1.0}, {"spread": -0.1},
        {"spread": math.inf}, {"quantity": "speed"}, {"samples": 0}, {"working_set_bytes": -1},
    ):  # fmt: skip
        with pytest.raises(ProfilersError):
            replace(good, **wrong)


def test_calibrations_with_missing_or_foreign_parts_are_refused() -> None:
    good = invented()
    for wrong in (
        {"figures": good.figures[1:]},
        {"figures": (*good.figures, good.figures[0])},
        {"figures": (*good.figures[1:], replace(good.figures[0], kind="walk"))},
        {"figures": ()},
        {"threads": 8},
        {"threads": 0, "figures": tuple(replace(f, threads=0) if f.threads > 1 else f for f in good.figures)},
        {"date": "yesterday"},
        {"date": "2026-11-21\x1b23:06:00"},
        {"other_load": math.nan},
        {"other_load": -1.0},
    ):
        with pytest.raises(ProfilersError):
            replace(good, **wrong)


# ---- what models ask


def test_bandwidth_and_peaks_by_name() -> None:
    calibration = invented()
    assert calibration.bandwidth("L1", "load", 1) == 10.0
    assert calibration.bandwidth(MEMORY, "triad", 4) == 16.0
    assert calibration.peak_flops("float", False, 1) == 1e9
    assert calibration.peak_flops("double", True, 4) == 16e9
    assert calibration.figure("fork_join", threads=4).value == 1e-6
    for ask in (
        lambda: calibration.bandwidth("L7", "load", 1),
        lambda: calibration.bandwidth("L1", "load", 3),
        lambda: calibration.bandwidth("L1", "walk", 1),
        lambda: calibration.peak_flops("half", True, 1),
        lambda: calibration.bandwidth(MEMORY, "triad", 2),
    ):
        with pytest.raises(ProfilersError, match="was not measured"):
            ask()


def test_roofline_has_a_slope_and_a_ceiling() -> None:
    found = invented()
    roof = Roofline(found.peak_flops("double", True, 1), found.bandwidth(MEMORY, "triad", 1))
    assert roof == Roofline(peak_flops=4e9, bandwidth=4.0)
    assert roof.ridge == 1.0
    assert roof.attainable(0.25) == 1e9
    assert roof.attainable(roof.ridge) == roof.attainable(100.0) == 4e9


def test_noise_is_told() -> None:
    assert not replace(invented(), other_load=0.15).noisy
    assert replace(invented(), other_load=0.16).noisy


# ---- JSON and the cache


def test_json_gives_the_same_back(measured: Calibration) -> None:
    for one in (measured, invented(), invented(threads=1)):
        assert Calibration.from_json(one.to_json()) == one
        assert "\n" not in one.to_json()


def test_only_what_to_json_writes_is_read() -> None:
    text = invented().to_json()
    document = json.loads(text)
    figure = document["figures"][0]
    assert Calibration.from_json(json.dumps(document, indent=2)) == invented()
    wrong = [
        "", "null", "[]", "{}", "3", '"x"', "[" * 100_000, text[:-1], text[: len(text) // 2], text + "x",
        text.replace("1e-06", "NaN"), text.replace("1e-06", "1e999"), text.replace("1e-06", "9" * 5000),
        *(json.dumps({k: v for k, v in document.items() if k != name}) for name in document),
        *(json.dumps({**document, name: None}) for name in document),
        json.dumps({**document, "version": 2}), json.dumps({**document, "more": 1}),
        json.dumps({**document, "threads": 4.0}), json.dumps({**document, "threads": "4"}),
        json.dumps({**document, "machine": 7}), json.dumps({**document, "flags": "-O3"}),
        json.dumps({**document, "flags": [3]}), json.dumps({**document, "other_load": False}),
        json.dumps({**document, "figures": [*document["figures"][1:], {**figure, "value": "fast"}]}),
        json.dumps({**document, "figures": [{**figure, "value": 10**400}, *document["figures"][1:]]}),
        json.dumps({**document, "figures": [{**figure, "threads": True}, *document["figures"][1:]]}),
        json.dumps({**document, "figures": [{**figure, "more": 1}, *document["figures"][1:]]}),
        json.dumps({**document, "figures": {"a": figure}}),
    ]  # fmt: skip
    for damaged in wrong:
        with pytest.raises(ProfilersError) as problem:
            Calibration.from_json(damaged)
        assert len(str(problem.value).splitlines()) == 1


def test_the_cache_keeps_one_calibration_for_each_machine_and_compiler(machine: Machine, tmp_path: Path) -> None:
    cache = CalibrationCache(tmp_path / "a" / "b")
    gcc = replace(invented(), machine=machine.fingerprint)
    clang = replace(gcc, compiler="clang 16")
    assert cache.load(machine, "gcc 1") is None
    for one in (gcc, clang):
        path = cache.store(one)
        assert machine.fingerprint in path.name and path == cache.path(machine.fingerprint, one.compiler)
    assert (cache.load(machine, "gcc 1"), cache.load(machine, "clang 16")) == (gcc, clang)
    assert cache.load(machine, "gcc 2") is None
    assert cache.load(replace(machine, physical_cores=99), "gcc 1") is None
    newer = replace(gcc, date="2026-11-22T10:00:00+00:00")
    cache.store(newer)
    assert cache.load(machine, "gcc 1") == newer
    assert len(list(cache.folder.iterdir())) == 2  # nothing unfinished was left


def test_damaged_and_foreign_files_are_no_calibration(machine: Machine, tmp_path: Path) -> None:
    cache = CalibrationCache(tmp_path)
    good = replace(invented(), machine=machine.fingerprint)
    path = cache.store(good)
    content = path.read_bytes()
    foreign = [replace(good, machine="f" * 16), replace(good, compiler="cc"), replace(good, flags=("-O0",))]
    for damaged in (
        b"", b"\xff\xfe\x00", content[: len(content) // 2], content.replace(b"bandwidth", b"bandwitdh", 1),
        b"{}", b"[" * 100_000, *(one.to_json().encode() for one in foreign),
    ):  # fmt: skip
        path.write_bytes(damaged)
        assert cache.load(machine, good.compiler) is None
    path.unlink()
    path.mkdir()
    assert cache.load(machine, good.compiler) is None
    with pytest.raises(ProfilersError, match="cannot keep the calibration"):
        cache.store(good)
    assert [entry for entry in tmp_path.iterdir() if entry != path] == []
    path.rmdir()
    cache.store(good)
    assert cache.load(machine, good.compiler) == good


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProfilersError, match="cannot keep the calibration"):
        CalibrationCache(tmp_path / "file" / "below").store(invented())
