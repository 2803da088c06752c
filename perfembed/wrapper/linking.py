"""Whether what is linked needs the compiler's OpenMP library. Imports as little as it can."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence

from perfembed.building.arguments import CommandLine, options

_CALLS = (b"GOMP_parallel", b"__kmpc_fork_call")
_OWN = ("-fopenmp", "-lgomp", "-lomp", "-liomp5")


def openmp_for(line: CommandLine) -> list[str]:
    """The flags to add where a program or library is linked and lacks them; none for everything else."""
    if line.stage != "link" or any(word.startswith(_OWN) and word != "-fopenmp-simd" for word in line.words):
        return []
    for path in _linked(line):
        called = _called(path)
        if called is not None:
            if not line.sources:
                return ["-fopenmp"]
            return ["-lgomp" if called == _CALLS[0] else "-lomp"]  # -fopenmp would change what the sources mean
    return []


def _linked(line: CommandLine) -> Iterator[str]:
    """The objects and static libraries that are named."""
    yield from (one.path for one in line.inputs if one.language == "" and one.path != "-")
    folders: list[str] = []
    names: list[str] = []
    for option in options(line.link):
        for kind, found in (("-L", folders), ("-l", names)):
            if option[0].startswith(kind):
                found.append(option[1] if len(option) == 2 else option[0][2:])
    yield from (os.path.join(folder, f"lib{name}.a") for name in names for folder in folders)


def _called(path: str) -> bytes | None:
    """Which of the functions of OpenMP libraries are named in a file."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:4] not in (b"\x7fELF", b"!<ar") or content[16:18] == b"\x03\x00":  # a shared one has its own
                return None
            return next((call for call in _CALLS if content.find(call) >= 0), None)
    except (OSError, ValueError):
        return None


def expects_code(words: Sequence[str]) -> bool:
    """Whether optimized code is asked for, of a kind that another text may stand in for."""
    level = next((word for word in reversed(words) if word.startswith("-O")), "-O0")
    return level not in ("-O0", "-Og") and not any(word.startswith(_KEEP) for word in words)


_KEEP = (
    *("--coverage", "-fprofile", "-ftest-coverage", "-gsplit-dwarf", "-save-temps", "--save-temps", "-fdump", "-da"),
    *("-ffreestanding", "-nostdlib", "-fno-builtin", "-fsyntax-only", "-###", "-fplugin", "-fanalyzer", "-wrapper"),
)
