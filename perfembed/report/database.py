"""What `perfembed db` found or did to a database, as text and as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypedDict

from optdb.check import CheckReport, Finding
from optdb.database import Database
from optdb.exchange import ExchangeReport
from optdb.maintenance import Prunable, prunable
from perfembed.report.database_info import bytes_text
from perfembed.report.documents import document
from perfembed.report.style import Style, count, one_line, table

_SHOWN = 20
_ASK_PROBLEMS = "perfembed sql 'FROM ingest_problems'"

# ------------------------------------------------------------------------------------ check


def render_check(path: str, report: CheckReport, style: Style) -> str:
    """The verdict, then every finding with the first ids it is about."""
    rows = sum(number for _, number in report.rows)
    if report.consistent:
        verdict = style.paint("consistent", "green")
    else:
        verdict = style.paint(count(len(report.findings), "finding"), "red")
    lines = [f"{one_line(path)}: {verdict}; {rows:,} rows read"]
    lines += table([_finding(f.table, f.problem, f.count, f.examples) for f in report.findings])
    if report.problems:
        lines.append(f"{count(report.problems, 'damaged part')} of spool files left out: {_ASK_PROBLEMS}")
    return "\n".join(lines)


def _finding(name: str, problem: str, number: int, examples: Sequence[str]) -> list[str]:
    shown = ", ".join(one_line(e) for e in examples) + (", …" if number > len(examples) else "")
    return [name.removeprefix("_store."), f"{number:,}", one_line(problem), shown]


@dataclass(frozen=True, slots=True)
class CheckContent:
    """`rows` that were read, by table; `ingest_problems`: damaged parts of spool files that were left out."""

    path: str
    consistent: bool
    rows: Mapping[str, int]
    findings: tuple[Finding, ...]
    ingest_problems: int


def check_document(path: str, report: CheckReport) -> str:
    content = CheckContent(
        path,
        report.consistent,
        {name.removeprefix("_store."): number for name, number in report.rows},
        tuple(replace(f, table=f.table.removeprefix("_store.")) for f in report.findings),
        report.problems,
    )
    return document("db check", content)


# ---------------------------------------------------------------- merge, import, export


def render_intake(origin: str, report: ExchangeReport, style: Style) -> str:
    """`a.duckdb: 120 new (3 nests, …), 20 known, 0 refused`, and why what was refused was."""
    new = sum(number for _, number in report.stored)
    kinds = ", ".join(_kind(kind, number) for kind, number in report.stored)
    refused = style.paint(f"{report.refused:,} refused", "red") if report.refused else "0 refused"
    lines = [f"{one_line(origin)}: {new:,} new{f' ({kinds})' if kinds else ''}, {report.known:,} known, {refused}"]
    lines += [f"  {one_line(reason)}" for reason in report.reasons[:_SHOWN]]
    if report.refused > len(report.reasons[:_SHOWN]):
        lines.append(f"  … and {report.refused - len(report.reasons[:_SHOWN]):,} more")
    return "\n".join(lines)


Intake = TypedDict(
    "Intake", {"from": str, "new": Mapping[str, int], "known": int, "refused": int, "reasons": tuple[str, ...]}
)
Intake.__doc__ = "What came from one place: new records by kind; `reasons` are those of the first refusals."


@dataclass(frozen=True, slots=True)
class IntakeContent:
    path: str
    taken_in: tuple[Intake, ...]


def intake_document(path: str, reports: Sequence[tuple[str, ExchangeReport]]) -> str:
    found: list[Intake] = [
        {"from": origin, "new": dict(r.stored), "known": r.known, "refused": r.refused, "reasons": r.reasons}
        for origin, r in reports
    ]
    return document("db import", IntakeContent(path, tuple(found)))


def _kind(kind: str, number: int) -> str:
    return f"{number:,} {kind if number == 1 or kind == 'conditions' else kind + 's'}"


@dataclass(frozen=True, slots=True)
class ExportContent:
    """`rows` that were written: "records" in all, and into a folder of Parquet files by kind, too."""

    path: str
    to: str
    rows: Mapping[str, int]


def export_document(path: str, target: str, rows: Mapping[str, int]) -> str:
    return document("db export", ExportContent(path, target, rows))


def render_export(target: str, rows: Sequence[tuple[str, int]]) -> str:
    kinds = ", ".join(_kind(kind, number) for kind, number in rows if number)
    total = sum(number for _, number in rows)
    return f"{one_line(target)}: {count(total, 'record')} written{f' ({kinds})' if kinds else ''}"


# --------------------------------------------------------------------------- prune, compact


@dataclass(frozen=True, slots=True)
class Choice:
    """Which measurements: of a machine, of before a time (seconds since 1970), of a run; those that fit all."""

    machine: str | None = None
    before: float | None = None
    run_id: str | None = None


def chosen(database: Database, choice: Choice) -> tuple[tuple[Prunable, ...], int]:
    """What `optdb.maintenance.prune` would delete, and how many measurements there are in all. Raises OptdbError."""
    return prunable(database, **asdict(choice)), database.value("SELECT count(*) FROM _store.measurements")


def render_prune(found: Sequence[Prunable], total: int, deleted: int | None) -> str:
    """`deleted` None: nothing was, this is what would be."""
    number = sum(c.measurements for c in found) if deleted is None else deleted
    lines = [f"{'would delete' if deleted is None else 'deleted'} {number:,} of {count(total, 'measurement')}"]
    lines += table([[f"machine {c.machine}", f"run {c.run_id}", f"{c.measurements:,}"] for c in found[:_SHOWN]])
    if (more := len(found) - _SHOWN) > 0:
        lines.append(f"  … and {more} more runs")
    if number:
        hint = "nothing was changed: --yes deletes" if deleted is None else "--compact makes the file smaller"
        lines.append(hint)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PruneContent:
    """`measurements` there were; `chosen` are those that were asked for, `deleted` those that are gone."""

    path: str
    dry_run: bool
    measurements: int
    chosen: tuple[Prunable, ...]
    deleted: int


def prune_document(path: str, found: Sequence[Prunable], total: int, deleted: int | None) -> str:
    return document("db prune", PruneContent(path, deleted is None, total, tuple(found), deleted or 0))


@dataclass(frozen=True, slots=True)
class CompactContent:
    """Bytes of the file before and after."""

    path: str
    before: int
    after: int


def render_compact(path: str, before: int, after: int) -> str:
    """Bytes of the file before and after."""
    share = f", {1 - after / before:.0%} less" if after < before else ""
    return f"{one_line(path)}: {bytes_text(before)} -> {bytes_text(after)}{share}"
