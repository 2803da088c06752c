"""`perfembed bench embedding`: how good the performance embedding is on what it never saw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Traceback
from perfembed.cli.train import PROFILES
from perfembed.errors import EXIT_DONE, UsageError


def command(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of profiles.")] = Path(
        PROFILES
    ),
    weights: Annotated[
        Path | None,
        typer.Option("--weights", metavar="DIR", help="Folder of the weights.  [default: shipped]"),
    ] = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Score the embedding on the profiles of real programs: predicted metrics, how alike neighbours perform,
    how alike the good schedules of neighbours are, and what they are worth."""
    from perfembed.bench.embedding import score_embedding
    from perfembed.bench.render_embedding import embedding_document, render_embedding
    from perfembed.embedding.network.interface import machine_numbers
    from perfembed.learning.cost_models import SHIPPED, load_lstm, weights_path
    from perfembed.learning.training_profiles import read_examples, read_profiles
    from perfembed.retrieval.donations import read_donations
    from perfembed.retrieval.donors import donor_shards, read_donors
    from perfembed.retrieval.space_training import is_for_tests, usable_space

    space = usable_space(weights or SHIPPED)
    shards = sorted(data.glob("*.parquet"))
    examples = [e for e in read_examples(shards, machine_numbers) if is_for_tests(e)]
    if not examples:
        raise UsageError(f"{data}: no profiles of real programs", "perfembed populate FILES --profiles makes them")
    donors = list(read_donors(donor_shards()).values())
    lstm = load_lstm(weights_path("lstm")) if weights_path("lstm").exists() else None
    donations = read_donations(sorted(data.with_name("donations").glob("*.parquet")))
    scores = score_embedding(space, examples, donors, read_profiles(shards), lstm, donations)
    print(embedding_document(scores) if json else render_embedding(scores))
    return EXIT_DONE
