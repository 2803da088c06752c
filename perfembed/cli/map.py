"""`perfembed db map [FILE]`: the embedding space as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.help import examples
from perfembed.cli.options import COMPILED, Given, takes
from perfembed.errors import EXIT_DONE, UsageError
from perfembed.files import read_input

EXAMPLES = examples("perfembed db map gemm.c -o map.html", "perfembed db map --no-db")


@takes(*COMPILED, "seed", "database", "no_db")
def command(
    given: Given,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A C file whose nests are shown, too.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Where the page goes.")] = Path(
        "map.html"
    ),
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Draw the nodes of FILE's graphs (loops, arrays, statements) instead.")
    ] = False,
) -> int:
    """Draw all nests of the database by their embedding, with those of a C file among them.

    Near each other lie nests that are and behave alike. One self-contained page: colours tell the speedup, the
    algorithm, whether a kind of transformation is in the best schedule, or a metric as the model predicts it; pointing
    at a nest shows it. The nests of the database are laid out once, a file's are placed among their nearest neighbours.
    Nothing is compiled or run.
    """
    if not output.parent.is_dir():
        raise UsageError(f"--output {output}: there is no folder {output.parent}")
    if nodes and file is None:
        raise UsageError("--nodes: of which file?")
    options = given.tune_options()

    from perfembed.mapping.embed_file import embed_file, place_source
    from perfembed.mapping.plane import map_points, node_points
    from perfembed.report.map_page import map_page
    from perfembed.retrieval.retrieve import open_sources

    if nodes and file is not None:
        embedded = embed_file(file, options)
        points = node_points(embedded, file, given.seed)
        title = f"{len(points)} nodes of {len(embedded)} nests of {file}"
    else:
        space, sources = open_sources(Path(options.database) if options.database is not None else None, strict=True)
        own = place_source(file, read_input(file), options, space) if file is not None else ()
        points = map_points(sources, own, file or "", space, given.seed, given.cache())
        # What cannot be analysed has no place.
        shown = sum(nest.vector is not None for nest in own)
        title = f"{len(points) - shown} nests of the database" + (f" and {shown} of {file}" if file else "")
    try:
        output.write_text(map_page(points, title, "kind" if nodes else "algorithm"), encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"--output {output}: {problem.strerror}") from None
    print(f"{output}: {title}")
    return EXIT_DONE
