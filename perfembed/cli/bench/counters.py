"""`perfembed bench counters`: simulated counters against valgrind's."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files
from perfembed.cli.options import Json, Quiet, Traceback, Verbose
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError


def command(
    context: typer.Context,
    files: Files = None,
    macro: Annotated[
        list[str] | None,
        typer.Option("-D", metavar="NAME[=VALUE]", help="Macros.  [default: SMALL]", show_default=False),
    ] = None,
    d1: Annotated[str, typer.Option("--d1", metavar="BYTES,WAYS", help="The first cache.")] = "32768,8",
    ll: Annotated[str, typer.Option("--ll", metavar="BYTES,WAYS", help="The last cache.")] = "262144,8",
    verbose: Verbose = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Compare simulated counters with those of valgrind, nest by nest, on the same caches."""
    from perfembed.bench.counters import CountersBench, run_counters
    from perfembed.bench.render_counters import counters_document, render_counters
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    flags = tuple(f"-D{name}" for name in (["SMALL"] if macro is None else macro))
    bench = CountersBench(input_files(files), session.environment, flags, d1=_cache(d1), ll=_cache(ll))
    result = run_counters(bench, lambda done: say(done, quiet))
    style = Style(session.color(sys.stdout))
    print(counters_document(result) if json else render_counters(result, style, verbose))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


def _cache(text: str) -> tuple[int, int]:
    """Raises UsageError."""
    try:
        size, ways = (int(part) for part in text.split(","))
        if ways < 1 or size < 64 * ways or size & (size - 1) or ways & (ways - 1):
            raise ValueError
    except ValueError:
        raise UsageError(f"{text!r} is no cache: BYTES,WAYS, both powers of two, as in 32768,8") from None
    return size, ways
