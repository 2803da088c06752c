"""`perfembed bench surrogate`: how well the classifier tells schedules that are worth measuring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Seed, Traceback
from perfembed.cli.say import say
from perfembed.cli.train import SHARDS
from perfembed.errors import EXIT_DONE, EnvironmentMissing


def command(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of labels.")] = Path(
        SHARDS
    ),
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Score classifiers of schedules by leave-p-out and k-fold, and from generated programs to the kernels."""
    from perfembed.bench.render_surrogate import render_surrogate, surrogate_document
    from perfembed.bench.surrogate import run_surrogate
    from perfembed.learning.cost_models import load_cost_model
    from perfembed.learning.training_data import read_problems

    try:
        model = load_cost_model()
    except EnvironmentMissing:
        model = None
    problems = read_problems(sorted(data.glob("*.parquet")))
    result = run_surrogate(problems, model, seed, lambda text: say(text, quiet))
    print(surrogate_document(result) if json else render_surrogate(result))
    return EXIT_DONE
