"""The doctor finds what is there and says what to do about what is not."""

from pathlib import Path

import pytest

from profilers.doctor import _openmp_fix, diagnose, temporary_folder_check

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def test_a_working_machine():
    checks = {check.name: check for check in diagnose(PATH, "gcc", None)}
    assert list(checks) == [
        "temporary folder", "C compiler", "OpenMP", "hardware counters", "cores", "caches", "frequency governor",
        "timer noise",
    ]  # fmt: skip
    assert checks["C compiler"].ok and checks["OpenMP"].ok
    assert all(check.found for check in checks.values())
    assert all(check.fix is None for check in checks.values() if check.ok)
    assert "min of 10 varies" in checks["timer noise"].found


def test_a_missing_compiler_is_told_without_raising(tmp_path):
    checks = {check.name: check for check in diagnose({"PATH": str(tmp_path)}, "gcc", "clang")}
    for name in ("C compiler", "clang", "OpenMP", "hardware counters"):
        assert not checks[name].ok and checks[name].fix
    assert all(check.fix for check in checks.values() if not check.ok)


def test_a_temporary_folder_that_does_not_do(tmp_path):
    assert temporary_folder_check(str(tmp_path)).ok
    missing = temporary_folder_check(str(tmp_path / "none"))
    assert not missing.ok and "none" in missing.found and "TMPDIR" in (missing.fix or "")
    noexec = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "noexec" in line]
    for folder in noexec:
        found = temporary_folder_check(folder)
        assert not found.ok and found.fix  # what is not writable says so


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("gcc -fopenmp does not compile OpenMP: fatal error: stdio.h: No such file or directory", "libc6-dev"),
        ("gcc -fopenmp does not compile OpenMP: ld: cannot find crt1.o", "libc6-dev"),
        ("gcc -fopenmp does not compile OpenMP: cannot find -lgomp", "libgomp"),
        ("asked for 2 threads, got 1", "OMP_THREAD_LIMIT"),
    ],
)
def test_what_openmp_lacks(said, fix):
    assert fix in _openmp_fix(said, "gcc", PATH)
