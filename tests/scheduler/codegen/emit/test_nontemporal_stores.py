"""Arrays written past the caches: the same bits, for every compiler, type and alignment; plain stores elsewhere."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.text import preamble
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.ir.text import parse_nest
from tests.scheduler.codegen.support import build, check_same, inputs, run, text_of

COMPILERS = [cc for cc in ("gcc", "clang-14", "clang-16", "clang-19") if shutil.which(cc)]
SIZES = ({"n": 5, "m": 203}, {"n": 3, "m": 1}, {"n": 2, "m": 64}, {"n": 1, "m": 700})


def sweep(ctype: str, shift: int = 0) -> str:
    """Rows written from an element on that is aligned to nothing."""
    return f"""nest sweep {{
  param n: int in [1, ?]; param m: int in [1, ?];
  array a: {ctype}[n][m + 3]; array b: {ctype}[n][m]; array c: double[n][m];
  for i: int in [0, n) step 1 {{ for j: int in [0, m) step 1 {{
    S0: a[i][j + {shift}] = b[i][j] + 3.0 * c[i][j];
    S1: c[i][j] += 1.0;
  }} }}
}}"""


def streamed(text: str) -> int:
    return text.count("pe_stream(")


@pytest.mark.gcc
@pytest.mark.parametrize("ctype", ["double", "float", "int", "long"])
@pytest.mark.parametrize("schedule", ["stream(j, a)", "parallelize(i); stream(j, a); vectorize(j)"])
def test_the_same_bits_whatever_the_type_and_the_alignment(tmp_path: Path, ctype: str, schedule: str) -> None:
    for shift in (0, 3):
        text = check_same(tmp_path, sweep(ctype, shift), schedule, *SIZES, expect=("pe_streamed();",))
        assert streamed(text) == 1


@pytest.mark.gcc
@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("flags", ["-O0", "-O3 -mno-avx", "-O3 -march=native", "-O2 -m32", "-O2 -m32 -mno-sse"])
def test_every_compiler_makes_the_same_of_it(tmp_path: Path, cc: str, flags: str) -> None:
    nest = parse_nest(sweep("float", 1))
    text = text_of(nest, "tile([i], [2]); stream(j, a); vectorize(j)")
    assert streamed(text) == 1
    if "-m32" in flags:  # is compiled alone: there need be no library for it
        path = tmp_path / "text.c"
        body = "void f(int n, int m, float a[n][m + 3], float b[n][m], double c[n][m])\n{\n" + text + "}\n"
        path.write_text(preamble(text) + body)
        done = subprocess.run(
            [
                cc,
                *flags.split(),
                "-Wall",
                "-Werror",
                "-Wno-unknown-pragmas",
                "-S",
                "-o",
                str(tmp_path / "text.s"),
                str(path),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        past = [line for line in (tmp_path / "text.s").read_text().splitlines() if "movnt" in line]
        assert not past or "-mno-sse" not in flags
        return
    sizes = {"n": 3, "m": 300}
    data = inputs(plain(nest), sizes)
    before, specs = kernel_source(plain(nest), emit_original(plain(nest)), sizes)
    after, _ = kernel_source(plain(nest), text, sizes)
    wall = ("-ffp-contract=off", "-Wall", "-Werror", "-Wno-unknown-pragmas")
    expected = run(build(tmp_path, "original", before, (*flags.split(), "-ffp-contract=off"), cc), specs, sizes, data)
    found = run(build(tmp_path, "streamed", after, (*flags.split(), *wall), cc), specs, sizes, data)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)


@pytest.mark.gcc
@pytest.mark.parametrize("cc", COMPILERS)
def test_the_stores_go_past_the_caches(tmp_path: Path, cc: str) -> None:
    nest = plain(parse_nest(sweep("double")))
    after, _ = kernel_source(nest, text_of(nest, "stream(j, a)"), {"n": 3, "m": 5})
    library = build(tmp_path, "streamed", after, ("-O2",), cc)
    if shutil.which("objdump") is None or platform.machine() != "x86_64":
        pytest.skip("needs objdump and an x86 machine")
    found = subprocess.run(["objdump", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert "movnt" in found and "sfence" in found


@pytest.mark.gcc
def test_several_arrays_of_one_loop(tmp_path: Path) -> None:
    nest = """nest two {
      param n: int in [1, ?];
      array a: double[n + 1]; array b: float[n + 5]; array c: double[n];
      for i: int in [0, n) step 1 { S0: a[i + 1] = c[i] * 2.0; S1: b[i + 2] = c[i] - 1.0; }
    }"""
    text = check_same(tmp_path, nest, "stream(i, a); stream(i, b); vectorize(i)", {"n": 1}, {"n": 5}, {"n": 999})
    assert streamed(text) == 2


@pytest.mark.gcc
def test_threads_fence_what_they_wrote(tmp_path: Path) -> None:
    nest = """nest fill { param n: int in [1, ?]; array a: double[n];
      for i: int in [0, n) step 1 { S0: a[i] = 1.5; } }"""
    text = check_same(
        tmp_path, nest, "tile([i], [64]); parallelize(i_t); stream(i, a); vectorize(i)", {"n": 1000}, {"n": 63}
    )
    assert re.search(r"pe_streamed\(\);\n +}\n +pe_leave_team", text) and text.count("pe_streamed();") == 1


@pytest.mark.gcc
def test_loops_are_not_collapsed_around_a_fence(tmp_path: Path) -> None:
    text = check_same(tmp_path, sweep("double"), "tile([i], [2]); parallelize(i_t, 0, 0, 2); stream(j, a)", *SIZES[:2])
    assert streamed(text) == 1 and "collapse" not in text


REFUSED = {
    "read in the loop": "S0: a[i][j] = a[i][j + 1] + c[i][j];",
    "updated": "S0: a[i][j] += c[i][j];",
    "written twice": "S0: a[i][j] = c[i][j]; S1: a[i][j + 1] = 2.0;",
    "written now and then": "S0: if (c[i][j] > 0.0) { a[i][j] = 1.0; }",
    "every other element": "S0: a[i][2*j - floor(j/2)*2] = c[i][j];",
    "the same element": "S0: a[i][i] = c[i][j];",
    "by columns": "S0: a[j][i] = c[i][j];",
}


@pytest.mark.gcc
@pytest.mark.parametrize("reason", REFUSED)
def test_where_it_would_be_wrong_stores_stay_plain(tmp_path: Path, reason: str) -> None:
    nest = f"""nest refused {{
      param n: int in [1, ?];
      array a: double[n + 1][2*n + 1]; array c: double[n][n];
      for i: int in [0, n) step 1 {{ for j: int in [0, n) step 1 {{ {REFUSED[reason]} }} }}
    }}"""
    text = check_same(tmp_path, nest, "stream(j, a)", {"n": 9}, sanitize=False)
    assert not streamed(text)


@pytest.mark.gcc
def test_a_loop_that_runs_in_parallel_itself_stays_plain(tmp_path: Path) -> None:
    text = check_same(tmp_path, sweep("double"), "parallelize(j); stream(j, a)", SIZES[0], sanitize=False)
    assert not streamed(text)


def test_simulations_see_the_loop_as_it_is() -> None:
    assert not streamed(text_of(parse_nest(sweep("double")), "stream(j, a)", traced=True))
