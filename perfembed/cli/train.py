"""`perfembed train …`: makes the models that searches and transfer use."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.help import Command
from perfembed.cli.options import FLAGS, Given, takes
from perfembed.cli.output import say
from perfembed.errors import EXIT_DONE, DatabaseProblem, UsageError

app = typer.Typer(help="Train the models.", rich_markup_mode=None, no_args_is_help=True)
KINDS = ("boosted", "lstm")
CLASSIFIERS = ("cart", "forest")
SHARDS = "optdb/data/labels"
TRANSFERS = "optdb/data/transfers"
PROFILES = "optdb/data/profiles"


@app.command("cost", cls=Command)
@takes("seed", "database", "quiet")
def cost(
    given: Given,
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
) -> int:
    """Train the model that predicts how much faster a schedule makes a nest."""
    if model not in KINDS:
        raise UsageError(f"--model {model!r}: expected {' or '.join(KINDS)}")

    from optdb.errors import OptdbError
    from perfembed.learning.cost_models import ABLATIONS, train_cost_model, weights_path
    from perfembed.learning.training_data import drawn_labels, export_labels, is_generated, read_problems
    from profilers.contained.scratch import scratch_folder

    if without is not None and (model != "lstm" or finetune or without not in ABLATIONS):
        raise UsageError(
            f"--without {without!r}: expected {' or '.join(ABLATIONS)}", "with --model lstm, and not with --finetune"
        )
    if model == "lstm" and export is None:
        importlib.import_module("torch")  # which may be missing: that is said before data are read
    began = time.monotonic()
    path = given.database_path() if export or finetune or given.database else None
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

    trained = train_cost_model(
        model, problems, given.seed, epochs, output, lambda text: say(text, given.quiet), start, without
    )
    took = time.monotonic() - began
    print(f"{trained.path}: trained on {trained.labels} labels of {trained.nests} nests in {took:.0f} s")
    return EXIT_DONE


@app.command("embedding", cls=Command)
@takes("seed", "database", "quiet")
def embedding(
    given: Given,
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
) -> int:
    """Train the network that embeds nests, on their profiles."""

    from optdb.errors import OptdbError
    from perfembed.learning.training_profiles import export_profiles

    began = time.monotonic()
    if export is not None:
        path = given.database_path()
        try:
            print(f"{export_profiles(path, export)} profiles in {export}")
        except OptdbError as problem:
            raise DatabaseProblem(problem.message, problem.advice) from None
        return EXIT_DONE

    importlib.import_module("torch")
    from perfembed.retrieval.space_training import train_embedding_model

    shards = sorted(data.glob("*.parquet"))
    trained = train_embedding_model(shards, given.seed, epochs, output, lambda text: say(text, given.quiet))
    print(f"{trained}: trained in {time.monotonic() - began:.0f} s")
    return EXIT_DONE


@app.command("transfers", cls=Command)
@takes("seed", "threads", *FLAGS, "quiet", budget_s="8h")
def transfers(
    given: Given,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="C files with a main.", show_default=False)
    ] = None,
    generate: Annotated[
        int, typer.Option("--generate", metavar="N", min=0, help="And so many generated programs.")
    ] = 0,
    first: Annotated[
        int, typer.Option("--first", metavar="K", min=0, help="Of the generated ones, only from the K-th on.")
    ] = 0,
    spool: Annotated[Path, typer.Option("--spool", metavar="FILE", help="Where each nest is kept at once.")] = Path(
        "transfers.jsonl"
    ),
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Only write what was collected to a new Parquet shard."),
    ] = None,
    only_numbers: Annotated[
        bool,
        typer.Option("--bare", help="With --export: without texts and names, for programs that are not yours to give."),
    ] = False,
    sealed: Annotated[
        bool,
        typer.Option("--sealed", help="With --export: only algorithms kept for the very end of an evaluation."),
    ] = False,
) -> int:
    """Measure what the schedules of donors are worth at other nests: what retrieval is trained on and judged by.

    Of each nest every recipe among the anchors is asked, the nearest and some at random, and all that they lead to is
    run. That may be stopped and started again at any time.
    """
    from perfembed.learning.cost_models import load_boosted
    from perfembed.retrieval.cross_transfers import (
        bare,
        export_transfers,
        is_sealed,
        spooled,
        with_predictions,
        with_vectors,
    )
    from perfembed.retrieval.space_training import usable_space

    if export is not None:
        rows = with_vectors(with_predictions(spooled(spool), load_boosted()), usable_space())
        rows = tuple(bare(row) if only_numbers else row for row in rows if is_sealed(row.algorithm) == sealed)
        print(f"{export_transfers(rows, export)} nests in {export}")
        return EXIT_DONE
    from perfembed.learning.training_data import read_problems
    from perfembed.populating.asking import GENERATED, CollectOptions
    from perfembed.populating.programs import programs_of
    from perfembed.populating.transfers import collect_transfers
    from perfembed.retrieval.anchors import choose_anchors, read_anchors, write_anchors
    from perfembed.retrieval.donors import donor_shards, read_donors

    anchors = read_anchors()
    if not anchors:
        problems = read_problems(sorted(Path(SHARDS).glob("*.parquet")))
        anchors = choose_anchors(problems, read_donors(donor_shards()))
        write_anchors(anchors)
    programs = programs_of(files or (), generate, given.seed, GENERATED)
    programs = tuple(p for p in programs if p.number is None or p.number >= first)
    options = CollectOptions(
        anchors, given.seed, given.thread_count(), given.budget(), given.cc, given.flags, given.environment
    )
    done = collect_transfers(programs, options, spool, lambda text: say(text, given.quiet))
    print(f"{done.nests} nests, {done.labels} labels of {done.trees} trees in {done.seconds:.0f} s: {spool}")
    return EXIT_DONE


@app.command("portfolio", cls=Command)
@takes("quiet")
def portfolio(
    given: Given,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of transfers.")] = Path(
        TRANSFERS
    ),
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where it goes: beside the donors that ship.")
    ] = Path("."),
) -> int:
    """Choose the recipes that are tried at every nest beside those of its neighbours, by what `transfers` measured."""
    from perfembed.retrieval.cross_transfers import DISTURBED, read_transfers
    from perfembed.retrieval.donors import donor_shards, read_donors
    from perfembed.retrieval.portfolio import SIZE, constant_portfolio, write_portfolio

    rows = [row for row in read_transfers(sorted(data.glob("*.parquet"))) if row.other_load <= DISTURBED]
    if not rows:
        raise UsageError(f"{data} has no transfers", "perfembed train transfers measures some")
    chosen = constant_portfolio(rows, read_donors(donor_shards()))[:SIZE]
    print(f"{len(chosen)} recipes, best at {len(rows)} nests together, in {write_portfolio(chosen, output)}")
    return EXIT_DONE


@app.command("surrogate", cls=Command)
@takes("seed", "quiet")
def surrogate(
    given: Given,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of Parquet shards of labels.")] = Path(
        SHARDS
    ),
    classifier: Annotated[
        str, typer.Option("--classifier", metavar="NAME", help=f"One of {', '.join(CLASSIFIERS)}.")
    ] = "forest",
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the weights and their card go.")
    ] = Path("weights"),
) -> int:
    """Train the classifier of schedules that are worth measuring, on the sampled matrices among the labels."""
    if classifier not in CLASSIFIERS:
        raise UsageError(f"--classifier {classifier!r}: expected {' or '.join(CLASSIFIERS)}")
    from perfembed.learning.surrogate import SHIPPED, of_matrices, surrogate_examples, trained_classifier
    from perfembed.learning.training_data import read_problems

    began = time.monotonic()
    problems = read_problems(sorted(data.glob("*.parquet")))
    examples = surrogate_examples(of_matrices(problems), lambda text: say(text, given.quiet))
    path = output / SHIPPED.name
    trained_classifier(examples, "cart" if classifier == "cart" else "forest", given.seed).save(path)
    print(f"{path}: trained on {len(examples.good)} schedules in {time.monotonic() - began:.0f} s")
    return EXIT_DONE
