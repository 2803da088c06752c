"""`perfembed bench written`: written files compiled in other ways than they were tuned."""

from __future__ import annotations

import sys
from glob import glob
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.bench.common import SHIPPED, Files
from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError


def command(
    context: typer.Context,
    files: Files = None,
    programs: Annotated[int, typer.Option("--programs", metavar="N", min=0, help="Random programs.")] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first random program.")] = 0,
    ways: Annotated[
        str | None, typer.Option("--ways", metavar="LIST", help="Ways to compile and to run.  [default: all]")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Programs that differ are kept here.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check that written files keep their meaning in other ways to compile and to run them.

    Programs are rewritten with random legal schedules. Then original and written file are compiled in the same
    way (other sizes, compilers, flags, sanitizers, threads, stacks, without memory …): both must print the same,
    or both be refused. Ends with exit code 1 where they differ.
    """
    from perfembed.bench.render_written import render_written, written_document
    from perfembed.bench.written.campaign import chosen, run_written
    from perfembed.bench.written.model import Tally, WrittenBench
    from perfembed.bench.written.ways import WAYS
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    named = tuple(name.strip() for name in (ways or "").split(",") if name.strip())
    try:
        chosen(named)
    except KeyError as error:
        raise UsageError(f"--ways {error.args[0]}: expected some of {', '.join(w.name for w in WAYS)}") from None
    paths = tuple(sorted(glob(SHIPPED)) if files is None else files)
    if absent := [path for path in paths if not Path(path).is_file()]:
        raise UsageError(f"{absent[0]}: no such file")
    if not paths and not programs:
        raise UsageError("no C files given, and no random programs")
    if keep is not None and not (keep.is_dir() or keep.absolute().parent.is_dir()):
        raise UsageError(f"--keep {keep}: not a folder that can be made")
    bench = WrittenBench(
        files=paths,
        programs=programs,
        seed=seed,
        first=first,
        ways=named,
        jobs=jobs,
        keep=keep,
        environment=tuple(sorted(session.environment.items())),
    )

    def progress(name: str, done: int, tally: Tally) -> None:
        total = len(paths) + programs
        say(f"{name}: {done} of {total} programs, {len(tally.failures)} differences", quiet)

    result = run_written(bench, progress)
    print(written_document(result) if json else render_written(result, Style(session.color(sys.stdout))))
    if result.tally.failures:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
