"""Whether a compiler makes programs that run in parallel, and what it lacks where it does not.

Nothing of ours includes omp.h: clang and its library may be there without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from profilers.build import compiler_version
from profilers.contained.child import Finished, Limits
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.run import DEFAULT_ENVIRONMENT, error_line, run_contained

FLAG = "-fopenmp"
WITHOUT_THREADS = "-fopenmp-simd"
"""Vector pragmas only: needs no library."""

_LIMITS = Limits.of_work(20.0)
_PROGRAM = """
#include <stdio.h>
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int main(void) {
    int seen[2] = {0, 0}, threads = 0;
    #pragma omp parallel num_threads(2)
    {
        seen[omp_get_thread_num() & 1] = 1;
        #pragma omp barrier
        #pragma omp single
        threads = omp_get_num_threads();
    }
    printf("%d\\n", threads == 2 && seen[0] && seen[1] ? threads : 1);
    return 0;
}
"""


def openmp_works(
    cc: str, flags: tuple[str, ...] = (FLAG,), *, environment: Mapping[str, str] = DEFAULT_ENVIRONMENT
) -> tuple[bool, str]:
    """Compiles and runs a parallel program; whether two threads really worked, and what was found."""
    with scratch_folder() as directory:
        env = {**environment, "TMPDIR": str(directory), "OMP_DYNAMIC": "false"}
        env.pop("OMP_THREAD_LIMIT", None)
        (directory / "openmp.c").write_text(_PROGRAM)
        (directory / "header.c").write_text("#include <omp.h>\n")
        try:
            command = (cc, *flags, "openmp.c", "-o", "openmp")
            built = run_contained(command, limits=_LIMITS, env=env, cwd=directory)
            if not built.ok:
                return False, f"{cc} {' '.join(flags)} does not compile OpenMP: {_error(built)}"
            ran = run_contained((f"{directory}/openmp",), limits=_LIMITS, env=env, cwd=directory)
            command = (cc, *flags, "-fsyntax-only", "header.c")
            header = run_contained(command, limits=_LIMITS, env=env, cwd=directory).ok
        except ProfilersError as problem:
            return False, str(problem)
    threads = ran.stdout.strip().decode(errors="replace")
    if not ran.ok or threads != "2":
        return False, f"asked for 2 threads, got {threads or _error(ran)}"
    return True, "2 threads ran in parallel" + ("" if header else "; there is no omp.h for programs that include it")


def openmp_problem(cc: str, flags: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """What keeps `cc` from making a parallel program; empty where nothing does. Nothing is run; asked once."""
    return _problem(cc, flags, tuple(sorted(environment.items())))


@lru_cache(maxsize=64)
def _problem(cc: str, flags: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> str:
    with scratch_folder() as directory:
        env = {**dict(environment), "LC_ALL": "C", "TMPDIR": str(directory)}
        (directory / "openmp.c").write_text(_PROGRAM)
        command = (cc, *flags, FLAG, "-w", "openmp.c", "-o", "openmp")
        try:
            built = run_contained(command, limits=_LIMITS, env=env, cwd=directory)
        except ProfilersError as problem:
            return str(problem)
    return "" if built.ok else _error(built)


def openmp_advice(cc: str, environment: Mapping[str, str]) -> str:
    """How to get what a compiler lacks for OpenMP."""
    try:
        version = compiler_version(cc, environment)
    except ProfilersError:
        version = ""
    if found := re.search(r"clang version (\d+)", version):
        return f"install clang's OpenMP library (Debian, Ubuntu: libomp-{found[1]}-dev; elsewhere libomp), or use gcc"
    return "install the compiler's OpenMP library (libgomp, or libomp for clang)"


def _error(finished: Finished) -> str:
    """The line that says what is wrong."""
    text = (finished.stderr.strip() or finished.stdout.strip()).decode(errors="replace")
    return error_line(text)[:200] or f"exit code {finished.returncode}"
