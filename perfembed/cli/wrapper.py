"""`perfembed cc` among the other commands: for its help. What starts the command goes to `perfembed.cli.cc` at once."""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.cc import run_compiler
from perfembed.cli.session import Session


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENTS...", help="The compiler's.", show_default=False)
    ] = None,
) -> int:
    """Compile like gcc, with the best schedules known for a file's nests: make CC='perfembed cc'.

    Every argument is the compiler's, but for --db PATH in front. Nests of a C file for which the database (--db, else
    PERFEMBED_DB, else the user's own) has a schedule, confirmed on this machine with the same -O and -m options, are
    compiled with it, proved legal once more; nothing is measured. Whatever cannot be done so is compiled as it is.
    PERFEMBED_CC names the real compiler (gcc); -v says what was done to which file.
    """
    return run_compiler(words or [], context.ensure_object(Session).environment)
