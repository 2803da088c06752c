"""The helper definitions compile wherever a tuned file does."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import profilers.simulated
import tests.campaigns.written.drivers
from scheduler.codegen.emit.text import _HELPERS, preamble, words
from scheduler.codegen.runtime_checks.intervals_text import DEFINITION as RANGES
from scheduler.codegen.runtime_checks.rows_text import DEFINITION as ROWS
from tests.compilers import usable

HELPERS = " ".join(name for name, _ in _HELPERS) + " pe_v4d pe_select_v4d"
STRICT = ("-O2", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
MACROS = (
    "size_t",
    "NULL",
    "malloc",
    "free",
    "uintptr_t",
    "a",
    "b",
    "p",
    "x",
    "raw",
    "bytes",
    "text_",
    "unused",
    "aligned",
    "vector_size",
    "may_alias",
    "restrict",
)


def compiled(folder: Path, cc: str, text: str, *flags: str) -> str:
    """What the compiler says."""
    (folder / "t.c").write_text(text)
    command = [usable(cc), *flags, "-c", "t.c", "-o", "t.o"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60).stderr


@pytest.mark.gcc
@pytest.mark.parametrize("cc", ["gcc", "clang-14", "clang-19"])
@pytest.mark.parametrize("openmp", ["-fopenmp", "-w"])
def test_definitions(tmp_path: Path, cc: str, openmp: str) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    assert compiled(tmp_path, cc, preamble(HELPERS), openmp, *STRICT) == ""


@pytest.mark.gcc
def test_macros_of_ordinary_names(tmp_path: Path) -> None:
    defines = "".join(f"#define {name} 1 + (\n" for name in MACROS)
    assert compiled(tmp_path, "gcc", f"{defines}{preamble(HELPERS)}", *STRICT, "-fopenmp") == ""


@pytest.mark.gcc
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_no_header_is_needed(tmp_path: Path, cc: str) -> None:
    """Clang has no omp.h where libomp is not installed, and a file without OpenMP compiles there."""
    assert compiled(tmp_path, usable(cc), preamble(HELPERS), *STRICT, "-fopenmp", "-nostdinc") == ""


@pytest.mark.gcc
def test_omp_h_may_be_there_too(tmp_path: Path) -> None:
    text = "#include <omp.h>\n" + preamble("pe_threads") + "#include <omp.h>\n"
    assert compiled(tmp_path, "gcc", text, *STRICT, "-fopenmp") == ""


@pytest.mark.skipif(shutil.which("clang-19") is None, reason="no clang-19")
def test_clang_does_not_warn_of_loops_it_does_not_vectorize(tmp_path: Path) -> None:
    loop = "void f(double *x, int n)\n{\n#pragma omp simd\n    for (int i = 1; i < n; i++)\n"
    loop += "        x[i] = x[i - 1] > 3 ? g(x) : x[i - 1] * 2;\n}\n"
    head = "double g(double *x);\nvoid f(double *x, int n);\n"
    assert "pass-failed" in compiled(tmp_path, "clang-19", head + loop, *STRICT, "-fopenmp")
    assert compiled(tmp_path, "clang-19", preamble(loop) + head + loop, *STRICT, "-fopenmp") == ""


def test_words_of_pragmas() -> None:
    assert words("#pragma omp parallel for schedule(static)\nfor (int i = 0; i < pe_simd; i++)") == (
        "for",
        "int",
        "omp",
        "parallel",
        "schedule",
        "static",
    )


ROOTS = """INCLUDES
#include <math.h>
#include <stdio.h>
#include <string.h>
PREAMBLE
static double a[4096], b[4096];
static float c[4096], d[4096];
__attribute__((noinline)) static void roots(void)
{
    for (long i = 0; i < 4096; i++)
        b[i] = pe_sqrt(a[i]);
    for (long i = 0; i < 4096; i++)
        d[i] = pe_sqrtf(c[i]);
}
int main(void)
{
    double special[] = {0.0, -0.0, -1.0, 4.0, 5e-324, -5e-324, 2.0, INFINITY, -INFINITY, NAN, -NAN, -1e300};
    unsigned long long state = 1;
    for (int i = 0; i < 4096; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (i < 12)
            a[i] = special[i];
        else
            memcpy(&a[i], &state, 8);
        c[i] = i < 12 ? (float)special[i] : 0;
        unsigned int half = (unsigned int)(state >> 32);
        if (i >= 12)
            memcpy(&c[i], &half, 4);
    }
    roots();
    for (int i = 0; i < 4096; i++) {
        volatile double x = a[i];
        volatile float y = c[i];
        double of_x = sqrt(x);
        float of_y = sqrtf(y);
        if (memcmp(&of_x, &b[i], 8) || memcmp(&of_y, &d[i], 4))
            return printf("%d: %g %g, %g %g", i, b[i], of_x, (double)d[i], (double)of_y), 1;
    }
    return CHECK;
}
"""


def roots(includes: str = "", check: str = "0") -> str:
    text = ROOTS.replace("INCLUDES", includes).replace("CHECK", check)
    return text.replace("PREAMBLE", preamble("pe_sqrt pe_sqrtf"))


@pytest.mark.gcc
@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["gnu17", "c99"])
def test_roots_have_the_bits_of_sqrt(tmp_path: Path, cc: str, standard: str) -> None:
    (tmp_path / "a.c").write_text(roots())
    flags = ["-O3", f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([usable(cc), *flags, "a.c", "-o", "a", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./a"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.gcc
def test_gcc_makes_vector_loops_of_roots(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(roots())
    command = ["gcc", "-O3", "-fopt-info-vec-optimized", "-c", "a.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = (tmp_path / "a.c").read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if "pe_sqrt(a[i])" in line) - 1
    assert f"a.c:{first}:" in done.stderr and f"a.c:{first + 2}:" in done.stderr, done.stderr


@pytest.mark.gcc
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_roots_set_errno_where_the_file_looks_at_it(tmp_path: Path, cc: str) -> None:
    (tmp_path / "a.c").write_text(
        roots("#include <errno.h>", "errno != EDOM")
        .replace("    roots();", "    errno = 0, roots();")
        .replace("double of_x", "if (i == 0 && errno != EDOM) return 2; double of_x")
    )
    subprocess.run([usable(cc), "-O3", "a.c", "-o", "a", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(["./a"], cwd=tmp_path).returncode == 0


def test_helpers_have_names_of_their_own() -> None:
    """Also beside what else is compiled with them: the counters, the driver of called functions."""
    function = re.compile(r"^(?:static|extern)\b[^;{}]*?\b(pe_\w+)\(", re.MULTILINE)
    owner: dict[str, str] = {}
    for helper, definition in _HELPERS:
        for name in set(function.findall(definition)):
            assert owner.setdefault(name, helper) == helper, name
    beside = Path(tests.campaigns.written.drivers.__file__).read_text()
    beside += (Path(profilers.simulated.__file__).parent / "trace.h").read_text()
    in_tests_only = set(function.findall(RANGES + ROWS))  # which the counters' kernels do not have
    assert len(owner) > 60
    assert not (owner.keys() - in_tests_only) & set(re.findall(r"pe_\w+", beside))
