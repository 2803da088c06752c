"""`perfembed compare FILES`: programs tuned, and compared with what compilers and other tools make of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    Includes,
    Quiet,
    Standard,
    Threads,
    Traceback,
    budget_seconds,
    compiler_flags,
    thread_count,
    words,
)
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.cli.world import Args
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError

FORMATS = ("table", "markdown", "json")


def command(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(help="C files with a main.", show_default=False)],
    threads: Threads = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Search time a program.")] = "60s",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Finished programs are kept here, a JSON line each; a run that ended goes on there.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Take over what --out holds, or measure again.")
    ] = True,
    only: Annotated[
        str, typer.Option("--only", metavar="LIST", help="Columns, of gcc,graphite,clang,polly,polly-stripmine,ours.")
    ] = "gcc,graphite,clang,polly,polly-stripmine,ours",
    peer: Annotated[
        list[str] | None,
        typer.Option(
            "--peer",
            metavar="NAME=COMMAND",
            help="Another tool (repeatable): words with {source}, the C file, and {output}, the program it makes, or "
            "{output_c}, the C file it makes, which --cc then compiles with -fopenmp; also {flags} and {threads}.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="DIR",
            help="Another checkout of perfembed: the same files are tuned by it, too, in turns, as a column (theirs).",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="NAME", help="The function to time (repeatable).", show_default=False),
    ] = None,
    search: Annotated[str, typer.Option("--search", metavar="NAME", help="As of tune.")] = "transfer",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    defines: Defines = None,
    includes: Includes = None,
    standard: Standard = None,
    args: Args = "",
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="[default: the newest]")] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="table|markdown|json", help="How it is printed.")
    ] = "table",
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune programs and compare them with what compilers and other tools make of them.

    Each file is a program. It is tuned, checked, and measured in turns with the original built by gcc, gcc with
    Graphite, clang, clang with Polly and every --peer, all on the same threads. The time is that of the kernel,
    without input and checksum. A program that prints something else does not count. Ends with exit code 1 where
    a tuned program computed something else. With --out a run that ended goes on
    where it stopped.
    """
    session = context.ensure_object(Session)
    if format_ not in FORMATS:
        raise UsageError(f"--format {format_!r}: expected {', '.join(FORMATS)}")
    session.json = format_ == "json"
    budget_s, count = budget_seconds(budget), thread_count(threads)
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise UsageError(f"--out {out}: not a file that can be written")
    columns = tuple(name.strip() for name in only.split(",") if name.strip())
    flags, arguments = compiler_flags(cflags, defines, includes, standard), words(args, "--args")

    from perfembed.cli.doctor import cache_folder
    from perfembed.comparing.against import is_checkout
    from perfembed.comparing.compilers import NAMES, THEIRS
    from perfembed.comparing.model import OPENBLAS, CompareOptions
    from perfembed.comparing.peers import Peer, parse_peer
    from perfembed.comparing.run import compare
    from perfembed.report.comparison import comparison_document, render_comparison
    from perfembed.report.style import Style

    if unknown := sorted(set(columns) - set(NAMES)):
        raise UsageError(f"--only {', '.join(unknown)}: expected some of {', '.join(NAMES)}")
    if against is not None and not is_checkout(against):
        raise UsageError(f"--against {against}: no checkout of perfembed")
    peers: list[Peer] = []
    for text in peer or ():
        peers.append(parse_peer(text, {*NAMES, THEIRS, OPENBLAS, *(p.name for p in peers)}, session.environment))
    options = CompareOptions(
        paths=tuple(files),
        threads=count,
        budget_s=budget_s,
        only=columns,
        out=out,
        resume=resume,
        search=search,
        cc=cc,
        clang=clang,
        flags=flags,
        arguments=arguments,
        peers=tuple(peers),
        against=against.resolve() if against is not None else None,
        cache=cache_folder(session.environment),
        kernels=tuple(kernel or ()),
        seed=seed,
        environment=tuple(sorted(session.environment.items())),
    )
    result = compare(options, lambda text: say(text, quiet))
    style = Style(session.color(sys.stdout))
    if format_ == "json":
        print(comparison_document(result))
    else:
        print(render_comparison(result, style, markdown=format_ == "markdown"))
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_VERIFICATION if any(row.status == "wrong" for row in result.rows) else EXIT_DONE
