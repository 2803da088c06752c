"""`perfembed schema [NAME]`: the JSON schemas of what commands print, and what their exit codes mean."""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.options import Given, takes
from perfembed.errors import EXIT_DONE, UsageError


@takes()
def command(
    given: Given,
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]", help="Such as tune or db info; none lists them.", show_default=False),
    ] = None,
    exit_codes: Annotated[bool, typer.Option("--exit-codes", help="Show the exit codes instead.")] = False,
) -> int:
    """Print the JSON schema of a document that --json prints; without a name, list them.

    With --exit-codes what the exit codes of all commands mean.
    """
    from perfembed.report.exit_codes import render_exit_codes
    from perfembed.report.schema import schema_list, schema_text
    from perfembed.report.style import table

    if exit_codes:
        if name:
            raise UsageError("--exit-codes goes without a name")
        print(render_exit_codes())
    elif name:
        print(schema_text(" ".join(name)), end="")
    else:
        print("\n".join(table(schema_list(), indent=0)))
    return EXIT_DONE
