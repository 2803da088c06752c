"""`perfembed bench costmodel`: how good the cost models are on what they never saw."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.cli.train import SHARDS
from perfembed.errors import EXIT_DONE, UsageError


def command(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of labels.")] = Path(
        SHARDS
    ),
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="DIR", help="Folder of the models.  [default: the shipped ones]")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Score the cost models on programs held out from training, and on the kernels."""
    from perfembed.bench.costmodel import run_costmodel
    from perfembed.bench.render_costmodel import costmodel_document, render_costmodel
    from perfembed.learning.cost_models import SHIPPED, load_cost_models
    from perfembed.learning.training_data import read_problems
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    folder = weights or SHIPPED
    models = load_cost_models(folder)
    if not models:
        raise UsageError(f"{folder}: there are no cost models", "perfembed train cost makes them")
    problems = read_problems(sorted(data.glob("*.parquet")))
    result = run_costmodel(problems, models, lambda text: say(text, quiet))
    print(costmodel_document(result) if json else render_costmodel(result, Style(session.color(sys.stdout))))
    return EXIT_DONE
