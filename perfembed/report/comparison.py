"""A comparison as text, as Markdown, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from perfembed.comparing.compilers import GCC, OURS, THEIRS
from perfembed.comparing.model import OPENBLAS, CompareResult
from perfembed.comparing.rows import Row
from perfembed.comparing.summary import SLOWER, against_best, best_peer, columns, row_bound, summary
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, markdown_table, seconds, times
from profilers.calibration import Calibration

_FLAG = {"close": "~", "differs": "!", "equal": "", "": ""}


class BestPeer(TypedDict):
    """The fastest of the other programs."""

    name: str
    seconds: float


class ReachedBound(TypedDict):
    """No schedule is faster than `seconds`; `share` of the tuned kernel's time, null where that did not run."""

    seconds: float
    limit: str
    share: float | None


class Judged(TypedDict):
    """`over_best_peer`: how many times faster than it."""

    best_peer: BestPeer | None
    over_best_peer: float | None
    bound: ReachedBound | None


class Configuration(TypedDict):
    """A compiler with its flags, or what another tuner is started with; `missing` says why it did not run."""

    name: str
    version: str
    flags: Sequence[str]
    missing: str
    command: Sequence[str]


class CompareContent(TypedDict):
    """`total` programs were asked for; `rows` are those that were measured. `summary`: means over them."""

    machine: str
    interrupted: bool
    total: int
    configurations: Sequence[Configuration]
    summary: Mapping[str, Any]
    rows: Sequence[Row]


# -------------------------------------------------------------------------------------- text


def _header(names: Sequence[str]) -> list[str]:
    theirs = ["theirs/gcc", "their tuning", "their least"] if THEIRS in names else []
    return [
        "kernel",
        *names,
        "best peer",
        *theirs,
        "ours/gcc",
        "ours/best",
        "of bound",
        "tuning",
        "least",
        "noise",
        "ours is",
    ]


def render_comparison(result: CompareResult, style: Style, *, markdown: bool = False) -> str:
    """One row a kernel: the fastest run of each program, then the means."""
    names = columns(result.rows)
    rows = [_header(names), *(_cells(row, names, result.calibration) for row in result.rows)]
    lines = [_title(result, markdown), ""]
    lines += markdown_table(rows) if markdown else _table(rows, style)
    lines += ["", *_conclusions(result)]
    notes = [*_missing(result), *_notes(result.rows)]
    if (result.calibration is None or result.calibration.noisy) and result.rows:
        why = "not known" if result.calibration is None else "measured while others used it"
        notes.append(f"no bounds but OpenBLAS: what this machine can do is {why}; perfembed doctor --calibrate")
    lines += ["", *notes] if notes else []
    return "\n".join(f"- {x}" if markdown and x and k > len(rows) + 3 else x for k, x in enumerate(lines))


def _title(result: CompareResult, markdown: bool) -> str:
    if not result.rows:
        return "no program was measured"
    row = result.rows[0]
    c = row.conditions
    dates = sorted(r.date for r in result.rows)
    when = dates[0][:10] + (f" to {dates[-1][:10]}" if dates[0][:10] != dates[-1][:10] else "")
    what = f"{count(len(result.rows), 'program')} of {result.total}, {count(c['threads'], 'thread')}"
    text = f"{what}, {seconds(c['budget_s'])} of {c['search']} search each; {when}; {result.machine}"
    return f"**{text}**" if markdown else text


def _cells(row: Row, names: Sequence[str], calibration: Calibration | None) -> list[str]:
    cells = [row.kernel]
    for name in names:
        program, value = row.programs.get(name), row.seconds(name)
        if program is None or (value is None and not program.output):
            cells.append("")
        elif value is None:
            cells.append("wrong" if program.output == "differs" else "failed")
        else:
            cells.append(seconds(value) + _FLAG[program.output])
    gcc, ours, best, over = row.seconds(GCC), row.seconds(OURS), best_peer(row), against_best(row)
    cells.append(f"{best[0]} {seconds(best[1])}" if best else "")
    if THEIRS in names:
        theirs = row.seconds(THEIRS)
        cells += [times(gcc / theirs) if gcc and theirs else "", *_effort(row, THEIRS)]
    cells.append(times(gcc / ours) if gcc and ours else "")
    cells.append(times(over) if over else "")
    bound = row_bound(row, calibration)
    cells.append(f"{bound.seconds / ours * 100:.0f} % {bound.limit}" if bound and ours else "-")
    cells += _effort(row, OURS)
    noise = max((p.cov for p in row.programs.values() if not p.failure), default=0.0)
    cells.append(f"{noise * 100:.0f} %{'*' if row.noisy else ''}")
    return [*cells, row.status if OURS in row.programs or row.status == "failed" else ""]


