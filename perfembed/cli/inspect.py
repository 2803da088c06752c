"""`perfembed inspect FILE`: the nests of a file, what each loop allows, and what was refused and why."""

from __future__ import annotations

import sys

import typer

from perfembed.cli.options import (
    Cc,
    Cflags,
    Defines,
    File,
    Functions,
    Includes,
    Json,
    Standard,
    Traceback,
    Verbose,
    compiler_flags,
)
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_NO_NEST


def command(
    context: typer.Context,
    file: File,
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = "",
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    json: Json = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Show the loop nests of a C file.

    For each nest its IR, its dependences, and which loops are parallel, permutable, reductions or
    vectorizable; for each nest that is refused where, why, and what would make it tunable.
    """
    from perfembed.files import read_input
    from perfembed.inspection.inspect_file import inspect_file
    from perfembed.report.inspection import inspection_document, render_inspection
    from perfembed.report.style import Style
    from scheduler.frontend import ParseOptions

    flags = compiler_flags(cflags, define, include, std)
    content = read_input(file)
    inspection = inspect_file(file, content, ParseOptions(flags, cc), tuple(function or ()))
    style = Style(context.ensure_object(Session).color(sys.stdout))
    print(inspection_document(inspection) if json else render_inspection(inspection, style, verbose=verbose))
    return EXIT_DONE if inspection.nests else EXIT_NO_NEST
