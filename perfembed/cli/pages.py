"""Pages about what is done already: one that fails is a warning, and takes nothing away."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from perfembed.cli.session import Session
from perfembed.errors import PerfembedError
from perfembed.files import write_output
from perfembed.report.style import one_line


def write_page(path: str, make: Callable[[], str], command: str, session: Session) -> bool:
    """Whether the page was written; else one line on stderr says why not. The exit code is that of what was done."""
    try:
        write_output(path, make().encode("utf-8"))
    except Exception as problem:
        said = problem.message if isinstance(problem, PerfembedError) else f"{type(problem).__name__}: {problem}"
        print(f"{command}: warning: there is no page {one_line(path)}: {one_line(said)}", file=sys.stderr)
        if session.traceback:
            traceback.print_exc()
        return False
    return True