def _effort(row: Row, name: str) -> list[str]:
    """How long tuning took, and how many candidates of each nest of 5 % of the time or more were run at least."""
    program = row.programs.get(name)
    if program is None:
        return ["", ""]
    measured = "" if program.candidates is None else str(program.candidates)
    return [seconds(program.tuning_s) if program.tuning_s is not None else "", measured]


def _table(rows: list[list[str]], style: Style) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]

    def line(cells: list[str]) -> str:
        middle = [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True)]
        return "  ".join([cells[0].ljust(widths[0]), *middle, cells[-1]]).rstrip()

    return [style.paint(line(rows[0]), "bold"), *map(line, rows[1:])]


def _conclusions(result: CompareResult) -> list[str]:
    found = summary(result.rows)
    lines = []
    means = [f"{name} {times(mean)}" for name, mean in found["geomean_over_gcc"].items() if mean]
    if means:
        lines.append(f"geometric mean over gcc: {', '.join(means)}")
    if over := found["ours_over_theirs"]:
        lines.append(f"ours over theirs: {times(over)}")
    if tuning := found["median_tuning_s"]:
        lines.append(f"tuning, median: {', '.join(f'{name} {seconds(value)}' for name, value in tuning.items())}")
    if over := found["geomean_over_best_peer"]:
        base, slower = times(found["best_peer_over_gcc"]), found["slower_than_best_peer"]
        names = f" ({', '.join(slower)})" if slower else ""
        lines.append(
            f"ours over the best peer of each kernel ({base} over gcc): {times(over)};"
            f" below {SLOWER}: {len(slower)}{names}"
        )
    if low := found["minimum"]:
        slower = found["slower"]
        names = f" ({', '.join(slower)})" if slower else ""
        lines.append(
            f"slowest against gcc: {low['kernel']} {times(low['speedup'])}; below {SLOWER}: {len(slower)}{names}"
        )
    bad = [f"{len(found[name])} {name} ({', '.join(found[name])})" for name in ("wrong", "failed") if found[name]]
    if any(OURS in row.programs for row in result.rows):
        kept = found["kernels"] - found["tuned"]
        lines.append(f"{found['tuned']} tuned, {kept} not; {'; '.join(bad) or 'none wrong'}")
    if found["winners"]:
        lines.append(f"schedules of tuned nests: {', '.join(f'{n} {name}' for name, n in found['winners'].items())}")
    if result.interrupted:
        lines.append("interrupted: run it again to go on")
    return lines


def _missing(result: CompareResult) -> list[str]:
    return [f"{c.name}: not measured, {c.missing}" for c in result.configurations if c.missing]


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    flags = {p.output for r in rows for p in r.programs.values()}
    if "close" in flags:
        notes.append("~ other rounding than gcc's original: products contracted differently, sums within 1e-6")
    if any(r.noisy for r in rows):
        notes.append("* the machine was not quiet, or times varied by more than 5 %")
    for r in rows:
        if r.work is not None and r.work.reason and OPENBLAS not in r.programs:
            notes.append(f"{r.kernel}: no bound: {r.work.reason}")
        text = r.verified if r.status == "wrong" and r.verified else r.reason
        if r.status != "tuned" and text:
            notes.append(f"{r.kernel}: {r.status}: {text[:300]}")
        for name, p in r.programs.items():
            if p.failure and (p.kernel_s or not _is_missing(r, name)):
                notes.append(f"{r.kernel}: {name}: {p.failure[:200]}")
            elif p.output == "differs":
                notes.append(f"{r.kernel}: {name} printed another result, beyond rounding; its time does not count")
    return notes


def _is_missing(row: Row, name: str) -> bool:
    return bool(row.conditions["compilers"].get(name, {}).get("missing"))


def comparison_document(result: CompareResult) -> str:
    content: CompareContent = {
        "machine": result.machine,
        "interrupted": result.interrupted,
        "total": result.total,
        "configurations": [
            {
                "name": c.name,
                "version": c.version,
                "flags": list(c.compiler.flags),
                "missing": c.missing,
                "command": list(c.peer.words) if c.peer else [],
            }
            for c in result.configurations
        ],
        "summary": summary(result.rows),
        "rows": result.rows,
    }
    rows = [{**plain(row), **_judged(row, result.calibration)} for row in result.rows]
    return document("compare", {**content, "rows": rows})


def _judged(row: Row, calibration: Calibration | None) -> Judged:
    best, bound, ours = best_peer(row), row_bound(row, calibration), row.seconds(OURS)
    found: ReachedBound | None = None
    if bound:
        found = {"seconds": bound.seconds, "limit": bound.limit, "share": bound.seconds / ours if ours else None}
    return {
        "best_peer": {"name": best[0], "seconds": best[1]} if best else None,
        "over_best_peer": against_best(row),
        "bound": found,
    }
