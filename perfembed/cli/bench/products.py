"""`perfembed bench products`: matrix products against OpenBLAS, without any product among the donors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Cc, Json, Quiet, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, UsageError


def command(
    context: typer.Context,
    sizes: Annotated[str, typer.Option("--sizes", metavar="LIST", help="Rows and columns.")] = "500,1000,2000,4000",
    types: Annotated[str, typer.Option("--types", metavar="LIST", help="Element types.")] = "double,float",
    spellings: Annotated[
        str, typer.Option("--spellings", metavar="LIST", help="Of ijk, ikj, scaled, transposed.")
    ] = "ijk,ikj,scaled,transposed",
    march: Annotated[
        str, typer.Option("--march", metavar="LIST", help="Instruction sets, as of -march.")
    ] = "native,x86-64-v3",
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="As of tune.")] = "60s",
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Finished rows are kept here, one JSON line each.")
    ] = Path("bench-products.jsonl"),
    threads: Threads = None,
    cc: Cc = "gcc",
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune matrix products as people write them, and compare with OpenBLAS.

    No donor has a product in it: what is found comes from the machine's registers and caches, and from other donors.
    """
    from perfembed.bench.products import SPELLINGS, ProductsBench, bench_products
    from perfembed.bench.render_products import products_document, render_products

    session: Session = context.obj
    wanted = tuple(filter(None, spellings.split(",")))
    if unknown := set(wanted) - SPELLINGS.keys():
        raise UsageError(f"--spellings {', '.join(sorted(unknown))}: expected some of {', '.join(SPELLINGS)}")
    kinds = tuple(filter(None, types.split(",")))
    if not kinds or set(kinds) - {"double", "float"}:
        raise UsageError(f"--types {types!r}: expected double, float or both")
    if not all(size.isdigit() and int(size) >= 2 for size in sizes.split(",")):
        raise UsageError(f"--sizes {sizes!r}: expected numbers from 2 on")
    bench = ProductsBench(
        tuple(map(int, sizes.split(","))),
        out,
        thread_count(threads),
        kinds,
        wanted,
        tuple(filter(None, march.split(","))),
        budget_seconds(budget),
        cc,
        tuple(session.environment.items()),
    )
    rows = bench_products(bench, lambda text: say(text, quiet))
    if json:
        print(products_document(rows))
    else:
        print(render_products(rows))
    return EXIT_DONE
