"""`perfembed bench index`: how fast and how exact the search for neighbours is."""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.options import Json, Seed, Traceback
from perfembed.errors import EXIT_DONE


def command(
    vectors: Annotated[int, typer.Option("--vectors", metavar="N", min=10, help="Vectors in the index.")] = 1_000_000,
    queries: Annotated[int, typer.Option("--queries", metavar="N", min=1, help="Queries, one after another.")] = 1000,
    dimension: Annotated[
        int, typer.Option("--dimension", metavar="N", min=1, max=4096, help="Numbers a vector.")
    ] = 128,
    exact: Annotated[
        bool | None, typer.Option("--exact/--approximate", help="By default as many vectors would have it.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Time the nearest-neighbour index on synthetic clusters, and count what it misses."""
    from perfembed.bench.index import bench_index
    from perfembed.report.documents import document

    found = bench_index(vectors, dimension, seed, queries, exact)
    if json:
        print(document("bench-index", found))
        return EXIT_DONE
    kind = "exact" if found.exact else "HNSW"
    print(f"{found.count} vectors of {found.dimension} numbers, {kind}, built in {found.build_s:.1f} s")
    print(f"query p50 {found.p50_ms:.3f} ms, p99 {found.p99_ms:.3f} ms, {queries} queries")
    print(f"recall@10 {found.recall_at_10:.4f}, {found.bytes / 2**20:.0f} MiB")
    return EXIT_DONE
