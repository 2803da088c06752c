"""What a file misses, by its places, and as remarks that LLVM would print: file.c:12:5: remark: …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from perfembed.inspection.inspect_file import Inspection
from perfembed.report.style import one_line, printable, times
from perfembed.tuning.result import NestReport, TuneResult
from scheduler.frontend import RACE
from scheduler.ir.nest import Span

Rule = OneOf["refused", "missed-gain", "race"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A loop that is left alone (`refused`), one that a dry run made faster (`missed-gain`), or an OpenMP pragma that
    shares a loop whose iterations meet (`race`).

    `line` and `column` count from 1, columns in bytes. `end`: the byte offset in the file behind what is meant, where
    that is known. `speedup` and `schedule` are of what was found.
    """

    rule: Rule
    message: str
    file: str
    line: int
    column: int
    function: str | None
    end: int | None = None
    speedup: float | None = None
    schedule: str = ""


def inspection_findings(inspection: Inspection) -> tuple[Finding, ...]:
    """The refusals and the races, in the order of the file."""
    found = [
        _refused(_with_advice(r.reason, r.advice), inspection.path, r.span, r.function) for r in inspection.refused
    ]
    for nest in inspection.nests:
        found += [Finding("race", r.message, inspection.path, r.line, r.column, nest.function) for r in nest.races]
        if nest.problem and nest.span is not None:
            found.append(_refused(f"not analysed: {nest.problem}", inspection.path, nest.span, nest.function))
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.column)))


def _refused(message: str, path: str, span: Span, function: str | None) -> Finding:
    rule: Rule = "race" if message.startswith(RACE) else "refused"
    return Finding(rule, message, span.file or path, span.line, span.column, function, span.end)


def _with_advice(reason: str, advice: str) -> str:
    return f"{reason} ({advice})" if advice else reason


def tuning_findings(result: TuneResult) -> tuple[Finding, ...]:
    """The refusals, and of a run that wrote nothing what it made faster, in the order of the file."""
    found = []
    for report in result.nests:
        if report.status == "refused":
            found.append(_of(report, "race" if report.reason.startswith(RACE) else "refused", report.reason))
        elif report.status == "tuned" and result.output_path is None:
            found.append(_of(report, "missed-gain", missed_gain(report)))
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.column)))


def missed_gain(report: NestReport) -> str:
    """In words, with the schedule."""
    gained = f"{times(report.speedup)} " if report.speedup is not None else ""
    return f"{report.nest} can be made {gained}faster: {report.schedule}"


def _of(report: NestReport, rule: Rule, message: str) -> Finding:
    where = (report.file, report.line, report.column, report.function)
    return Finding(rule, message, *where, None, report.speedup, report.schedule)


Kind = OneOf["", "-missed", "-analysis"]
"""What was done, what was not, and what explains it."""


def remark(file: str, line: int, column: int, text: str, kind: Kind) -> str:
    """One line, whatever the text holds."""
    said = " ".join(printable(text).splitlines())
    return f"{one_line(file)}:{line}:{column}: remark: {said} [-Rpass{kind}=perfembed]"


def nest_remark(report: NestReport, written: bool) -> str:
    """What became of one nest; a gain that was not written is one that the file misses."""
    kind: Kind = "" if report.status == "tuned" and written else "-missed"
    if report.status != "tuned":
        text = f"{report.nest} not tuned: {report.reason}"
    elif written:
        gained = f" {times(report.speedup)} faster" if report.speedup is not None else ""
        text = f"{report.nest} tuned{gained}: {report.schedule}"
    else:
        text = missed_gain(report)
    return remark(report.file, report.line, report.column, text, kind)


def tuning_remarks(result: TuneResult) -> Sequence[str]:
    """One a nest, in the order of the report."""
    return [nest_remark(report, result.output_path is not None) for report in result.nests]


def inspection_remarks(inspection: Inspection) -> Sequence[str]:
    """One for each loop that is left alone."""
    return [
        remark(f.file, f.line, f.column, f"loop not tuned: {f.message}", "-missed")
        for f in inspection_findings(inspection)
    ]
