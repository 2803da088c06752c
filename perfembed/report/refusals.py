"""What a file was refused for, one row a reason: where most is to be gained by a change of the source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfembed.inspection.inspect_file import Inspection, RefusedNest
from perfembed.inspection.shares import LoopShare, RunShares
from perfembed.report.style import Style, count, one_line, table

_NAME = re.compile(r"'[^']*'")
_MAX_PLACES = 4


def render_refusals(inspection: Inspection, style: Style) -> str:
    """Reasons that differ in names only are one; the most frequent first, or those that cost most where it was run."""
    lines = [style.paint(_head(inspection), "bold")]
    if inspection.run is not None:
        return "\n".join((*lines, *_costs(inspection.run)))
    groups: dict[str, list[RefusedNest]] = {}
    for refused in inspection.refused:
        groups.setdefault(_kind(refused.reason), []).append(refused)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[str(len(found)), reason, _places(found), one_line(found[0].advice)] for reason, found in ordered]
    if rows:
        lines += ["", *table([["loops", "reason", "lines", "what to do"], *rows])]
    return "\n".join(lines)


def render_program_refusals(inspections: Sequence[Inspection], run: RunShares, style: Style) -> str:
    """What the loops of all files of a program cost by reason, behind what was found in each."""
    return "\n".join((*(style.paint(_head(one), "bold") for one in inspections), *_costs(run)))


def _head(inspection: Inspection) -> str:
    return f"{one_line(inspection.path)}: {count(len(inspection.nests), 'nest')}, {len(inspection.refused)} refused"


def _kind(reason: str) -> str:
    return _NAME.sub("'…'", one_line(reason))


def _places(found: list[RefusedNest]) -> str:
    lines = sorted({refused.span.line for refused in found})
    shown = ", ".join(map(str, lines[:_MAX_PLACES]))
    return f"{shown}, …" if len(lines) > _MAX_PLACES else shown


def _costs(run: RunShares) -> list[str]:
    nests = [loop for loop in run.loops if not loop.reason]
    groups: dict[str, list[LoopShare]] = {}
    for loop in run.loops:
        if loop.reason:
            groups.setdefault(_kind(loop.reason), []).append(loop)
    # `loops` come by their shares, and so do those of a group
    ordered = sorted(groups.items(), key=lambda item: (-_sum(item[1]), -len(item[1]), item[0]))
    rows = [
        [_percent(_sum(found)), _percent(max(loop.inclusive for loop in found)), str(len(found)), reason]
        for reason, found in ordered
    ]
    rows.append([_percent(_sum(nests)), "", str(len(nests)), "(read as nests)"])
    rows.append([_percent(run.elsewhere), "", "", "(outside of these loops)"])
    lines = ["", *table([["time", "with inner loops", "loops", "reason"], *rows]), "", _conditions(run)]
    if ordered and _sum(ordered[0][1]) > 0:
        found = ordered[0][1]
        lines += ["", f"most would be freed by: {one_line(found[0].advice) or 'a change at'}"]
        hottest = [loop for loop in found[:_MAX_PLACES] if loop.share > 0]
        lines += [f"  {_percent(loop.share)}  {_place(loop)}: {one_line(loop.reason)}" for loop in hottest]
    return lines


def _conditions(run: RunShares) -> str:
    return (
        f"{count(run.samples, 'sample')} of the main thread in {count(run.runs, 'run')} of {run.wall_s:.2f} s, "
        f"{run.cpu_s:.2f} s of it at work"
    )


def _place(loop: LoopShare) -> str:
    inside = f" in {loop.function}" if loop.function else ""
    return f"{one_line(loop.file)}:{loop.line}:{loop.column}{inside}"


def _sum(loops: list[LoopShare]) -> float:
    return sum(loop.share for loop in loops)


def _percent(share: float) -> str:
    return f"{100 * share:5.1f} %"
