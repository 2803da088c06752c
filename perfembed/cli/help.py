"""Help pages: options and commands under titles, examples, and with `--help-all` the options that are rarely needed.

By typer's own formatter for plain text: its other one, by rich, takes a tenth of a second to load.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from perfembed.tuning.options import DATABASE, OUTPUT, PROGRAM, RUN, SEARCH

DEVELOPERS = "Developers"
AFTER = "perfembed.after"
"""Under this name the context of a command that runs a program has the program's arguments: what stands behind `--`."""

_ORDER = ("Arguments", "Options", PROGRAM, RUN, SEARCH, DATABASE, OUTPUT)
HELP = "Help"
_USUAL = {"argument": "Arguments", "option": "Options"}


class Command(TyperCommand):
    """Its options stand under the titles of their panels."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by click."""
        if "--" in args and any(one.name == "args" for one in self.params):
            place = args.index("--")
            if self._names_files(ctx, args[:place]):
                args, ctx.meta[AFTER] = args[:place], args[place + 1 :]
        return super().parse_args(ctx, args)

    def _names_files(self, ctx: Any, args: list[str]) -> bool:
        """Whether the files stand before `--`; else they stand behind it, as for any program."""
        try:
            found, _, _ = self.make_parser(ctx).parse_args(list(args))
        except Exception:  # of click, which has no public base class in every version: said when all is parsed
            return False
        return any(found.get(one.name) for one in self.params if one.param_type_name == "argument")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Called by click."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            panel = getattr(one, "rich_help_panel", None) or _USUAL[one.param_type_name]
            panel = HELP if one.name == "help" else panel
            if (record := one.get_help_record(ctx)) is not None:
                panels.setdefault(panel, []).append(record)
        for title in sorted(panels, key=lambda one: _ORDER.index(one) if one in _ORDER else len(_ORDER)):
            with formatter.section(title):
                formatter.write_dl(panels[title])


class Group(TyperGroup):
    """Its commands stand under the titles of their panels."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Called by click."""
        shown = {name: one for name, one in self.commands.items() if not one.hidden}
        limit = formatter.width - 6 - max(map(len, shown), default=0)
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, one in shown.items():
            panel = getattr(one, "rich_help_panel", None)
            panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(
                (name, one.get_short_help_str(limit))
            )
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)


def show_all(context: typer.Context, value: bool) -> bool:
    """What `--help-all` does: the help of its command with the options that `--help` leaves out."""
    if value and not context.resilient_parsing:
        for one in context.command.params:
            one.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        raise typer.Exit
    return value


def examples(*lines: str) -> str:
    """The end of a help page."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
