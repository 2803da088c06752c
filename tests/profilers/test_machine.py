"""The description of this machine, and of one whose /proc and /sys are missing or strange."""

import dataclasses
import os
from pathlib import Path

from profilers.machine import describe_machine
from profilers.openmp import openmp_works

CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: Test CPU
flags\t\t: fpu sse2 avx avx2 fma

processor\t: 1
model name\t: Other CPU
"""


def fake_root(tmp_path: Path) -> Path:
    cpu = min(os.sched_getaffinity(0))
    base = tmp_path / f"sys/devices/system/cpu/cpu{cpu}"
    caches = [("Unified", 2, "1M", 16), ("Data", 1, "48K", 12), ("Instruction", 1, "32K", 8), ("Unified", 3, "?", 1)]
    for number, (kind, level, size, ways) in enumerate(caches):
        index = base / f"cache/index{number}"
        index.mkdir(parents=True)
        values = {
            "type": kind, "level": level, "size": size, "ways_of_associativity": ways, "coherency_line_size": 128,
            "shared_cpu_list": f"{cpu},900-901",
        }  # fmt: skip
        for name, value in values.items():
            (index / name).write_text(f"{value}\n")
    (base / "cpufreq").mkdir()
    (base / "cpufreq/scaling_governor").write_text("powersave\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       2097152 kB\n")
    return tmp_path


def test_this_machine():
    machine = describe_machine()
    assert machine.logical_cores == len(os.sched_getaffinity(0)) >= machine.physical_cores >= 1
    assert machine.memory_bytes > 1 << 28 and machine.vector_bytes in (16, 32, 64)
    assert machine.cache(1) is not None and machine.cache(9) is None
    assert [cache.level for cache in machine.caches] == sorted(cache.level for cache in machine.caches)
    assert describe_machine().fingerprint == machine.fingerprint and len(machine.fingerprint) == 16


def test_files_are_read(tmp_path):
    machine = describe_machine(fake_root(tmp_path))
    assert (machine.cpu_model, machine.vendor) == ("Test CPU", "AuthenticAMD")
    assert machine.flags == ("sse2", "avx", "avx2", "fma") and machine.vector_bytes == 32
    assert [(c.level, c.kind, c.size_bytes, c.line_bytes, c.ways, c.shared_by) for c in machine.caches] == [
        (1, "Data", 48 << 10, 128, 12, 1), (2, "Unified", 1 << 20, 128, 16, 1),
    ]  # fmt: skip
    assert machine.caches_from == "sys" and machine.governor == "powersave" and machine.memory_bytes == 2 << 30


def test_nothing_readable_still_gives_a_description(tmp_path):
    machine = describe_machine(tmp_path)
    assert machine.caches and machine.caches_from in ("sysconf", "assumed")
    assert machine.memory_bytes > 0 and machine.flags == () and machine.vector_bytes == 16
    assert machine.governor is None and machine.physical_cores >= 1


def test_fingerprint_ignores_the_kernel_and_sees_the_caches(tmp_path):
    machine = describe_machine(fake_root(tmp_path))
    same = dataclasses.replace(machine, kernel="x", governor=None, memory_bytes=machine.memory_bytes + 5)
    assert same.fingerprint == machine.fingerprint
    assert dataclasses.replace(machine, caches=machine.caches[:1]).fingerprint != machine.fingerprint
    assert dataclasses.replace(machine, logical_cores=99).fingerprint != machine.fingerprint


def test_openmp_is_tried():
    works, found = openmp_works("gcc")
    assert works and "2 threads" in found
    works, found = openmp_works("gcc", ())
    assert not works and found
    works, found = openmp_works("no-such-compiler")
    assert not works and "no-such-compiler" in found


def script(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)
