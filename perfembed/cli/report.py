"""`perfembed report RESULT.json`: the page of a tuning; `perfembed schema`: what is in documents. Nothing is run."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from perfembed.cli.help import examples
from perfembed.cli.options import Given, takes
from perfembed.cli.output import style_of
from perfembed.errors import EXIT_DONE, UsageError
from perfembed.files import check_output, read_document, write_output
from perfembed.report.style import table

EXAMPLES = examples(
    "perfembed tune gemm.c --json > result.json; perfembed report result.json -o page.html",
    "perfembed report result.json --text -v",
)


@takes("verbose")
def command(
    given: Given,
    result: Annotated[
        str, typer.Argument(metavar="RESULT.json", help="What `tune --json` printed.", show_default=False)
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="OUT", help="Where the page goes.  [default: RESULT.html]"),
    ] = None,
    text: Annotated[
        bool,
        typer.Option("--text", help="Print donors, candidates, steps and matched nodes instead (-v: of all)."),
    ] = False,
) -> int:
    """Draw what `tune --json` printed as one self-contained HTML page.

    Where the time went before and after, and for each nest the decision, its schedule in words, a roofline, the
    candidates over time, where they come from, the source before and after, and its dependences. Nothing is compiled
    or run, and the C file need not be there.
    """
    from perfembed.report.reading import read_tune_document
    from perfembed.report.tuning_page import tuning_page

    found = read_tune_document(read_document(result), result)
    if text:
        from perfembed.report.explanation import render_explanation

        print(render_explanation(found, style_of(given.session), verbose=given.verbose))
        return EXIT_DONE
    target = output if output is not None else f"{os.path.splitext(result)[0]}.html"
    check_output(result, target, False)
    write_output(target, tuning_page(found).encode("utf-8"))
    print(f"{target}: {found.path}")
    return EXIT_DONE


@takes()
def schema(
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
    from perfembed.report.documents import render_exit_codes, schema_list, schema_text

    if exit_codes:
        if name:
            raise UsageError("--exit-codes goes without a name")
        print(render_exit_codes())
    elif name:
        print(schema_text(" ".join(name)), end="")
    else:
        print("\n".join(table(schema_list(), indent=0)))
    return EXIT_DONE
