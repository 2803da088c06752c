"""`perfembed doctor`: what this machine can do, and what would fix what it cannot."""

from __future__ import annotations

import sys
from dataclasses import asdict
from shutil import which
from typing import Annotated

import typer

from perfembed.cli.options import Cc, Json, Traceback
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_ENVIRONMENT

_NEEDED = frozenset(("C compiler", "OpenMP"))  # without these nothing can be tuned


def command(
    context: typer.Context,
    cc: Cc = "gcc",
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="A second compiler to try.")] = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Check what this machine can do.

    Tries the compiler, OpenMP, hardware counters, cores, caches and the timer, and names one fix for each
    problem. Takes a few seconds.
    """
    from perfembed.report.documents import document
    from perfembed.report.style import Style
    from profilers.doctor import diagnose

    session = context.ensure_object(Session)
    second = clang or (which("clang", path=session.environment.get("PATH")) and "clang") or None
    checks = diagnose(session.environment, cc, second)
    missing = any(not check.ok and check.name in _NEEDED for check in checks)
    code = EXIT_ENVIRONMENT if missing else EXIT_DONE
    if json:
        print(document("doctor", {"ready": not missing, "checks": [asdict(check) for check in checks]}))
        return code
    style = Style(session.color(sys.stdout))
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = style.paint("ok  ", "green") if check.ok else style.paint("miss", "red")
        if not check.ok and check.name not in _NEEDED:
            mark = style.paint("warn", "yellow")
        print(f"{mark}  {check.name.ljust(width)}  {check.found}")
        if check.fix:
            print(f"{' ' * (width + 6)}  fix: {check.fix}")
    print("ready to tune" if not missing else "not ready to tune: see the lines marked miss")
    return code
