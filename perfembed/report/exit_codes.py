"""The exit codes as a table."""

from __future__ import annotations

from perfembed.errors import EXITS
from perfembed.report.style import table


def render_exit_codes() -> str:
    """One row a code with its meaning."""
    return "\n".join(table([[str(code), meaning.replace("`", "")] for code, meaning in EXITS.items()], indent=0))
