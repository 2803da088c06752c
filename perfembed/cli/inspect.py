"""`perfembed inspect FILE`: the nests of a file, what each loop allows, and what was refused and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.building import BuildOption, CompileCommands, RunCommand, how_built, run_arguments
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    Format,
    Functions,
    Includes,
    Json,
    Standard,
    Traceback,
    Verbose,
    compiler_flags,
    output_format,
)
from perfembed.cli.places import print_lines, print_sarif
from perfembed.cli.session import Session
from perfembed.cli.world import Args, Env, RunLimit, Stdin, Workdir, Writable, world_of
from perfembed.errors import EXIT_DONE, EXIT_NO_NEST, EXIT_NOT_READ, UsageError

if TYPE_CHECKING:
    from perfembed.inspection.inspect_file import Inspection
    from scheduler.frontend import ParseOptions


def command(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="The C file; several with --summary.", show_default=False)
    ],
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = "",
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    json: Json = False,
    format_: Format = "text",
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="Only how many loops were refused for which reason, and with --run what that costs (text).",
        ),
    ] = False,
    print_after: Annotated[
        str,
        typer.Option(
            metavar="PASS", help="Only what this pass of the front end leaves of each function; `list` names them."
        ),
    ] = "",
    run: RunCommand = None,
    build: BuildOption = None,
    compile_commands: CompileCommands = None,
    args: Args = "",
    stdin: Stdin = None,
    env: Env = None,
    workdir: Workdir = None,
    run_limit: RunLimit = "60s",
    writable: Writable = None,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Show the loop nests of a C file, or with --summary of the files of a program.

    For each nest its IR, its dependences, and which loops are parallel, permutable, reductions or
    vectorizable; for each nest that is refused where, why, and what would make it tunable. As sarif and as
    remarks only the latter. With --run (or --build) the program is run in a copy of its folder, and what share of its
    time each loop takes is said by --summary and --json.
    """
    session = context.ensure_object(Session)
    form = output_format(session, format_, json)
    flags = compiler_flags(cflags, define, include, std)

    from perfembed.cli.progress import progress_on
    from perfembed.files import read_input
    from perfembed.inspection.inspect_file import inspect_file
    from perfembed.profiling.run_shares import inspect_run
    from perfembed.report.inspection import inspection_document, render_inspection
    from perfembed.report.refusals import render_program_refusals, render_refusals
    from perfembed.report.style import Style
    from perfembed.tuning.result import Message, TuneOptions
    from scheduler.frontend import ParseOptions

    if len(files) > 1 and (not summary or form != "text"):
        raise UsageError("several files are only summed up, as text", "add --summary, or give one file")
    contents = [read_input(one) for one in files]
    if print_after:
        print_functions(files, contents, ParseOptions(flags, cc, print_after=print_after), tuple(function or ()))
        return EXIT_DONE
    file, content = files[0], contents[0]
    style = Style(session.color(sys.stdout))
    if run is None and build is None:
        given = (args, stdin, env, workdir, writable, compile_commands)
        if any(given):
            raise UsageError("what the program is given is said, but not that it is run", "add --run './prog args'")
        parsed, only = ParseOptions(flags, cc), tuple(function or ())
        found = [inspect_file(one, text, parsed, only) for one, text in zip(files, contents, strict=True)]
    else:
        if not (summary or form == "json"):
            raise UsageError("--run and --build say what loops cost", "add --summary or --json")
        source = context.get_parameter_source("cflags")
        if source is None or source.name == "DEFAULT":
            flags = compiler_flags(DEFAULT_CFLAGS, define, include, std)
        world = world_of(args, stdin, env, workdir, None, 0.0, run_limit, writable)
        options = TuneOptions(
            functions=tuple(function or ()),
            cc=cc,
            cflags=flags,
            world=replace(world, arguments=run_arguments(run, args)),
            environment=tuple(sorted(session.environment.items())),
        )
        how = how_built(context, files, build, run, compile_commands, define, include, std)
        with progress_on(sys.stderr, session.color(sys.stderr), quiet=False, verbose=verbose) as progress:
            several, shares = inspect_run(files, how, options, lambda text: progress(Message(text)))
        found = list(several)
        if len(files) > 1:
            print(render_program_refusals(found, shares, style))
            return _exit_code(found)
    inspection = found[0]
    if form == "sarif":
        from perfembed.report.findings import inspection_findings

        print_sarif(inspection_findings(inspection), file, content)
    elif form == "remarks":
        from perfembed.report.remarks import inspection_remarks

        print_lines(inspection_remarks(inspection))
    elif form == "json":
        print(inspection_document(inspection))
    elif summary:
        print("\n\n".join(render_refusals(one, style) for one in found))
    else:
        print(render_inspection(inspection, style, verbose=verbose))
    return _exit_code(found)


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


def _exit_code(found: Sequence[Inspection]) -> int:
    """What there was no time for is said in any format."""
    for one in found:
        if not one.complete:
            print(f"perfembed inspect: {one.path}: {one.warnings[-1]}", file=sys.stderr)
    if not all(one.complete for one in found):
        return EXIT_NOT_READ
    return EXIT_DONE if any(one.nests for one in found) else EXIT_NO_NEST
