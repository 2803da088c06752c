"""Which files of a program its hot path enters: samples of it as it was built, attributed to files by its symbols.

It costs runs of the program, and saves to read the files in which it spends no time. Nothing is built anew: what takes
the samples is preloaded, and which functions a file has its object file says.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfembed.building.build import Made
from perfembed.capture.program import ProgramFailed, ProgramRun, preloading
from perfembed.capture.samples import Recorded, Stack, record, tables
from profilers.build import compiler_path
from profilers.contained.child import Limits
from profilers.contained.errors import CompilerMissing
from profilers.deadline import OutOfTime, share_of_time
from profilers.run import run_contained

_HERE = Path(__file__).parent
_ENOUGH = 400  # samples, of which a file with a hundredth of the time has none once in fifty times
_LIMITS = Limits(wall_s=60.0, memory_bytes=8 << 30, output_bytes=256 << 20)
_SHARE = 0.25  # of the time that is left


class NotKnown(Exception):
    """Which files it enters cannot be said."""


def entered_files(
    built: Made, program: ProgramRun, objects: Mapping[str, Sequence[Path]], workdir: Path, most_s: float
) -> tuple[frozenset[str], int] | None:
    """The files with a function that was seen on the main thread's stack, however seldom, and how many samples there
    are; None where that cannot be said in `most_s` seconds of runs. `objects`: the object files of each file.

    Raises what running raises: UsageError (`Stage.run`), NotExecutable, ContainmentError.
    """
    try:
        with share_of_time(_SHARE):
            symbols = _symbols([path for paths in objects.values() for path in paths], program.environment)
            defined = {path: {name for one in paths for _, name in symbols[one]} for path, paths in objects.items()}
            recorded = _preloaded(built, program, workdir, most_s)
            stacks = recorded.stacks(lambda path, addresses: _functions(path, addresses, program.environment))
    except (NotKnown, OutOfTime, CompilerMissing):
        return None
    seen = {name for stack in stacks for name, _ in stack}
    found = frozenset(path for path, names in defined.items() if not seen.isdisjoint(names))
    return (found, recorded.count) if found else None


def _preloaded(built: Made, program: ProgramRun, workdir: Path, most_s: float) -> Recorded:
    workdir = workdir.absolute()
    workdir.mkdir(parents=True, exist_ok=True)
    result = workdir / "samples"
    (workdir / "perfembed_tables.h").write_text(tables(result), encoding="ascii")
    flags = (f"-I{workdir}", "-lrt")
    sampled = preloading(program, workdir, _HERE / "sample_runtime.c", flags)
    if sampled is None:
        raise NotKnown
    limits = replace(program.world.limits, wall_s=min(program.world.limits.wall_s, most_s))
    found = record(built, sampled, result, limits, most_s, _ENOUGH)
    if isinstance(found, ProgramFailed) or found.count < _ENOUGH:
        raise NotKnown
    return found


def _symbols(paths: Sequence[Path], environment: Mapping[str, str]) -> Mapping[Path, list[tuple[int, str]]]:
    """(address, name) of the functions in each file, without what compilers put behind names. Raises NotKnown."""
    words = (compiler_path("nm", environment), "--defined-only", "-A", *map(str, paths))
    finished = run_contained(words, limits=_LIMITS, env=dict(environment), cwd=paths[0].parent)
    if not finished.ok:
        raise NotKnown
    found: dict[Path, list[tuple[int, str]]] = {path: [] for path in paths}
    of = {str(path): symbols for path, symbols in found.items()}
    for line in finished.stdout.decode(errors="surrogateescape").splitlines():
        path, _, symbol = line.rpartition(":")
        address, _, kind_and_name = symbol.partition(" ")
        kind, _, name = kind_and_name.partition(" ")
        if kind in tuple("tTwWi"):
            of[path].append((int(address, 16), name.partition(".")[0]))
    return {path: sorted(symbols) for path, symbols in found.items()}


def _functions(path: str, addresses: Sequence[int], environment: Mapping[str, str]) -> list[Stack]:
    """The function around each address of a program or library. Raises NotKnown where it is stripped."""
    symbols = _symbols([Path(path)], environment)[Path(path)]
    if not symbols:
        raise NotKnown
    starts = [address for address, _ in symbols]
    found: list[Stack] = []
    for address in addresses:
        at = bisect.bisect_right(starts, address) - 1
        first = bisect.bisect_left(starts, starts[at]) if at >= 0 else 0
        found.append(tuple((name, 0) for _, name in symbols[first : at + 1]))
    return found
