"""`perfembed tune FILES`: searches faster loops, proves, measures and checks them, and writes the faster files."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from perfembed.cli.building import Files, Places, how_built, named_files, output_places
from perfembed.cli.help import examples
from perfembed.cli.options import COMPILED, WORLD, Given, takes
from perfembed.cli.output import print_lines, print_sarif, style_of, write_page
from perfembed.errors import UsageError
from perfembed.files import check_output, read_input
from perfembed.report.style import one_line

if TYPE_CHECKING:
    from perfembed.tuning.options import TuneOptions
    from perfembed.tuning.result import TuneResult

EXAMPLES = examples(
    "perfembed tune gemm.c -o fast.c",
    "perfembed tune program.c -DN=2000 --budget 2m --report page.html -- input.dat 100",
    "perfembed tune src/*.c --build 'make prog' --run './prog input.dat' --output-dir tuned",
    "perfembed tune gemm.c --search beam --threads 1 --json > result.json",
)


@takes(
    *("output", "output_folder", "in_place", "dry_run", "build", "run", "compile_commands", *COMPILED, *WORLD),
    *("check_file", "tolerance", "expect_exit", "search", "evaluate", "schedules", "profiling", "guard"),
    *("neighbours", "same", "without", "measure", "budget_s", "reassociate", "trust_openmp", "seed", "database"),
    *("no_db", "weights", "report", "json", "form", "quiet", "verbose"),
)
def command(given: Given, files: Files = None) -> int:
    """Make the loops of C files faster.

    Finds schedules for each loop nest (those of similar nests, or by a search), proves them legal, measures them
    against the original, checks that the program computes the same, and writes the faster C files with the reason for
    every decision.
    """
    form = given.output_format()
    if form == "sarif" and not given.dry_run:
        raise UsageError("--format sarif says what a file misses", "add --dry-run")
    given.check_volume()
    named = named_files(files, given.build)
    if form == "sarif" and len(named) != 1:
        raise UsageError("--format sarif takes one file")

    options = given.tune_options(began_s=given.session.began, pictures=given.json or given.report is not None)
    contents = [read_input(file) for file in named]
    places = _places(given, named)
    result = _tuned(given, named, replace(options, output=places.output, output_folder=places.folder))
    _print(given, form, result, named[0] if named else "", contents[0] if contents else b"")
    return result.exit_code


def _places(given: Given, named: list[str]) -> Places:
    """Where the tuned files go, once nothing speaks against it. Raises UsageError."""

    places = output_places(named, given.output, given.output_folder, given.in_place, given.dry_run)
    report = given.report
    for file in named:
        check_output(file, places.output, given.in_place)
        if report is not None:
            check_output(file, report, False)
    if places.output is not None and report is not None and os.path.realpath(report) == os.path.realpath(places.output):
        raise UsageError(f"--report {report}: the tuned file goes there")
    return places


def _tuned(given: Given, named: list[str], options: TuneOptions) -> TuneResult:
    # What takes other processes a while is begun before this one imports the rest.
    from profilers.contained.supervisor import prepare_supervisor
    from scheduler.frontend.parsing import prepare_parser

    prepare_supervisor(given.session.environment.get("PATH", os.defpath))
    prepare_parser()

    from perfembed.cli.progress import progress_on
    from perfembed.tuning.file_tuner import tune
    from perfembed.tuning.opening import tune_project

    color = given.session.color(sys.stderr)
    with progress_on(sys.stderr, color, quiet=given.quiet, verbose=given.verbose) as progress:
        how = how_built(given, named)
        return tune(named[0], options, progress) if how is None else tune_project(named, how, options, progress)


def _print(given: Given, form: str, result: TuneResult, file: str, content: bytes) -> None:
    style = style_of(given.session)
    if form == "sarif":
        from perfembed.report.findings import tuning_findings

        print_sarif(tuning_findings(result), file, content)
    elif form == "remarks":
        from perfembed.report.findings import tuning_remarks

        print_lines(tuning_remarks(result))
    elif form == "json":
        from perfembed.report.documents import tune_document

        print(tune_document(result))
    else:
        from perfembed.report.terminal import render_result

        print(render_result(result, style, quiet=given.quiet, verbose=given.verbose))
    if given.report is not None:
        from perfembed.report.tuning_page import tuning_page

        sys.stdout.flush()  # what was found is known, whatever becomes of its picture
        drawn = write_page(given.report, lambda: tuning_page(result), "perfembed tune", given.session)
        if drawn and form == "text" and not given.quiet:
            print(f"{style.paint('report'.ljust(9), 'bold')}{one_line(given.report)}")
