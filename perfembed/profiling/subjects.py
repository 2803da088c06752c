"""Which nests of which donors are profiled, and in which sizes."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.records import SourceRecord
from perfembed.files import read_input
from perfembed.populating.programs import place_of
from perfembed.retrieval.donors import StoredDonor
from scheduler.generator.programs import GeneratorSettings, generate

# One pattern a program: nests that stand side by side teach nothing new. Short ones, for there must be thousands.
SETTINGS = GeneratorSettings(least_work=3e5, most_work=3e7, nests=1)


@dataclass(frozen=True, slots=True)
class ProfilingOptions:
    """The first `count` programs of the generator with that seed; or of every file, `count` variants; or all donors."""

    database: Path
    seed: int
    count: int
    jobs: int
    threads: int
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    environment: tuple[tuple[str, str], ...] = ()
    budget_s: float = 3600.0
    backend: str = "simulated"
    settings: GeneratorSettings = SETTINGS
    files: tuple[str, ...] = ()
    donors: tuple[StoredDonor, ...] = ()

    @property
    def total(self) -> int:
        return len(self.donors) or self.count * max(1, len(self.files))


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to profile nests of. `function` None: of all functions; `sizes`: of parameters, by name."""

    source: SourceRecord
    name: str
    path: str
    text: str
    flags: tuple[str, ...]
    function: str | None
    sizes: Mapping[str, int]


_LARGEST = 0.6  # of the way from a file's small to its large sizes, in powers: thousands have to run


_SIZE = re.compile(r"#define\s+(\w+)\s+SIZE\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*\d+\s*)?\)")


_BRANCHES = re.compile(
    r"#ifdef\s+SMALL\s*\n((?:(?!#e)[^\0])*)(?:#elif(?:(?!#e)[^\0])*)?#else\s*\n((?:(?!#endif)[^\0])*?)#endif"
)


_DEFINE = re.compile(r"#define\s+(\w+)\s+(\d+)\s*$", re.MULTILINE)


_INCLUDE = re.compile(r"^\s*#\s*include\b")


def subject_of(options: ProfilingOptions, number: int) -> Subject:
    """Raises NothingFits, PerfembedError."""
    if options.files:
        return variant(options.files[number // options.count], number % options.count, options.seed)
    program = generate(options.seed, number, options.settings)
    place = place_of(options.seed, number, options.settings)
    source = SourceRecord.of(program.source, "generated", place, "+".join(program.patterns))
    return Subject(source, program.name, f"{program.name}.c", program.source, (), program.function, dict(program.sizes))


def variant(path: str, number: int, seed: int) -> Subject:
    """A file with other sizes, and every other time in float where it says double. Raises PerfembedError.

    Sizes are macros with a small and a large value (`_sizes`), which `-D` overrides; they are drawn between the two.
    """
    text = read_input(path).decode(errors="surrogateescape")
    name = Path(path).stem
    rng = random.Random(f"{seed} {name} {number}")
    share = rng.random() * _LARGEST  # one for all, so that the shape stays about the same
    flags = []
    for macro, low, high in _sizes(text):
        small, large = sorted((int(low), int(high)))
        value = small * (large / small) ** min(1.0, max(0.0, share + rng.uniform(-0.15, 0.15))) if small else large
        flags.append(f"-D{macro}={max(1, round(value))}")
    if number % 2:
        lines = text.splitlines(keepends=True)
        text = "".join(x if _INCLUDE.match(x) else re.sub(r"\bdouble\b", "float", x) for x in lines)
    source = SourceRecord.of(text, "file", f"{path} {' '.join(flags)}", name)
    return Subject(source, f"{name} {number}", path, text, tuple(flags), None, {})


def _sizes(text: str) -> list[tuple[str, str, str]]:
    """(macro, small, large) of `#define N SIZE(small, large)`, or defined so and so below `#ifdef SMALL`."""
    found = _SIZE.findall(text)
    for small, large in _BRANCHES.findall(text):
        least = dict(_DEFINE.findall(small))
        found += [(macro, least[macro], value) for macro, value in _DEFINE.findall(large) if macro in least]
    return found


def only_of(options: ProfilingOptions, number: int) -> tuple[ProfilingOptions, int]:
    """What another process has to know of it."""
    return (replace(options, donors=options.donors[number : number + 1]), 0) if options.donors else (options, number)
