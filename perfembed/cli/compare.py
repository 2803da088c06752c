"""`perfembed compare FILES`: programs tuned, and compared with what compilers and other tools make of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from perfembed.cli.help import examples
from perfembed.cli.options import FLAGS, Given, takes
from perfembed.cli.output import say
from perfembed.cli.texts import words
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError
from perfembed.report.style import Style

Format = Literal["table", "markdown", "json"]
EXAMPLES = examples(
    "perfembed compare gemm.c atax.c --only gcc,clang,polly,ours",
    "perfembed compare gemm.c --peer 'pluto=polycc {source} --parallel -o {output_c}' --out rows.jsonl",
)


@takes("threads", "budget_s", "search", "seed", *FLAGS, "args", "quiet")
def command(
    given: Given,
    files: Annotated[list[str], typer.Argument(help="C files with a main.", show_default=False)],
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
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="[default: the newest]")] = None,
    format_: Annotated[
        Format, typer.Option("--format", metavar="table|markdown|json", help="How it is printed.")
    ] = "table",
) -> int:
    """Tune programs and compare them with what compilers and other tools make of them.

    Each file is a program. It is tuned, checked, and measured in turns with the original built by gcc, gcc with
    Graphite, clang, clang with Polly and every --peer, all on the same threads. The time is that of the kernel,
    without input and checksum. A program that prints something else does not count. Ends with exit code 1 where
    a tuned program computed something else. With --out a run that ended goes on
    where it stopped.
    """
    given.session.json = format_ == "json"
    budget_s, count = given.budget(), given.thread_count()
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise UsageError(f"--out {out}: not a file that can be written")
    columns = tuple(name.strip() for name in only.split(",") if name.strip())
    flags, arguments = given.flags, (*words(given.args, "--args"), *given.program)

    from perfembed.comparing.against import is_checkout
    from perfembed.comparing.compilers import NAMES, THEIRS, Peer, parse_peer
    from perfembed.comparing.model import OPENBLAS, CompareOptions
    from perfembed.comparing.run import compare
    from perfembed.report.comparison import comparison_document, render_comparison

    if unknown := sorted(set(columns) - set(NAMES)):
        raise UsageError(f"--only {', '.join(unknown)}: expected some of {', '.join(NAMES)}")
    if against is not None and not is_checkout(against):
        raise UsageError(f"--against {against}: no checkout of perfembed")
    peers: list[Peer] = []
    for text in peer or ():
        peers.append(parse_peer(text, {*NAMES, THEIRS, OPENBLAS, *(p.name for p in peers)}, given.session.environment))
    options = CompareOptions(
        paths=tuple(files),
        threads=count,
        budget_s=budget_s,
        only=columns,
        out=out,
        resume=resume,
        search=given.search,
        cc=given.cc,
        clang=clang,
        flags=flags,
        arguments=arguments,
        peers=tuple(peers),
        against=against.resolve() if against is not None else None,
        cache=given.cache(),
        kernels=tuple(kernel or ()),
        seed=given.seed,
        environment=given.environment,
    )
    result = compare(options, lambda text: say(text, given.quiet))
    style = Style(given.session.color(sys.stdout))
    if format_ == "json":
        print(comparison_document(result))
    else:
        print(render_comparison(result, style, markdown=format_ == "markdown"))
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_VERIFICATION if any(row.status == "wrong" for row in result.rows) else EXIT_DONE
