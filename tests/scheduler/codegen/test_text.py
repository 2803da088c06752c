"""The helper definitions compile wherever a tuned file does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from scheduler.codegen.text import preamble, words
from tests.compilers import usable

HELPERS = "pe_min pe_max pe_floord pe_alloc pe_free pe_threads pe_apart pe_same pe_is pe_v4d pe_select_v4d"
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
    command = [cc, *flags, "-c", "t.c", "-o", "t.o"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60).stderr


@pytest.mark.parametrize("cc", ["gcc", "clang-14", "clang-19"])
@pytest.mark.parametrize("openmp", ["-fopenmp", "-w"])
def test_definitions(tmp_path: Path, cc: str, openmp: str) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    assert compiled(tmp_path, cc, preamble(HELPERS), openmp, *STRICT) == ""


def test_macros_of_ordinary_names(tmp_path: Path) -> None:
    defines = "".join(f"#define {name} 1 + (\n" for name in MACROS)
    assert compiled(tmp_path, "gcc", f"{defines}{preamble(HELPERS)}", *STRICT, "-fopenmp") == ""


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_no_header_is_needed(tmp_path: Path, cc: str) -> None:
    """Clang has no omp.h where libomp is not installed, and a file without OpenMP compiles there."""
    assert compiled(tmp_path, usable(cc), preamble(HELPERS), *STRICT, "-fopenmp", "-nostdinc") == ""


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
        "int",
        "omp",
        "parallel",
        "schedule",
        "static",
    )
