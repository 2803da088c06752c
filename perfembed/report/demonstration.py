"""What `demo` did to the example programs, as text and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfembed.report.documents import document
from perfembed.report.style import Style, one_line, seconds, table, times
from perfembed.tuning.result import TuneResult


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
