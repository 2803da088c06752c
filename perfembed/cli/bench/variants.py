"""`perfembed bench variants`: are nests found again after their file was rewritten?"""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files, say
from perfembed.cli.options import Json, Quiet, Seed, Threads, Traceback, thread_count
from perfembed.errors import EXIT_DONE


def command(
    files: Files = None,
    count: Annotated[int, typer.Option("--variants", metavar="N", min=1, help="Variants in all.")] = 50,
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Rewrite programs (names, order, spelling) and look whether their nests find the originals as neighbours."""
    from perfembed.bench.contents import VariantsContent
    from perfembed.bench.variants import run_variants
    from perfembed.report.documents import document
    from perfembed.tuning.result import TuneOptions

    options = TuneOptions(threads=thread_count(threads))
    results = run_variants(input_files(files), count, options, seed, lambda text: say(text, quiet))
    whole = sum(result.whole for result in results)
    nests, found = sum(r.nests for r in results), sum(r.found for r in results)
    if json:
        content: VariantsContent = {"variants": results, "whole": whole}
        print(document("bench-variants", content))
        return EXIT_DONE
    for result in results:
        if result.problem:
            print(f"{result.program}: {result.problem}")
    print(f"{whole} of {len(results)} variants found with all their nests; {found} of {nests} nests")
    return EXIT_DONE
