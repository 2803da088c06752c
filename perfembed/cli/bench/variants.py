"""`perfembed bench variants`: are nests found again after their file was rewritten?"""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files
from perfembed.cli.options import Json, Quiet, Seed, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE


def command(
    context: typer.Context,
    files: Files = None,
    count: Annotated[int, typer.Option("--variants", metavar="N", min=1, help="Variants in all.")] = 50,
    spellings: Annotated[
        int,
        typer.Option(
            "--spellings",
            metavar="N",
            min=0,
            help="Other ways to write each nest: loops in legal orders, sums and values in scalars.",
        ),
    ] = 5,
    tune: Annotated[
        str | None,
        typer.Option(
            "--tune",
            metavar="TIME",
            help="Tune every spelling of the nests that matter for so long, and compare how fast they end.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Rewrite programs (names, declarations, spelling) and look whether their nests find the originals as neighbours;
    write nests in other ways (legal orders of loops, sums and values in scalars) and look whether they get the same
    donors, and with --tune the same speed."""
    from perfembed.bench.contents import VariantsContent
    from perfembed.bench.nest_spellings import run_spellings
    from perfembed.bench.spread import SpellingTimes, run_spread
    from perfembed.bench.variants import run_variants
    from perfembed.learning.cost_models import load_cost_model
    from perfembed.report.documents import document
    from perfembed.report.style import seconds
    from perfembed.retrieval.retrieve import open_sources
    from perfembed.tuning.result import TuneOptions

    session = context.ensure_object(Session)
    environment = tuple(sorted(session.environment.items()))
    options = TuneOptions(threads=thread_count(threads), seed=seed, environment=environment)
    budget_s = budget_seconds(tune, "--tune") if tune is not None else 0.0
    paths = input_files(files)
    results = run_variants(paths, count, options, seed, lambda text: say(text, quiet))
    space, sources = open_sources(None)
    spelled = run_spellings(paths, spellings, options, seed, space, sources, lambda text: say(text, quiet))
    times: tuple[SpellingTimes, ...] = ()
    if budget_s:
        cost = load_cost_model()
        times = run_spread(paths, spellings, options, budget_s, space, sources, cost, lambda text: say(text, quiet))
    whole = sum(result.whole for result in results)
    nests, found = sum(r.nests for r in results), sum(r.found for r in results)
    if json:
        content: VariantsContent = {"variants": results, "spellings": spelled, "times": times, "whole": whole}
        print(document("bench-variants", content))
        return EXIT_DONE
    for result in results:
        if result.problem:
            print(f"{result.program}: {result.problem}")
    print(f"{whole} of {len(results)} variants found with all their nests; {found} of {nests} nests")
    if other := sum(result.spellings for result in spelled):
        first = sum(result.same_first for result in spelled)
        shared = sum(result.shared * result.spellings for result in spelled) / other
        print(
            f"{len(spelled)} nests in {other} other spellings: the same first donor in {first / other:.0%}, "
            f"{shared:.0%} of the five nearest donors the same"
        )
    for one in times:
        ended = ", ".join(seconds(value) for value in one.tuned)
        twice = f"the first one again {seconds(one.again)}, {one.noise:.0%} apart"
        head = f"{one.program}: {one.nest}: {seconds(one.original)} as written"
        print(f"{head}, tuned {ended}: {one.spread:.0%} apart; {twice}")
    if times:
        close, same = sum(one.spread <= 0.1 for one in times), sum(one.noise <= 0.1 for one in times)
        print(f"spellings of {close} of {len(times)} nests within 10 %; of {same} one spelling tuned twice")
    return EXIT_DONE
