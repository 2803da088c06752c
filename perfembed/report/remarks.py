"""Remarks as LLVM prints them: file.c:12:5: remark: … [-Rpass-missed=perfembed]"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal as OneOf

from perfembed.inspection.inspect_file import Inspection
from perfembed.report.findings import inspection_findings, missed_gain
from perfembed.report.style import one_line, printable, times
from perfembed.tuning.result import NestReport, TuneResult

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
