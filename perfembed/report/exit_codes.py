"""The exit codes as a table, for a terminal or for Markdown."""

from __future__ import annotations

from perfembed.errors import EXITS
from perfembed.report.style import table


def render_exit_codes(*, markdown: bool = False) -> str:
    """One row a code with its meaning."""
    if markdown:
        rows = [f"| {code} | {meaning} |" for code, meaning in EXITS.items()]
        return "\n".join(["| code | meaning |", "|---|---|", *rows])
    return "\n".join(table([[str(code), meaning.replace("`", "")] for code, meaning in EXITS.items()], indent=0))
