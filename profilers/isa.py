"""The vector registers a compiler may use under its flags, as its predefined macros say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from profilers.build import compiler_path
from profilers.contained.child import Limits
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.run import run_contained

_LIMITS = Limits.of_work(20.0)


@dataclass(frozen=True, slots=True)
class VectorUnits:
    """`registers`: (bytes of a register, how many of them), widest first; `fused`: with multiply-add in one."""

    registers: tuple[tuple[int, int], ...]
    fused: bool


def vector_units(cc: str, flags: tuple[str, ...], environment: Mapping[str, str]) -> VectorUnits | None:
    """What code for these flags may use; None where the compiler does not say. Asked once."""
    try:
        path = compiler_path(cc, environment)
    except ProfilersError:
        return None
    return _asked(path, flags, tuple(sorted(environment.items())))


@lru_cache(maxsize=64)
def _asked(path: str, flags: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> VectorUnits | None:
    with scratch_folder() as directory:
        env = {**dict(environment), "LC_ALL": "C", "TMPDIR": str(directory)}
        (directory / "empty.c").write_text("")
        try:
            command = (path, *flags, "-w", "-dM", "-E", "empty.c")
            finished = run_contained(command, limits=_LIMITS, env=env, cwd=directory)
        except ProfilersError:
            return None
    if not finished.ok:
        return None
    lines = finished.stdout.decode(errors="replace").splitlines()
    return units_of(frozenset(words[1] for line in lines if len(words := line.split()) > 1 and words[0] == "#define"))


def units_of(macros: frozenset[str]) -> VectorUnits | None:
    """What the names of predefined macros say.

    256-bit vectors count with the 16 registers that AVX2 has also where AVX-512 gives them more: the larger register
    file goes with the wider vectors.
    """
    found: list[tuple[int, int]] = []
    if "__AVX512F__" in macros:
        found.append((64, 32))
    if "__AVX__" in macros:
        found.append((32, 16))
    elif "__SSE2__" in macros:
        found.append((16, 16))
    elif "__aarch64__" in macros or "__VSX__" in macros:
        found.append((16, 32))
    fused = not macros.isdisjoint(("__FMA__", "__AVX512F__", "__aarch64__", "__VSX__"))
    return VectorUnits(tuple(found), fused) if found else None
