"""Building: in parallel, once per content, with refusals as values."""

import os
import subprocess
import sys
import time

import pytest

from profilers.build import Built, CompilerConfig, compile_workloads, compiler_version, discard, prepare_harness
from profilers.contained.errors import CompilerMissing
from profilers.contained.scratch import sweep
from profilers.outcome import BuildFailed
from profilers.workload import Workload

CONFIG = CompilerConfig("gcc", ("-O1",))


def kernel(body: str) -> Workload:
    return Workload("k", f"void pe_kernel(void *const *args) {{ {body} }}\n", (), 1)


def leftovers(directory) -> list[str]:
    return [name for name in os.listdir(directory) if not name.endswith((".c", ".exe", ".o", ".failed"))]


def test_equal_texts_compile_once_also_across_calls(tmp_path):
    workloads = [kernel("(void)args;"), kernel(""), kernel("(void)args;")]
    first = compile_workloads(workloads, CONFIG, tmp_path, 2)
    assert all(isinstance(one, Built) for one in first)
    assert first[0].executable == first[2].executable != first[1].executable
    stamps = [one.executable.stat().st_mtime_ns for one in first]
    assert compile_workloads(workloads, CONFIG, tmp_path, 2) == first
    assert [one.executable.stat().st_mtime_ns for one in first] == stamps
    other = compile_workloads(workloads[:1], CompilerConfig("gcc", ("-O2",)), tmp_path, 2)
    assert other[0].key != first[0].key
    discard(first[0])
    assert not first[0].executable.exists()
    assert compile_workloads(workloads, CONFIG, tmp_path, 2) == first and first[0].executable.exists()
    assert leftovers(tmp_path) == []


def test_a_harness_made_ready_is_not_compiled_again(tmp_path):
    log, wrapper = tmp_path / "log", tmp_path / "cc"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    config = CompilerConfig(str(wrapper), ("-O1",))
    prepare_harness(config)  # whichever comes first compiles it
    assert isinstance(compile_workloads([kernel("")], config, tmp_path / "one", 1)[0], Built)
    assert isinstance(compile_workloads([kernel("")], config, tmp_path / "two", 1)[0], Built)
    assert sum("harness.c" in line for line in log.read_text().splitlines()) == 1
    prepare_harness(CompilerConfig(str(tmp_path / "none"), ()))  # who needs it is told


def test_refusals_carry_the_first_diagnostics_and_do_not_stop_the_others(tmp_path):
    for _ in range(2):  # the second time from what was kept
        good, bad, unlinked = compile_workloads(
            [kernel(""), kernel("int x = ;"), Workload("u", "int nothing;", (), 1)], CONFIG, tmp_path, 2
        )
        assert isinstance(good, Built)
        assert isinstance(bad, BuildFailed) and "kernel.c:1:" in bad.message and "expected expression" in bad.message
        assert isinstance(unlinked, BuildFailed) and "pe_kernel" in unlinked.message
    many = compile_workloads([kernel("".join(f"x{i};\n" for i in range(999)))], CONFIG, tmp_path, 1)[0]
    assert isinstance(many, BuildFailed) and len(many.message.splitlines()) <= 20
    assert leftovers(tmp_path) == []


def test_endless_and_greedy_compilations_are_ended(tmp_path):
    # 10 levels of a macro that multiplies by 10, all in one expression
    levels = "#define A0 +x*x\n" + "".join(
        f"#define A{i + 1} {' '.join([f'A{i}'] * 10)}\n" for i in range(9)
    )  # fmt: skip
    slow = Workload("slow", f"{levels}void pe_kernel(void *const *args) {{ volatile int x = 1; x = 0 A9; }}\n", (), 1)
    start = time.monotonic()
    late = compile_workloads([slow], CONFIG, tmp_path, 1, 0.5, memory_bytes=2 << 30)[0]
    assert time.monotonic() - start < 60  # it would take minutes
    assert late == BuildFailed("the compiler did not finish within 0.5 s")
    greedy = compile_workloads([slow], CONFIG, tmp_path, 1, 20, memory_bytes=150 << 20)[0]
    assert isinstance(greedy, BuildFailed) and "memory" in greedy.message
    assert leftovers(tmp_path) == []


def test_the_compiler_is_named_or_missed(tmp_path):
    assert "gcc" in compiler_version("gcc").lower()
    with pytest.raises(CompilerMissing):
        compiler_version("no-such-compiler")
    with pytest.raises(CompilerMissing):
        compile_workloads([kernel("")], CompilerConfig("no-such-compiler", ()), tmp_path, 1)
    with pytest.raises(CompilerMissing):
        compiler_version("gcc", {"PATH": str(tmp_path)})


def test_callers_flags_reach_the_kernel(tmp_path):
    config = CompilerConfig("gcc", ("-O3", "-march=native", "-fopenmp", "-std=c99", "-DWANTED=1"))
    text = "#if !defined _OPENMP || !WANTED || __STDC_VERSION__ != 199901L\n#error flags\n#endif\n"
    built = compile_workloads([Workload("w", text + kernel("").source, (), 1)], config, tmp_path, 1)[0]
    assert isinstance(built, Built)


def test_a_killed_preparation_leaves_what_the_next_run_removes(tmp_path):
    """Its compiler writes to a folder of ours, not beside everybody's temporary files."""
    temporary, compiler = tmp_path / "tmp", tmp_path / "slowcc"
    temporary.mkdir()
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo slow && exit\ntouch "$TMPDIR/cc1.s"; exec sleep 60\n')
    compiler.chmod(0o755)
    program = f"""import os, pathlib, time
from profilers.build import CompilerConfig, prepare_harness
prepare_harness(CompilerConfig({str(compiler)!r}, ()), {{"PATH": os.defpath}})
while not list(pathlib.Path({str(temporary)!r}).rglob("cc1.s")):
    time.sleep(0.01)
os.kill(os.getpid(), 9)"""
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(temporary)}, timeout=60)
    assert list(temporary.rglob("cc1.s"))
    sweep(temporary)
    assert list(temporary.iterdir()) == []
