"""Compilers that some tests try besides gcc: usable is one with what is needed of it, its libraries included."""

import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

_PROGRAM = """
int omp_get_num_threads(void);
int main(void)
{
    int threads = 1;
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
    threads = omp_get_num_threads();
#endif
    return threads < 1;
}
"""


@cache
def clang(*flags: str) -> str | None:
    """The newest clang that compiles, links and runs a program with these flags; None where there is none."""
    names = set()
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isdir(folder):
            names |= {name for name in os.listdir(folder) if re.fullmatch(r"clang(-\d+)?", name)}
    for name in sorted(names, key=lambda name: -int(name.partition("-")[2] or 0)):
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder, "program.c"), Path(folder, "program")
            source.write_text(_PROGRAM)
            built = subprocess.run([name, *flags, "-w", source, "-o", program], capture_output=True, check=False)
            if built.returncode == 0 and subprocess.run([program], check=False).returncode == 0:
                return name
    return None


def usable(cc: str, *flags: str) -> str:
    """`cc`, for "clang" the newest one; skips the test where there is none that can do this."""
    if cc != "clang":
        return cc
    found = clang(*flags)
    if found is None:
        pytest.skip(f"no clang here compiles and links with {' '.join(flags) or 'no flags'}")
    return found
