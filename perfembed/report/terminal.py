"""A tuning result as text: for each nest what was done and why, then the program as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfembed.report.documents import document
from perfembed.report.style import Style, count, one_line, percent, printable, seconds, table, times
from perfembed.tuning.result import NestReport, TuneResult

_COLORS = {"tuned": "green", "kept": "yellow", "skipped": "dim", "refused": "dim"}
_LABEL = 9  # width of the first column
_WAITED_S = 1.0  # for others: less is not worth a word


def render_result(result: TuneResult, style: Style, *, quiet: bool = False, verbose: bool = False) -> str:
    """The whole report; `quiet` leaves the nests out, `verbose` adds the normalization and what was tried."""
    lines: list[str] = []
    if not quiet:
        for report in result.nests:
            lines += _nest(report, style, verbose)
        if result.nests:
            lines.append("")
    lines += _program(result, style)
    if verbose:
        spent = sorted(result.phases.items(), key=lambda item: -item[1])
        text = ", ".join(f"{name} {seconds(value)}" for name, value in spent if value >= 0.005)
        lines.append(style.paint("time".ljust(_LABEL), "bold") + text)
    return "\n".join(lines)


def nest_line(report: NestReport, style: Style) -> str:
    """One line on one nest, also what progress prints when it is done."""
    label = style.paint(report.status.ljust(_LABEL), _COLORS[report.status])
    where = f"{one_line(report.file)}:{report.line}:{report.column}"
    text = f"{label}{style.paint(report.nest, 'bold')} ({where})"
    if report.share is not None and report.status in ("tuned", "kept"):
        text += f", {percent(report.share)} of the run"
    gain = _gain(report)
    return f"{text}: {gain or printable(report.reason)}"


def _gain(report: NestReport) -> str:
    if report.status != "tuned" or report.speedup is None:
        return ""
    text = f"{times(report.speedup)} faster"
    if report.told_low is not None and report.told_high is not None:
        text += f" [{times(report.told_low)}, {times(report.told_high)}]"
    if report.original_s is not None and report.tuned_s is not None:
        text += f", {seconds(report.original_s)} -> {seconds(report.tuned_s)}"
    return text


def told(report: NestReport) -> str:
    """What the interval beside a speedup says."""
    if report.told_coverage is None or report.runs is None:
        return ""
    coverage = (
        math.floor(1000 * min(report.told_coverage, 1.0)) / 10
    )  # a probability that is promised is not rounded up
    return f"{report.runs} runs of each, in turns; the interval has the ratio in it in {coverage:g} % of cases at least"


def _nest(report: NestReport, style: Style, verbose: bool) -> list[str]:
    lines = [nest_line(report, style)]

    def add(label: str, text: str) -> None:
        if text:
            head = " " * _LABEL + label.ljust(12)
            lines.append(style.paint(head, "dim") + style.clauses(text, len(head)))

    if report.status == "tuned":
        if verbose:
            add("why", report.reason if _gain(report) else "")
            add("normalized", report.normalization)
        add("schedule", report.schedule)
        add("for", given(report))
        add("no threads", report.no_threads)
        add("measured", told(report))
        add("checked", "; ".join(report.checks))
    if report.other_values is not None and report.other_values.wrong:
        add("WRONG", f"{report.other_values.wrong} (a fault of perfembed's: not written)")
    if report.candidates and (verbose or report.status in ("tuned", "kept")):
        add("tried", tried(report))
    for note in report.notes if verbose else ():
        add("note", note)
    return lines


def given(report: NestReport) -> str:
    """The values that the schedule is for."""
    return f"{', '.join(report.given)}; other values run the original loops" if report.given else ""


def tried(report: NestReport) -> str:
    """How many candidates were measured, and what became of those that were not."""
    text = count(report.candidates, "candidate")
    text += f" of {report.predicted} predicted" if report.predicted else ""
    for number, what in ((report.illegal, "illegal"), (report.failed, "failed"), (report.wrong, "wrong")):
        text += f", {number} {what}" if number else ""
    return f"{text}; on less work: {report.less_work}" if report.less_work else text


def _program(result: TuneResult, style: Style) -> list[str]:
    lines: list[str] = []

    def add(label: str, text: str) -> None:
        lines.append(style.paint(label.ljust(_LABEL), "bold") + text)

    tuned = sum(r.status == "tuned" for r in result.nests)
    if result.interrupted:
        add(
            "stopped", "interrupted; " + ("what was confirmed is kept" if tuned else "nothing was confirmed until then")
        )
    for problem in result.unread:
        add("not read", printable(problem))
    program = ""
    before, after = result.program_before_s, result.program_after_s
    if before and after:
        ratio = before / after
        change = f"{times(ratio)} faster" if ratio >= 1.005 else "not faster" if ratio > 0.995 else "slower"
        program = f"{seconds(before)} -> {seconds(after)}, {change}"
    elif before:
        program = seconds(before)
    if result.program_output_equal is not None:
        same = f"output the same within {result.tolerance:g}" if result.tolerance else "output identical"
        same += f" {result.program_output_note}" if result.program_output_note else ""
        verdict = same if result.program_output_equal else "OUTPUT DIFFERS"
        program += f"{', ' if program else ''}{verdict}"
    if program:
        add("program", program)
    written = [file for file in result.files if file.output_path is not None]
    if written and (len(result.files) > 1 or written[0].needs):
        for file in written:
            nests = sum(r.file == file.path and r.status != "refused" for r in result.nests)
            add("wrote", f"{one_line(file.output_path or '')} ({file.tuned} of {count(nests, 'nest')} tuned)")
        if needed := dict.fromkeys(flag for file in written for flag in file.needs):
            add("needed", f"{' '.join(needed)}, where these files are compiled and where they are linked")
    elif result.output_path is not None and not tuned:
        add("wrote", f"{one_line(result.output_path)}: the original, unchanged: nothing faster was confirmed")
    elif result.output_path is not None:
        add("wrote", f"{one_line(result.output_path)} ({tuned} of {count(len(result.nests), 'nest')} tuned)")
    else:
        add("wrote", "nothing" if tuned else "nothing: the original stays, nothing faster was confirmed")
    flags = one_line(" ".join((result.compiler, *result.flags)))
    add("with", f"{flags}; {count(result.threads, 'thread')}; {result.machine}; {took(result)}")
    return lines


def took(result: TuneResult) -> str:
    """How long all of it took, and what of that was no work of ours."""
    waited = result.phases.get("waiting", 0.0)
    return seconds(result.seconds) + (f", {seconds(waited)} of it waiting for others" if waited >= _WAITED_S else "")


@dataclass(frozen=True, slots=True)
class DemoProgram:
    """`about`: what the program is an example of. The tuned file is `result.output_path`."""

    about: str
    source: str
    result: TuneResult


@dataclass(frozen=True, slots=True)
class DemoContent:
    folder: str
    programs: tuple[DemoProgram, ...]


def demo_document(folder: str, programs: Sequence[DemoProgram]) -> str:
    return document("demo", DemoContent(folder, tuple(programs)))


def render_demo(programs: Sequence[DemoProgram], style: Style) -> str:
    """A row a program, with what was gained, and how the files are built."""
    rows = [["program", "before", "after", "", "tuned file"]]
    for program in programs:
        before, after = program.result.program_before_s, program.result.program_after_s
        gain = [seconds(before), seconds(after), times(before / after)] if before and after else ["-", "-", "-"]
        rows.append([one_line(program.source), *gain, one_line(program.result.output_path or "-")])
    lines = [style.paint("what was gained", "bold"), *table(rows)]
    written = next((p.result for p in reversed(programs) if p.result.output_path is not None), None)
    if written is not None:
        flags = " ".join(dict.fromkeys((*written.flags, "-fopenmp")))
        lines += ["", f"compile one: cc {one_line(flags)} {one_line(written.output_path or '')} -lm"]
    return "\n".join(lines)
