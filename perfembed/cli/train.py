"""`perfembed train …`: makes the models that searches and transfer use."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.database import Database, database_path
from perfembed.cli.options import Quiet, Traceback
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, DatabaseProblem, UsageError

app = typer.Typer(help="Train the models.", rich_markup_mode=None, no_args_is_help=True)
KINDS = ("boosted", "lstm")
CLASSIFIERS = ("cart", "forest")
SHARDS = "optdb/data/labels"
PROFILES = "optdb/data/profiles"


@app.command("cost")
def cost(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of labels.")] = Path(
        SHARDS
    ),
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Only write the labels of --db to a new shard.")
    ] = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help=f"One of {', '.join(KINDS)}.")] = "boosted",
    finetune: Annotated[
        bool,
        typer.Option("--finetune", help="Go on from the shipped weights with the labels of --db, for this machine."),
    ] = False,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the weights and their card go.")
    ] = Path("weights"),
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="Of the LSTM.")] = 60,
    without: Annotated[
        str | None,
        typer.Option(
            "--without", metavar="PART", help="An LSTM for comparison, without expressions, matrices or program."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    db: Database = None,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Train the model that predicts how much faster a schedule makes a nest."""
    session = context.ensure_object(Session)
    if model not in KINDS:
        raise UsageError(f"--model {model!r}: expected {' or '.join(KINDS)}")

    from optdb.errors import OptdbError
    from perfembed.learning.cost_models import ABLATIONS, train_cost_model, weights_path
    from perfembed.learning.training_data import drawn_labels, export_labels, is_generated, read_problems
    from profilers.scratch import scratch_folder

    if without is not None and (model != "lstm" or finetune or without not in ABLATIONS):
        raise UsageError(
            f"--without {without!r}: expected {' or '.join(ABLATIONS)}", "with --model lstm, and not with --finetune"
        )
    began = time.monotonic()
    path = database_path(db, session.environment) if export or finetune or db else None
    try:
        if export is not None:
            assert path is not None
            count = export_labels(path, export)
            free = drawn_labels(export)
            share = f", {free / count:.0%} of them of matrices, reversals, skews or shifts" if count else ""
            print(f"{count} labels in {export}{share}")
            return EXIT_DONE
        shards = [] if finetune else sorted(data.glob("*.parquet"))
        problems = tuple(p for p in read_problems(shards) if is_generated(p.group))  # others are for tests
        if path is not None:
            with scratch_folder() as folder:
                own = folder / "own.parquet"
                export_labels(path, own)
                problems += read_problems([own])
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    start = weights_path(model) if finetune else None

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    trained = train_cost_model(model, problems, seed, epochs, output, say, start, without)
    took = time.monotonic() - began
    print(f"{trained.path}: trained on {trained.labels} labels of {trained.nests} nests in {took:.0f} s")
    return EXIT_DONE


@app.command("embedding")
def embedding(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of profiles.")] = Path(
        PROFILES
    ),
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Only write the profiles of --db to a new shard.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the weights and their card go.")
    ] = Path("weights"),
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="At most so many.")] = 60,
    contrast: Annotated[
        float,
        typer.Option(
            "--contrast", metavar="W", min=0.0, help="Weight of what pulls donors together whose schedules are alike."
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    db: Database = None,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Train the network that embeds nests, on their profiles."""
    session = context.ensure_object(Session)

    from optdb.errors import OptdbError
    from perfembed.learning.training_profiles import export_profiles

    began = time.monotonic()
    if export is not None:
        path = database_path(db, session.environment)
        try:
            print(f"{export_profiles(path, export)} profiles in {export}")
        except OptdbError as problem:
            raise DatabaseProblem(problem.message, problem.advice) from None
        return EXIT_DONE

    from perfembed.retrieval.donors import donor_shards
    from perfembed.retrieval.space_training import train_embedding_model

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    shards = sorted(data.glob("*.parquet"))
    trained = train_embedding_model(shards, seed, epochs, output, say, donor_shards(), contrast)
    print(f"{trained}: trained in {time.monotonic() - began:.0f} s")
    return EXIT_DONE


@app.command("space")
def space(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the weights and their card go.")
    ] = Path("weights"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    traceback: Traceback = False,
) -> int:
    """Train the map that brings nests together whose good schedules are alike, on the donors that ship."""
    from perfembed.retrieval.donors import donor_shards
    from perfembed.retrieval.space_training import train_space

    began = time.monotonic()
    trained = train_space(donor_shards(), seed, output)
    print(f"{trained}: trained in {time.monotonic() - began:.0f} s")
    return EXIT_DONE


@app.command("surrogate")
def surrogate(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of labels.")] = Path(
        SHARDS
    ),
    classifier: Annotated[
        str, typer.Option("--classifier", metavar="NAME", help=f"One of {', '.join(CLASSIFIERS)}.")
    ] = "forest",
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the weights and their card go.")
    ] = Path("weights"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Train the classifier of schedules that are worth measuring, on the sampled matrices among the labels."""
    if classifier not in CLASSIFIERS:
        raise UsageError(f"--classifier {classifier!r}: expected {' or '.join(CLASSIFIERS)}")
    from perfembed.learning.surrogate import SHIPPED, of_matrices, surrogate_examples, trained_classifier
    from perfembed.learning.training_data import read_problems

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    began = time.monotonic()
    problems = read_problems(sorted(data.glob("*.parquet")))
    examples = surrogate_examples(of_matrices(problems), say)
    path = output / SHIPPED.name
    trained_classifier(examples, "cart" if classifier == "cart" else "forest", seed).save(path)
    print(f"{path}: trained on {len(examples.good)} schedules in {time.monotonic() - began:.0f} s")
    return EXIT_DONE
