"""The options of all commands: those of `TuneOptions`, and what goes with them on the command line.

Long, because every option that two commands share is declared here or there, and nowhere else.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

import typer

from perfembed.cli.folders import cache_path, database_path, optional_database
from perfembed.cli.help import AFTER, HELP, show_all
from perfembed.cli.session import Session
from perfembed.cli.texts import budget_seconds, compiler_flags, parameter_values, thread_count, weights_folder, world_of
from perfembed.errors import UsageError
from perfembed.tuning.options import DATABASE, OUTPUT, PROGRAM, RUN, TuneOptions, asked_options, declared

if TYPE_CHECKING:
    from perfembed.world import World

Format = Literal["text", "json", "sarif", "remarks"]


def _set_json(context: typer.Context, value: bool) -> bool:
    context.ensure_object(Session).json = value
    return value


def _set_traceback(context: typer.Context, value: bool) -> bool:
    session = context.ensure_object(Session)
    session.traceback = session.traceback or value
    return value


def _texts(option: str, metavar: str, text: str, panel: str, hidden: bool = False) -> Any:
    shown = typer.Option(option, metavar=metavar, help=text, rich_help_panel=panel, hidden=hidden, show_default=False)
    return Annotated[list[str] | None, shown], None


def _text(option: str, metavar: str, text: str, panel: str, hidden: bool = False, default: str | None = None) -> Any:
    shown = typer.Option(
        option, metavar=metavar, help=text, rich_help_panel=panel, hidden=hidden, show_default=bool(default)
    )
    return Annotated[str if default is not None else str | None, shown], default


def _flag(
    *options: str,
    text: str,
    panel: str | None = OUTPUT,
    hidden: bool = False,
    callback: Callable[..., bool] | None = None,
) -> Any:
    shown = typer.Option(
        *options, is_eager=callback is not None, callback=callback, help=text, rich_help_panel=panel, hidden=hidden
    )
    return Annotated[bool, shown], False


_OWN: Mapping[str, tuple[Any, Any]] = {
    "define": _texts("-D", "NAME[=VALUE]", "Define a macro.", PROGRAM),
    "include": _texts("-I", "DIR", "Add a folder of headers.", PROGRAM),
    "std": _text("-std", "NAME", "The C standard, such as c99.", PROGRAM, True),
    "build": _text(
        "--build",
        "COMMAND",
        "What builds the program in this folder, such as 'make prog'; it is run in copies of it.",
        PROGRAM,
    ),
    "compile_commands": _text(
        "--compile-commands",
        "JSON",
        "How the files are compiled.  [default: compile_commands.json, where it names one of them]",
        PROGRAM,
        True,
    ),
    "run": _text("--run", "COMMAND", "How the program is started, such as './prog args'.", RUN),
    "args": _text("--args", "ARGS", "Arguments the program is run with; also: -- ARGS, at the end.", RUN, default=""),
    "stdin": _text("--stdin", "FILE", "What the program reads as its input.", RUN),
    "env": _texts("--env", "NAME=VALUE", "A variable of the program's (repeatable).", RUN, True),
    "directory": _text(
        "--workdir",
        "DIR",
        "The folder that the program runs in, or rather in a copy of it.  [default: the current one]",
        RUN,
        True,
    ),
    "check_file": _texts(
        "--check-file",
        "PATH",
        "A file that the program writes and that has to be the same (repeatable).  [default: all in its folder that "
        "two runs of the original leave alike]",
        RUN,
        True,
    ),
    "tolerance": (
        Annotated[
            float,
            typer.Option(
                "--tolerance",
                metavar="X",
                help="By how much, relative, numbers in what the program prints and writes may differ.",
                rich_help_panel=RUN,
                hidden=True,
            ),
        ],
        0.0,
    ),
    "run_limit": _text("--run-limit", "TIME", "How long one run of the program may take.", RUN, True, "60s"),
    "writable": _texts(
        "--writable", "DIR", "A folder outside of its own that the program may write to (repeatable).", RUN, True
    ),
    "no_db": (
        Annotated[bool, typer.Option("--no-db", help="Neither read nor write the database.", rich_help_panel=DATABASE)],
        False,
    ),
    "report": _text("--report", "OUT", "Also write one self-contained HTML page.", OUTPUT),
    "json": _flag("--json", text="Print one JSON document instead of text.", callback=_set_json),
    "form": (
        Annotated[
            Format,
            typer.Option(
                "--format",
                metavar="NAME",
                help="text, json, sarif (for editors and code review) or remarks (like a compiler's).",
                rich_help_panel=OUTPUT,
                hidden=True,
            ),
        ],
        "text",
    ),
    "quiet": _flag("-q", "--quiet", text="No progress, and only the summary."),
    "verbose": _flag("-v", "--verbose", text="Say more."),
    "traceback": _flag(
        "--traceback",
        text="Show the traceback of an error (also: PERFEMBED_TRACEBACK=1).",
        hidden=True,
        callback=_set_traceback,
    ),
    "help_all": _flag("--help-all", text="Show all options, also rarely needed ones.", panel=HELP, callback=show_all),
}
FLAGS = ("cc", "cflags", "define", "include", "std")
COMPILED = ("functions", *FLAGS, "parameters", "threads")
WORLD = ("args", "stdin", "env", "directory", "run_limit", "writable")
File = Annotated[str, typer.Argument(metavar="FILE", help="The C file.", show_default=False)]


@functools.cache
def _shared() -> Mapping[str, tuple[Any, Any]]:
    """Annotation and default of every option that commands share."""
    found = dict(_OWN)
    for name, (kind, default, option) in declared().items():
        if option.kind is not None:
            kind, default = option.kind, option.default
        elif get_origin(kind) is tuple:
            kind, default = list[str] | None, None
        shown = typer.Option(
            *option.names,
            metavar=option.metavar,
            help=option.help,
            rich_help_panel=option.panel,
            hidden=option.hidden,
            min=option.least,
            max=option.most,
            show_default=default is not None,
        )
        found[name] = (Annotated[kind, shown], default)
    return found


def takes(*names: str, **changed: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command with these shared options besides its own: it gets what was given as `given`, a `Given`.

    `changed`: options whose defaults are others here.
    """
    wanted = {name: _shared()[name] for name in dict.fromkeys((*names, *changed, "traceback", "help_all"))}

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name not in ("context", "given")]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter("context", kind, annotation=typer.Context),
            *(one.replace(kind=kind) for one in own),
            *(
                inspect.Parameter(name, kind, default=changed.get(name, default), annotation=annotation)
                for name, (annotation, default) in wanted.items()
            ),
        ]

        @functools.wraps(function)
        def command(context: typer.Context, **values: Any) -> int:
            given = Given(context, {name: values.pop(name) for name in wanted})
            return function(given, **values)

        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


