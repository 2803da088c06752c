"""`perfembed inspect FILE`: the nests of a file, what each loop allows, and what was refused and why."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.options import (
    Cc,
    Cflags,
    Defines,
    File,
    Format,
    Functions,
    Includes,
    Json,
    Standard,
    Traceback,
    Verbose,
    compiler_flags,
    output_format,
)
from perfembed.cli.places import print_lines, print_sarif
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
    format_: Format = "text",
    summary: Annotated[
        bool, typer.Option("--summary", help="Only how many loops were refused for which reason (text).")
    ] = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Show the loop nests of a C file.

    For each nest its IR, its dependences, and which loops are parallel, permutable, reductions or
    vectorizable; for each nest that is refused where, why, and what would make it tunable. As sarif and as
    remarks only the latter.
    """
    session = context.ensure_object(Session)
    form = output_format(session, format_, json)
    flags = compiler_flags(cflags, define, include, std)

    from perfembed.files import read_input
    from perfembed.inspection.inspect_file import inspect_file
    from perfembed.report.inspection import inspection_document, render_inspection
    from perfembed.report.refusals import render_refusals
    from perfembed.report.style import Style
    from scheduler.frontend import ParseOptions

    content = read_input(file)
    inspection = inspect_file(file, content, ParseOptions(flags, cc), tuple(function or ()))
    if form == "sarif":
        from perfembed.report.findings import inspection_findings

        print_sarif(inspection_findings(inspection), file, content)
    elif form == "remarks":
        from perfembed.report.remarks import inspection_remarks

        print_lines(inspection_remarks(inspection))
    elif form == "json":
        print(inspection_document(inspection))
    elif summary:
        print(render_refusals(inspection, Style(session.color(sys.stdout))))
    else:
        print(render_inspection(inspection, Style(session.color(sys.stdout)), verbose=verbose))
    return EXIT_DONE if inspection.nests else EXIT_NO_NEST
