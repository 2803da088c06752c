"""`perfembed demo`: tunes the example programs that ship, to show what it does."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.building import default_output
from perfembed.cli.options import Given, takes
from perfembed.cli.output import style_of
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError
from perfembed.files import write_output

if TYPE_CHECKING:
    from perfembed.report.style import Style
    from perfembed.report.terminal import DemoProgram
    from perfembed.tuning.options import TuneOptions

PROGRAMS = ("matrix-product.c", "standardize.c", "heat.c")
_SHIPPED = Path(__file__).parents[1] / "demo"
_ABOUT = re.compile(r"/\* (.*) \*/")


@takes("cc", "threads", "json", "quiet", "verbose", budget_s="20s")
def command(
    given: Given,
    folder: Annotated[str, typer.Option("--dir", metavar="FOLDER", help="Where the programs go.")] = "perfembed-demo",
) -> int:
    """Tune three example programs: a matrix product, a table walked the wrong way, a stencil in a time loop.

    Writes them and their faster versions into a folder, as `tune` does with a file, and shows what was done. Takes up
    to a minute. The database is neither read nor written.
    """
    given.check_volume()
    options = given.tune_options()
    paths = place_programs(folder)

    from perfembed.report.terminal import demo_document, render_demo

    style = style_of(given.session)
    done: list[DemoProgram] = []
    for path in paths:
        done.append(_tuned(path, options, given, None if given.json else style))
        if done[-1].result.interrupted:
            break
    print(demo_document(folder, done) if given.json else render_demo(done, style))
    return EXIT_INTERRUPTED if done[-1].result.interrupted else EXIT_DONE


def place_programs(folder: str) -> list[str]:
    """Copies of the programs in a folder, which is made. Raises UsageError where files of others would be lost."""

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--dir {folder}: no folder can be made here: {error.strerror}") from None
    contents = {os.path.join(folder, name): (_SHIPPED / name).read_bytes() for name in PROGRAMS}
    for path, content in contents.items():
        if os.path.lexists(path) and not _holds(path, content):
            raise UsageError(f"{path}: is there already, and is another file", "choose another folder with --dir")
    for path, content in contents.items():
        if not os.path.exists(path):
            write_output(path, content)
    return list(contents)


def _holds(path: str, content: bytes) -> bool:
    try:
        return os.path.isfile(path) and Path(path).read_bytes() == content
    except OSError:
        return False


def about(content: str) -> str:
    """What a program is an example of: its first comment."""
    found = _ABOUT.match(content)
    return found[1] if found else ""


def _tuned(path: str, options: TuneOptions, given: Given, style: Style | None) -> DemoProgram:
    """Tunes one program and, where there is a style, shows what was done. Raises PerfembedError."""
    from perfembed.cli.progress import progress_on
    from perfembed.report.terminal import DemoProgram, render_result
    from perfembed.tuning.file_tuner import tune

    said = about(Path(path).read_text(encoding="utf-8"))
    if style is not None:
        print(style.paint(path, "bold") + f"\n{said}\n", flush=True)
    with progress_on(sys.stderr, given.session.color(sys.stderr), quiet=given.quiet, verbose=given.verbose) as progress:
        result = tune(path, replace(options, output=default_output(path)), progress)
    if style is not None:
        print(render_result(result, style, quiet=given.quiet, verbose=given.verbose) + "\n", flush=True)
    return DemoProgram(said, path, result)
