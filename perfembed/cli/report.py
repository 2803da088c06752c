"""`perfembed report RESULT.json`: the page of a tuning that was done before; nothing is run."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from perfembed.cli.options import Traceback
from perfembed.errors import EXIT_DONE


def command(
    context: typer.Context,
    result: Annotated[
        str, typer.Argument(metavar="RESULT.json", help="What `tune --json` printed.", show_default=False)
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="OUT", help="Where the page goes.  [default: RESULT.html]"),
    ] = None,
    traceback: Traceback = False,
) -> int:
    """Draw what `tune --json` printed as one self-contained HTML page.

    Where the time went before and after, and for each nest the decision, its schedule in words, a roofline, the
    candidates over time, where they come from, the source before and after, and its dependences. Nothing is compiled
    or run, and the C file need not be there.
    """
    from perfembed.files import check_output, read_document, write_output
    from perfembed.report.reading import read_tune_document
    from perfembed.report.tuning_page import tuning_page

    text = read_document(result)
    target = output if output is not None else f"{os.path.splitext(result)[0]}.html"
    check_output(result, target, False)
    found = read_tune_document(text, result)
    write_output(target, tuning_page(found).encode("utf-8"))
    print(f"{target}: {found.path}")
    return EXIT_DONE
