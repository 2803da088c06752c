"""The doctor finds what is there and says what to do about what is not."""

from profilers.doctor import diagnose

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def test_a_working_machine():
    checks = {check.name: check for check in diagnose(PATH, "gcc", None)}
    assert list(checks) == [
        "C compiler", "OpenMP", "hardware counters", "cores", "caches", "frequency governor", "timer noise",
    ]  # fmt: skip
    assert checks["C compiler"].ok and checks["OpenMP"].ok
    assert all(check.found for check in checks.values())
    assert all(check.fix is None for check in checks.values() if check.ok)
    assert "min of 10 varies" in checks["timer noise"].found


def test_a_missing_compiler_is_told_without_raising(tmp_path):
    checks = {check.name: check for check in diagnose({"PATH": str(tmp_path)}, "gcc", "clang")}
    for name in ("C compiler", "clang", "OpenMP"):
        assert not checks[name].ok and checks[name].fix
