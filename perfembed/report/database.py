"""What `perfembed db` found or did to a database, as text and as documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from optdb.check import CheckReport
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


def check_document(path: str, report: CheckReport) -> str:
    content = {
        "path": path,
        "consistent": report.consistent,
        "rows": {name.removeprefix("_store."): number for name, number in report.rows},
        "findings": [asdict(f) | {"table": f.table.removeprefix("_store.")} for f in report.findings],
        "ingest_problems": report.problems,
    }
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


def intake_content(origin: str, report: ExchangeReport) -> dict[str, object]:
    """For a document."""
    return {
        "from": origin,
        "new": dict(report.stored),
        "known": report.known,
        "refused": report.refused,
        "reasons": report.reasons,
    }


def _kind(kind: str, number: int) -> str:
    return f"{number:,} {kind if number == 1 or kind == 'conditions' else kind + 's'}"


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
        hint = (
            "nothing was changed: --yes deletes" if deleted is None else "perfembed db compact makes the file smaller"
        )
        lines.append(hint)
    return "\n".join(lines)


def prune_document(path: str, found: Sequence[Prunable], total: int, deleted: int | None) -> str:
    content = {
        "path": path,
        "dry_run": deleted is None,
        "measurements": total,
        "chosen": [asdict(c) for c in found],
        "deleted": deleted or 0,
    }
    return document("db prune", content)


def render_compact(path: str, before: int, after: int) -> str:
    """Bytes of the file before and after."""
    share = f", {1 - after / before:.0%} less" if after < before else ""
    return f"{one_line(path)}: {bytes_text(before)} -> {bytes_text(after)}{share}"
