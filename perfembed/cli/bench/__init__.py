"""`perfembed bench …`: what perfembed claims about itself, measured and checked again."""

from __future__ import annotations

import typer

from perfembed.cli.bench import (
    bounds,
    costmodel,
    counters,
    database,
    datasets,
    embedding,
    forms,
    index,
    interrupted,
    kernels,
    legality,
    methods,
    openmp,
    population,
    products,
    programs,
    replay,
    spelling,
    startup,
    surrogate,
    timing,
    variants,
    written,
)

app = typer.Typer(help="Measure and check perfembed itself.", rich_markup_mode=None, no_args_is_help=True)
app.command("kernels")(kernels.command)
app.command("products")(products.command)
app.command("replay")(replay.command)
app.command("legality")(legality.command)
app.command("spelling")(spelling.command)
app.command("forms")(forms.command)
app.command("bounds")(bounds.command)
app.command("timing")(timing.command)
app.command("startup")(startup.command)
app.command("counters")(counters.command)
app.command("costmodel")(costmodel.command)
app.command("surrogate")(surrogate.command)
app.command("database")(database.command)
app.command("population")(population.command)
app.command("interrupted")(interrupted.command)
app.command("transfer")(methods.transfer)
app.command("search")(methods.search)
app.command("datasets")(datasets.command)
app.command("embedding")(embedding.command)
app.command("index")(index.command)
app.command("variants")(variants.command)
app.command("written")(written.command)
app.command("programs")(programs.command)
app.command("openmp")(openmp.command)
