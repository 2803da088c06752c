"""`perfembed bench kernels`: programs tuned, and compared with what compilers make of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files, say
from perfembed.cli.options import Cc, Quiet, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError

_FORMATS = ("table", "markdown", "json")


def command(
    context: typer.Context,
    files: Files = None,
    set_: Annotated[
        str, typer.Option("--set", metavar="large|small", help="Sizes: as they are, or with -DSMALL.")
    ] = "large",
    threads: Threads = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="Search time a kernel.  [default: 60s, small 10s]")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Finished kernels are kept here, one JSON line each.")
    ] = Path("bench-kernels.jsonl"),
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Take over what --out holds, or measure again.")
    ] = True,
    only: Annotated[
        str, typer.Option("--only", metavar="LIST", help="Columns, of gcc,clang,polly,polly-stripmine,ours.")
    ] = "gcc,clang,polly,polly-stripmine,ours",
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="NAME", help="The function to time (repeatable).", show_default=False),
    ] = None,
    search: Annotated[str, typer.Option("--search", metavar="NAME", help="How schedules are searched.")] = "beam",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    cc: Cc = "gcc",
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="[default: the newest]")] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="table|markdown|json", help="How it is printed.")
    ] = "table",
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune kernels and compare them with what compilers make of them.

    Each kernel is tuned, checked, and measured in turns with the original built by gcc, clang and clang with
    Polly, all on the same threads. The time is that of the kernel, without input and checksum. Ends with exit
    code 1 where a tuned program computed something else. May be stopped and started again at any time.
    """
    session = context.ensure_object(Session)
    if set_ not in ("large", "small"):
        raise UsageError(f"--set {set_!r}: expected large or small")
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_!r}: expected {', '.join(_FORMATS)}")
    session.json = format_ == "json"
    small = set_ == "small"
    budget_s = budget_seconds(budget if budget is not None else "10s" if small else "60s")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UsageError(f"--out {out}: not a file that can be written")
    paths, count = input_files(files), thread_count(threads)
    columns = tuple(name.strip() for name in only.split(",") if name.strip())

    from perfembed.bench.kernels.compilers import NAMES
    from perfembed.bench.kernels.measure import MeasureSettings
    from perfembed.bench.kernels.report import kernels_document, render_kernels
    from perfembed.bench.kernels.run import KernelsBench, run_kernels
    from perfembed.report.style import Style

    if unknown := sorted(set(columns) - set(NAMES)):
        raise UsageError(f"--only {', '.join(unknown)}: expected some of {', '.join(NAMES)}")
    bench = KernelsBench(
        paths=paths,
        small=small,
        threads=count,
        budget_s=budget_s,
        only=columns,
        out=out,
        resume=resume,
        search=search,
        cc=cc,
        clang=clang,
        kernels=tuple(kernel or ()),
        seed=seed,
        settings=MeasureSettings(least=3, enough_s=0.1, quiet_s=2.0) if small else MeasureSettings(),
        environment=tuple(sorted(session.environment.items())),
    )
    result = run_kernels(bench, lambda text: say(text, quiet))
    style = Style(session.color(sys.stdout))
    if format_ == "json":
        print(kernels_document(result))
    else:
        print(render_kernels(result, style, markdown=format_ == "markdown"))
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_VERIFICATION if any(row.status == "wrong" for row in result.rows) else EXIT_DONE
