"""An inspection as text: nests with their IR, dependences and loops, then what was refused and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from perfembed.inspection.inspect_file import Inspection, LoopFacts, NestFacts, RefusedNest
from perfembed.inspection.shares import LoopShare, RunShares
from perfembed.inspection.views import DependenceView
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, one_line, printable, table
from perfembed.tuning.project import NOT_ENTERED


def render_inspection(inspection: Inspection, style: Style, *, verbose: bool = False) -> str:
    """`verbose` adds why loops cannot be exchanged or vectorized, and every dependence by itself."""
    head = f"{one_line(inspection.path)}: {count(len(inspection.nests), 'nest')}, {len(inspection.refused)} refused"
    parts = [style.paint(head, "bold")]
    parts += [f"warning: {one_line(warning)}" for warning in inspection.warnings]
    for nest in inspection.nests:
        parts += ["", *_nest(inspection.path, nest, style, verbose)]
    for refused in inspection.refused:
        parts += ["", printable(refused.rendered.rstrip("\n"))]
    return "\n".join([*parts, *_around(inspection, style, verbose)])


def _around(inspection: Inspection, style: Style, verbose: bool) -> list[str]:
    """Loops of which nothing is missed, quietly: only their number, unless `verbose`."""
    if not inspection.around:
        return []
    if verbose:
        places = (f"{one_line(inspection.path)}:{a.span.line}:{a.span.column}" for a in inspection.around)
        notes = zip(places, inspection.around, strict=True)
        return ["", *(f"{place}: note: stays around loops that are read: {a.reason}" for place, a in notes)]
    stay = "loop around these stays as it is" if len(inspection.around) == 1 else "loops around these stay as they are"
    return ["", style.paint(f"{len(inspection.around)} {stay} (-v says which)", "dim")]


def _nest(path: str, nest: NestFacts, style: Style, verbose: bool) -> list[str]:
    where = f"{one_line(nest.span.file)}:{nest.span.line}:{nest.span.column}" if nest.span else one_line(path)
    inside = f" in {nest.function}" if nest.function else ""
    lines = [style.paint(f"{where}: nest {nest.name}{inside}", "bold") + style.paint(f"  {nest.identity}", "dim"), ""]
    lines += [f"  {line}" for line in nest.text.rstrip("\n").split("\n")] if nest.text else []
    if nest.inspector:
        lines += ["", style.paint("  inspector, run in front of it", "bold")]
        lines += [f"    {line}" for line in nest.inspector.rstrip("\n").split("\n")]
    if nest.problem:
        return [*lines, "", f"  not analysed: {nest.problem}"]
    lines += ["", style.paint("  loops", "bold")]
    lines += table([_LOOP_HEADER, *(_loop(loop) for loop in nest.loops)], 4)
    lines += _reasons(nest) if verbose else []
    if nest.races:
        lines += ["", style.paint("  races", "bold")]
        lines += [f"    {one_line(path)}:{r.line}:{r.column}: {r.message}" for r in nest.races]
    lines += ["", style.paint("  dependences", "bold")]
    rows = _dependences(nest, verbose)
    shown = rows if verbose else rows[:_MAX_ROWS]
    lines += table([_DEPENDENCE_HEADER, *shown], 4) if rows else ["    none"]
    if len(rows) > len(shown):
        lines.append(f"    … and {len(rows) - len(shown)} more rows (-v shows all)")
    return lines


def _reasons(nest: NestFacts) -> list[str]:
    """Why loops cannot change places or run in vectors."""
    position = {loop.name: k for k, loop in enumerate(nest.loops)}
    lines: list[str] = []
    for loop in nest.loops:
        for other, reason in loop.fixed:
            if position[loop.name] < position[other]:
                lines.append(f"    {loop.name} and {other} keep their places: {reason}")
        if loop.reason:
            lines.append(f"    {loop.name} is not vectorizable: {loop.reason}")
    return lines


_MAX_ROWS = 40
_LOOP_HEADER = ["loop", "line", "parallel", "permutable with", "vectorizable"]


def _loop(loop: LoopFacts) -> list[str]:
    if loop.parallel is None:
        parallel = "not decided"
    elif loop.parallel:
        parallel = "yes"
    elif loop.reductions:
        needed = " (--reassociate)" if loop.reassociates else ""
        parallel = f"reduction of {', '.join(loop.reductions)}{needed}"
    else:
        parallel = "no: " + _few(loop.carried)
    return [
        "  " * loop.depth + loop.name + (" (data-dependent bounds)" if loop.opaque else ""),
        str(loop.line or ""),
        parallel,
        ", ".join(loop.permutable) or "-",
        loop.vectorizable,
    ]


def _few(texts: tuple[str, ...]) -> str:
    return texts[0] + (f" and {len(texts) - 1} more" if len(texts) > 1 else "")


_DEPENDENCE_HEADER = ["kind", "from -> to", "on", "distance", "example"]


def _dependences(nest: NestFacts, verbose: bool) -> list[list[str]]:
    """One row each; those alike in everything but the kind share one, unless `verbose`."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for number, d in enumerate(nest.dependences):
        note = (" (reduction)" if d.reduction else "") + ("" if d.exact else " (may)")
        cells = (f"{d.source} -> {d.sink}", d.array + note, distance_text(d), example_text(d))
        kinds = rows.setdefault((*cells[:3], str(number) if verbose else "", cells[3] if verbose else ""), [])
        if not kinds:
            kinds += ["", *cells]
        kinds[0] += (", " if kinds[0] else "") + d.kind if d.kind not in kinds[0] else ""
    return list(rows.values())


def distance_text(dependence: DependenceView) -> str:
    """(0, 1, >=1, *): sink minus source in every common loop."""
    if not dependence.distance:
        return "-"
    return f"({', '.join(_range(low, high) for _, low, high in dependence.distance)})"


def _range(low: int | None, high: int | None) -> str:
    if low is not None and low == high:
        return str(low)
    if low is not None and high is not None:
        return f"{low}..{high}"
    if low is None and high is None:
        return "*"
    return f">={low}" if high is None else f"<={high}"


def example_text(d: DependenceView) -> str:
    """S0(0, 1) -> S1(0, 2) for n=4; empty where no example is known."""
    if not (d.source_at or d.sink_at or d.parameters):
        return ""

    def point(name: str, at: tuple[tuple[str, int], ...]) -> str:
        return f"{name}({', '.join(str(value) for _, value in at)})"

    text = f"{point(d.source, d.source_at)} -> {point(d.sink, d.sink_at)}"
    return text + (f" for {', '.join(f'{k}={v}' for k, v in d.parameters)}" if d.parameters else "")


def inspection_document(inspection: Inspection) -> str:
    content: dict[str, Any] = plain(inspection)
    for nest in content["nests"]:
        for d in nest["dependences"]:
            d["distance"] = [{"loop": loop, "least": low, "greatest": high} for loop, low, high in d["distance"]]
            for key in ("source_at", "sink_at", "parameters"):
                d[key] = dict(d[key])
        for loop in nest["loops"]:
            loop["fixed"] = dict(loop["fixed"])
    return document("inspect", content)


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
    cold = [one_line(i.path) for i in inspections if any(r.reason.startswith(NOT_ENTERED) for r in i.refused)]
    lines = [style.paint(_head(one), "bold") for one in inspections if one_line(one.path) not in cold]
    if cold:
        lines.append(f"not looked at, for the program spends no time in them: {', '.join(cold)}")
    return "\n".join((*lines, *_costs(run)))


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