class Given:
    """What a command line says of the options that commands share, by their names; texts become values when read."""

    def __init__(self, context: typer.Context, values: Mapping[str, Any]) -> None:
        self.context, self.values = context, values
        self.session = context.ensure_object(Session)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def environment(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self.session.environment.items()))

    @property
    def flags(self) -> tuple[str, ...]:
        """Of the compiler. Raises UsageError."""
        return compiler_flags(self.cflags, self.define, self.include, self.std)

    @property
    def own_flags(self) -> tuple[str, ...]:
        """Those that were written on the command line. Raises UsageError."""
        return compiler_flags(self.cflags if self.said("cflags") else "", self.define, self.include, self.std)

    @property
    def program(self) -> tuple[str, ...]:
        """What stands behind `--`: arguments of the program."""
        return tuple(self.context.meta.get(AFTER, ()))

    def said(self, name: str) -> bool:
        """Whether the option stands on the command line."""
        source = self.context.get_parameter_source(name)
        return source is not None and source.name != "DEFAULT"

    def budget(self) -> float:
        """Seconds. Raises UsageError."""
        return budget_seconds(self.budget_s)

    def thread_count(self) -> int:
        """Raises UsageError."""
        return thread_count(self.threads)

    def database_path(self) -> Path:
        """Raises UsageError where none is known."""
        return database_path(self.database, self.session.environment)

    def weights_folder(self) -> str | None:
        """Raises UsageError for a folder without cost models."""
        return weights_folder(self.weights, self.session.environment)

    def cache(self) -> Path | None:
        """Where results are kept between runs."""
        return cache_path(self.session.environment)

    def world(self) -> World:
        """What the program is given when it runs, relative to the current folder. Raises UsageError."""

        world = world_of(self.values)
        return replace(world, arguments=(*world.arguments, *self.program))

    def output_format(self) -> str:
        """What `--format` says, where `--json` is short for one of them. Raises UsageError."""
        if self.json and self.form not in ("text", "json"):
            raise UsageError(f"--json and --format {self.form} exclude each other")
        self.session.json = self.json or self.form == "json"
        return "json" if self.json else str(self.form)

    def check_volume(self) -> None:
        """Raises UsageError."""
        if self.quiet and self.verbose:
            raise UsageError("-q and -v exclude each other")

    def tune_options(self, **more: Any) -> TuneOptions:
        """What was given and `more`, checked. Raises UsageError."""
        known = declared()
        asked = {name: value for name, value in self.values.items() if name in known}
        for name, value in asked.items():
            if get_origin(known[name][0]) is tuple and name not in ("cflags", "parameters"):
                asked[name] = tuple(value or ())
        read: Mapping[str, Callable[[], Any]] = {
            "cflags": lambda: self.flags,
            "parameters": lambda: parameter_values(self.parameters),
            "budget_s": self.budget,
            "threads": self.thread_count,
            "weights": self.weights_folder,
            "database": lambda: (
                None if self.values.get("no_db") else optional_database(self.database, self.session.environment)
            ),
        }
        asked |= {name: value() for name, value in read.items() if name in asked and name not in more}
        if "args" in self.values and "world" not in more:
            asked["world"] = self.world()
        cache = self.cache()
        usual = {"environment": self.environment, "cache": str(cache) if cache is not None else None}
        return asked_options(**(usual | asked | more))
