"""What each loop of a file costs in a run of the program: sampled stacks, attributed to loops by their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.frontend import SourceFile
from scheduler.ir.nest import Span

Stack = tuple[tuple[str, int], ...]
"""(file, line) of what runs and of its callers, the innermost first."""


@dataclass(frozen=True, slots=True)
class LoopShare:
    """Shares of the samples, from 0 to 1. `share`: in the loop and in what it calls, without the loops that are listed
    by themselves. `inclusive`: with those. `reason`: why it was refused, at `line` and `column`; empty for a nest that
    was read, which has a `nest` instead. `file`: as the user calls it.
    """

    nest: str
    reason: str
    advice: str
    function: str | None
    line: int
    column: int
    share: float
    inclusive: float
    file: str = ""


@dataclass(frozen=True, slots=True)
class RunShares:
    """Where the main thread was, `samples` times in `runs` runs of `wall_s` seconds on average, `cpu_s` of it at work.

    `loops`: nests and refused loops, those that cost most first. `elsewhere`: the share outside of them.
    """

    samples: int
    runs: int
    wall_s: float
    cpu_s: float
    loops: tuple[LoopShare, ...]
    elsewhere: float


@dataclass(frozen=True, slots=True)
class _Region:
    name: str  # of the file in stacks
    first: int
    last: int
    size: int
    loop: LoopShare


def loop_shares(
    sources: Mapping[str, SourceFile], stacks: Mapping[Stack, int], runs: int, wall_s: float, cpu_s: float
) -> RunShares:
    """`stacks`: how often each was seen; `sources` by what they call them.

    A sample is the innermost loop's that the innermost line of these files stands in: of calls, the loop's that calls.
    Lines are all that is known: of several loops in one line it is the shortest. What is left of a loop that stays as
    it is around nests is `elsewhere`, and not its surrounding loop's.
    """
    regions = [region for name, source in sources.items() for region in _regions(name, source)]
    own: Counter[int] = Counter()
    inside: Counter[int] = Counter()
    owners: dict[tuple[str, int], list[int]] = {}
    for stack, count in stacks.items():
        places = [place for place in stack if place[0] in sources]
        around = [owners.setdefault(place, _around(regions, place)) for place in places]
        first = next((found[0] for found in around if found), None)
        if first is not None:
            own[first] += count
        for number in {number for found in around for number in found}:
            inside[number] += count
    total = max(1, sum(stacks.values()))
    loops = [
        LoopShare(
            r.loop.nest, r.loop.reason, r.loop.advice, r.loop.function, r.loop.line, r.loop.column,
            own[k] / total, inside[k] / total, r.loop.file,
        )
        for k, r in enumerate(regions)
    ]  # fmt: skip
    loops = [loop for loop in loops if loop.nest or loop.reason]
    loops.sort(key=lambda loop: (-loop.share, -loop.inclusive, loop.file, loop.line, loop.column))
    elsewhere = 1 - sum(loop.share for loop in loops)
    return RunShares(sum(stacks.values()), runs, wall_s, cpu_s, tuple(loops), elsewhere)


def _around(regions: Sequence[_Region], place: tuple[str, int]) -> list[int]:
    """The loops that a line of a file stands in, the innermost first."""
    name, line = place
    found = [k for k, region in enumerate(regions) if region.name == name and region.first <= line <= region.last]
    return sorted(found, key=lambda k: (regions[k].last - regions[k].first, regions[k].size))


def _regions(name: str, source: SourceFile) -> list[_Region]:
    found = []
    for nest in source.nests:
        if nest.span is not None:
            loop = LoopShare(nest.name, "", "", nest.function, nest.span.line, nest.span.column, 0.0, 0.0, source.path)
            found.append(_region(name, source, nest.span, loop))
    for r in source.rejections:
        if r.loop is not None and r.span.file == source.path:
            loop = LoopShare("", r.reason, r.advice, r.function, r.span.line, r.span.column, 0.0, 0.0, source.path)
            found.append(_region(name, source, r.loop, loop))
    for r in source.around:
        if r.loop is not None:
            loop = LoopShare("", "", "", r.function, r.span.line, r.span.column, 0.0, 0.0, source.path)
            found.append(_region(name, source, r.loop, loop))
    return found


def _region(name: str, source: SourceFile, span: Span, loop: LoopShare) -> _Region:
    last = span.line + source.content.count(b"\n", span.begin, span.end)
    return _Region(name, span.line, last, span.end - span.begin, loop)
