"""Pieces of generated Markdown pages."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

NOTE = "<!-- Written by docs/generate.py: change the code it is made from, or that script. -->\n"


def code(text: str) -> str:
    """Code in a cell of a table, where Markdown dialects disagree about a bar."""
    return "<code>" + text.replace("<", "&lt;").replace("|", "&#124;") + "</code>" if "|" in text else f"`{text}`"


def cell(text: str) -> str:
    """Plain text in a cell of a table."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "&#124;")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def paragraphs(documentation: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(documentation or "").split("\n\n")]
