"""OpenMP in the user's program and in what is made of it: the flags each is compiled with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from perfembed.errors import EnvironmentMissing
from profilers.build import compiler_path
from profilers.contained.errors import CompilerMissing
from profilers.openmp import FLAG, WITHOUT_THREADS, openmp_advice, openmp_problem

_TEXT = rb'"(?:\\.|[^"\\\n])*"'
_IGNORED = re.compile(
    rb"(?P<kept>\b_Pragma\s*\(\s*" + _TEXT + rb")|//[^\n]*|/\*.*?\*/|" + _TEXT + rb"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_USED = re.compile(
    rb"\b(?P<call>omp_[a-z_]+)[ \t]*\("
    rb"|(?:^[ \t]*#[ \t]*pragma[ \t]+|\b_Pragma\s*\(\s*\"\s*)omp[ \t]+(?!simd\b|declare[ \t]+simd\b)(?P<pragma>\w+)",
    re.MULTILINE,
)


def use_of_openmp(content: bytes) -> tuple[str, int] | None:
    """What makes a program an OpenMP program, and its line; None where nothing does. Vector pragmas do not."""
    code = without_comments(content)
    found = _USED.search(code)
    if found is None:
        return None
    what = found["call"] or b"#pragma omp " + found["pragma"]
    return what.decode(), code.count(b"\n", 0, found.start()) + 1


def without_comments(content: bytes) -> bytes:
    """C text without comments and literals, but for those of `_Pragma`, each line in its place."""
    return _IGNORED.sub(lambda m: m["kept"] or b" " + b"\n" * m[0].count(b"\n"), content)


def with_openmp(path: str, content: bytes, flags: tuple[str, ...], tell: Callable[[str], None]) -> tuple[str, ...]:
    """`flags` with -fopenmp where the program uses OpenMP: what is made of it is compiled so, too."""
    found = use_of_openmp(content)
    if found is None or has_openmp(flags):
        return flags
    what, line = found
    tell(f"{path}:{line}: the program uses OpenMP ({what}), so it is compiled with {FLAG}")
    return (*flags, FLAG)


def has_openmp(flags: tuple[str, ...]) -> bool:
    return any(flag.startswith(FLAG) and flag != WITHOUT_THREADS for flag in flags)


def parallel_flags(
    cc: str, flags: tuple[str, ...], threads: int, environment: Mapping[str, str], tell: Callable[[str], None]
) -> tuple[str, ...]:
    """`flags` for what is measured: with OpenMP; where that cannot be had for one thread with its vector pragmas only.

    Raises EnvironmentMissing where more threads are wanted, or the program itself needs it, or there is no compiler.
    """
    try:
        compiler_path(cc, environment)
    except CompilerMissing as error:
        raise EnvironmentMissing(str(error), "perfembed doctor says what is missing") from None
    own = has_openmp(flags)
    problem = openmp_problem(cc, flags, environment)
    if not problem:
        return flags if own else (*flags, FLAG)
    advice = openmp_advice(cc, environment)
    if threads > 1 or own:
        alone = "" if own else ", or do without threads: --threads 1"
        raise EnvironmentMissing(f"{cc} cannot make parallel programs: {problem}", advice + alone)
    tell(f"{cc} cannot make parallel programs ({problem}): done without threads")
    return (*flags, WITHOUT_THREADS)
