"""How commands print what is not a report: findings by their places, progress in lines, pages."""

from __future__ import annotations

import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.cli.session import Session
from perfembed.errors import PerfembedError
from perfembed.files import write_output
from perfembed.report.style import Style, one_line

if TYPE_CHECKING:
    from perfembed.report.findings import Finding
    from perfembed.report.style import Style


def style_of(session: Session) -> Style:
    """Of what is printed: as wide as the terminal, up to 120 columns, else 100."""

    wide = min(shutil.get_terminal_size().columns, 120) if sys.stdout.isatty() else 100
    return Style(session.color(sys.stdout), wide)


def say(text: str, quiet: bool) -> None:
    """A line of progress on stderr, of commands without a progress display."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def print_sarif(findings: Sequence[Finding], path: str, content: bytes) -> None:
    """Of the file `path`, which was read as `content`; what is below the working folder is named relative to it."""
    from importlib.metadata import version

    from perfembed.report.sarif import sarif

    print(sarif(findings, path, content, Path.cwd(), version("perfembed")))


def print_lines(lines: Sequence[str]) -> None:
    """Nothing at all where there are none."""
    for line in lines:
        print(line)


def write_page(path: str, make: Callable[[], str], command: str, session: Session) -> bool:
    """A page about what is done already. Whether it was written; else one line on stderr says why not, and the exit
    code stays that of what was done.
    """

    try:
        write_output(path, make().encode("utf-8"))
    except Exception as problem:
        said = problem.message if isinstance(problem, PerfembedError) else f"{type(problem).__name__}: {problem}"
        print(f"{command}: warning: there is no page {one_line(path)}: {one_line(said)}", file=sys.stderr)
        if session.traceback:
            traceback.print_exc()
        return False
    return True
