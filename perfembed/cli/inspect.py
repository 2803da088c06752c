"""`perfembed inspect FILE`: the nests of a file, what each loop allows, and what was refused and why."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.building import how_built
from perfembed.cli.help import examples
from perfembed.cli.options import FLAGS, WORLD, Given, takes
from perfembed.cli.output import print_lines, print_sarif
from perfembed.cli.texts import compiler_flags
from perfembed.errors import EXIT_DONE, EXIT_NO_NEST, EXIT_NOT_READ, UsageError
from perfembed.files import check_output, read_input, write_output
from perfembed.report.style import Style
from perfembed.tuning.options import OUTPUT, TuneOptions

if TYPE_CHECKING:
    from perfembed.inspection.inspect_file import Inspection
    from perfembed.inspection.shares import RunShares
    from scheduler.frontend import ParseOptions

EXAMPLES = examples(
    "perfembed inspect gemm.c --function gemm",
    "perfembed inspect src/*.c --summary --run './prog input.dat'",
    "perfembed inspect gemm.c --fix | patch -p1",
)


@takes("functions", *FLAGS, "json", "form", "run", "build", "compile_commands", *WORLD, "verbose", cflags="")
def command(
    given: Given,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="The C file; several with --summary.", show_default=False)
    ],
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="Only how many loops were refused for which reason, and with --run what that costs (text).",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    print_after: Annotated[
        str,
        typer.Option(
            metavar="PASS",
            help="Only what this pass of the front end leaves of each function; `list` names them.",
            rich_help_panel=OUTPUT,
        ),
    ] = "",
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Only a patch (unified diff) that makes refused loops readable, and on stderr what it changes. "
            "The file stays as it is.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe",
            help="With --fix: also what computes the same under a condition only, which is said.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="With --fix: the file with the fixes goes here, instead of a patch to stdout.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
) -> int:
    """Show the loop nests of a C file, or with --summary of the files of a program.

    For each nest its IR, its dependences, and which loops are parallel, permutable, reductions or
    vectorizable; for each nest that is refused where, why, and what would make it tunable. As sarif and as
    remarks only the latter. With --fix a patch that does what the advice says, where that is mechanical and the loop
    is read then. With --run (or --build) the program is run in a copy of its folder, and what share of its
    time each loop takes is said by --summary and --json, and by --fix of each fix.
    """
    form = given.output_format()

    from perfembed.inspection.inspect_file import inspect_source
    from perfembed.reading import read_files
    from perfembed.report.inspection import (
        inspection_document,
        render_inspection,
        render_program_refusals,
        render_refusals,
    )
    from scheduler.frontend import ParseOptions

    if fix or unsafe or output is not None:
        if summary or print_after or form != "text":
            raise UsageError("--fix makes a patch of one file, and nothing else", "ask for one thing at a time")
        return _fixed(given, files, fix, unsafe, output)
    if len(files) > 1 and (not summary or form != "text"):
        raise UsageError("several files are only summed up, as text", "add --summary, or give one file")
    contents = [read_input(one) for one in files]
    if print_after:
        options = ParseOptions(given.flags, given.cc, print_after=print_after)
        print_functions(files, contents, options, tuple(given.functions or ()))
        return EXIT_DONE
    file, content = files[0], contents[0]
    style = Style(given.session.color(sys.stdout))
    if given.run is None and given.build is None:
        if any(given.values[name] for name in (*WORLD, "compile_commands") if name != "run_limit") or given.program:
            raise UsageError("what the program is given is said, but not that it is run", "add --run './prog args'")
        parsed, only = ParseOptions(given.flags, given.cc), tuple(given.functions or ())
        sources = read_files(zip(files, contents, strict=True), parsed)
        found = [inspect_source(one, only, analysed=not (summary and form == "text")) for one in sources]
    else:
        if not (summary or form == "json"):
            raise UsageError("--run and --build say what loops cost", "add --summary or --json")
        several, shares = _with_shares(given, files, analysed=not (summary and form == "text"))
        found = list(several)
        if len(files) > 1:
            print(render_program_refusals(found, shares, style))
            return _exit_code(found)
    inspection = found[0]
    if form == "sarif":
        from perfembed.report.findings import inspection_findings

        print_sarif(inspection_findings(inspection), file, content)
    elif form == "remarks":
        from perfembed.report.findings import inspection_remarks

        print_lines(inspection_remarks(inspection))
    elif form == "json":
        print(inspection_document(inspection))
    elif summary:
        print("\n\n".join(render_refusals(one, style) for one in found))
    else:
        print(render_inspection(inspection, style, verbose=given.verbose))
    return _exit_code(found)


def _fixed(given: Given, files: list[str], fix: bool, unsafe: bool, output: str | None) -> int:
    """A patch, or a file, and on stderr what was done. Raises PerfembedError."""
    from perfembed.inspection.fixing import fix_file
    from perfembed.report.fixes import render_fixes
    from scheduler.frontend import ParseOptions

    if not fix:
        raise UsageError("--unsafe and -o go with --fix", "add --fix")
    if len(files) > 1:
        raise UsageError("--fix makes a patch of one file", "give one file")
    (file,) = files
    content = read_input(file)
    if output is not None and os.path.realpath(output) == os.path.realpath(file):
        raise UsageError(f"{output}: the output is the input file", f"perfembed inspect {file} --fix | patch -p1")
    check_output(file, output, False)
    run = None
    if given.run is not None or given.build is not None:
        (found,), _ = _with_shares(given, files, analysed=False)
        run = found.run
    options = ParseOptions(given.flags, given.cc)
    fixed = fix_file(file, content, options, tuple(given.functions or ()), unsafe=unsafe)
    print(render_fixes(fixed, run, Style(given.session.color(sys.stderr))), file=sys.stderr)
    if output is not None:
        write_output(output, fixed.content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(fixed.diff())
        sys.stdout.buffer.flush()
    return EXIT_DONE if fixed.complete else EXIT_NOT_READ


def print_functions(
    files: Sequence[str], contents: Sequence[bytes], options: ParseOptions, only: Sequence[str]
) -> None:
    """What a pass leaves of functions, all or `only` those."""
    from scheduler.frontend import read_source
    from scheduler.frontend.pipeline import NAMES

    if options.print_after == "list":
        print("\n".join(NAMES))
        return
    if options.print_after not in NAMES:
        raise UsageError(f"the front end has no pass '{options.print_after}'", f"one of: {', '.join(NAMES)}")
    for file, content in zip(files, contents, strict=True):
        printed = read_source(file, options, content).printed
        print("\n\n".join(text for name, text in printed if not only or name in only))


def _with_shares(given: Given, files: list[str], analysed: bool) -> tuple[Sequence[Inspection], RunShares]:
    """The files, and what share of a run each loop took. Raises PerfembedError."""
    from perfembed.cli.progress import progress_on
    from perfembed.profiling.run_shares import inspect_run
    from perfembed.tuning.result import Message

    cflags = given.cflags if given.said("cflags") else " ".join(TuneOptions().cflags)
    flags = compiler_flags(cflags, given.define, given.include, given.std)
    options = given.tune_options(cflags=flags)
    color = given.session.color(sys.stderr)
    with progress_on(sys.stderr, color, quiet=False, verbose=given.verbose) as progress:
        return inspect_run(files, how_built(given, files), options, lambda text: progress(Message(text)), analysed)


def _exit_code(found: Sequence[Inspection]) -> int:
    """What there was no time for is said in any format."""
    for one in found:
        if not one.complete:
            print(f"perfembed inspect: {one.path}: {one.warnings[-1]}", file=sys.stderr)
    if not all(one.complete for one in found):
        return EXIT_NOT_READ
    return EXIT_DONE if any(one.nests for one in found) else EXIT_NO_NEST
