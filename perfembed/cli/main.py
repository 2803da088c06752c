"""The `perfembed` command: dispatch only. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import copy
import gc
import signal
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from perfembed.cli import (
    compare,
    db,
    demo,
    doctor,
    generate,
    inspect,
    populate,
    profile,
    report,
    sql,
    train,
    tune,
)
from perfembed.cli.cc import run_compiler
from perfembed.cli.help import DEVELOPERS, Command, Group
from perfembed.cli.session import Session, guarded, process_began
from perfembed.errors import EXIT_USAGE

_COMPLETION = "_PERFEMBED_COMPLETE"  # as the script of `--show-completion` says

app = typer.Typer(
    name="perfembed",
    cls=Group,
    help="Makes the loops of a C program faster without changing what they compute.",
    epilog="What the exit codes mean: perfembed schema --exit-codes.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("tune", cls=Command, epilog=tune.EXAMPLES)(tune.command)
app.command("report", cls=Command, epilog=report.EXAMPLES)(report.command)
app.command("demo", cls=Command)(demo.command)
app.command("inspect", cls=Command, epilog=inspect.EXAMPLES)(inspect.command)
app.command("profile", cls=Command, epilog=profile.EXAMPLES)(profile.command)
app.command("compare", cls=Command, epilog=compare.EXAMPLES)(compare.command)


@app.command(
    "cc", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
def _cc(  # for its help: `perfembed.cli.entry` goes to `perfembed.cli.cc` at once
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENTS...", help="The compiler's.", show_default=False)
    ] = None,
) -> int:
    """Compile like gcc, with the best schedules known for a file's nests: make CC='perfembed cc'.

    Every argument is the compiler's, but for --db PATH in front. Nests of a C file for which the database (--db, else
    PERFEMBED_DB, else the user's own) has a schedule, confirmed on this machine with the same -O and -m options, are
    compiled with it, proved legal once more; nothing is measured. Whatever cannot be done so is compiled as it is.
    PERFEMBED_CC names the real compiler (gcc); -v says what was done to which file.
    """
    return run_compiler(words or [], context.ensure_object(Session).environment)


app.command("doctor", cls=Command)(doctor.command)
app.command("sql", cls=Command, epilog=sql.EXAMPLES)(sql.command)
app.add_typer(db.app, name="db")
app.command("populate", cls=Command, epilog=populate.EXAMPLES, rich_help_panel=DEVELOPERS)(populate.command)
app.command("generate", cls=Command, rich_help_panel=DEVELOPERS)(generate.command)
app.command("schema", cls=Command, rich_help_panel=DEVELOPERS)(report.schema)
app.add_typer(train.app, name="train", rich_help_panel=DEVELOPERS)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"perfembed {version('perfembed')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    pass


def _with_only(name: str) -> typer.Typer:
    """The application with this one of its commands, for making them all takes a tenth of a second; else whole."""
    one = copy.copy(app)
    one.registered_commands = [command for command in app.registered_commands if command.name == name]
    one.registered_groups = [group for group in app.registered_groups if group.name == name]
    return one if one.registered_commands or one.registered_groups else app


def main(arguments: list[str], session: Session) -> int:
    """Runs one command line and returns the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # batch systems' Ctrl-C
    session.json = "--json" in arguments  # also where no option is read, because another one is wrong
    command = typer.main.get_command(_with_only(arguments[0]) if arguments else app)

    def action() -> int | None:
        with command.make_context("perfembed", list(arguments) or ["--help"], obj=session) as context:
            result: object = command.invoke(context)
        return result if isinstance(result, int) else None

    known = getattr(command, "commands", {})
    name = " ".join(["perfembed", *(a for a in arguments[:1] if a in known)])
    code = guarded(name, action, session)
    return code if arguments else EXIT_USAGE


def run() -> None:
    """The command itself."""
    gc.set_threshold(100_000, 20, 100)  # much is kept and little of it is garbage: looking for that takes a tenth
    session = Session(began=process_began())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a file name need not be text of this terminal
            stream.reconfigure(errors="backslashreplace")
    if _COMPLETION in session.environment:  # a shell asks how a word goes on
        typer.main.get_command(app)(prog_name="perfembed")
    sys.exit(main(sys.argv[1:], session))
