"""Pieces of the self-contained pages: escaped text, tables, and what is around a page. No script, no network."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files

# Nothing may be loaded and no script may run, whatever was not escaped.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_HIDDEN = frozenset(("Cc", "Cf", "Cs"))  # controls, what turns the direction of writing, halves of characters


def text(value: object) -> str:
    """Any text as HTML, for content and for attributes in quotes; what steers how it is shown is made visible."""
    return escape("".join(map(_visible, str(value).replace("\r\n", "\n"))))


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _HIDDEN:
        return character
    return "\ufffd"


def page(title: str, body: Iterable[str]) -> str:
    """A whole document in the style of all pages."""
    style = files("perfembed.report").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{text(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        )
    )


def table(head: Sequence[str], rows: Iterable[str], caption: str = "") -> str:
    """Rows of `row`, in a box that scrolls by itself where the window is narrow; a caption is for screen readers.

    The title of a column of numbers begins with #, which is not shown.
    """
    titles = "".join(
        f'<th scope="col" class="number">{text(title[1:])}</th>'
        if title.startswith("#")
        else f'<th scope="col">{text(title)}</th>'
        for title in head
    )
    said = f'<caption class="hidden">{text(caption)}</caption>' if caption else ""
    label = text(caption or "table")
    return "\n".join(
        (
            f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">',
            f"<table>{said}",
            f"<thead><tr>{titles}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table></div>",
        )
    )


def row(*cells: str, kind: str = "") -> str:
    """Of cells made by the functions below; `kind` is a class of the style sheet."""
    return f'<tr class="{kind}">{"".join(cells)}</tr>' if kind else f"<tr>{''.join(cells)}</tr>"


def cell(value: object, kind: str = "") -> str:
    return f'<td class="{kind}">{text(value)}</td>' if kind else f"<td>{text(value)}</td>"


def code_cell(value: object) -> str:
    """Of a text that may be long, such as a schedule."""
    return f"<td><code>{text(value)}</code></td>"


def name_cell(value: object) -> str:
    """Of a short text in C."""
    return f'<td><code class="name">{text(value)}</code></td>'


def number_cell(value: object) -> str:
    return cell(value, "number")


def head_cell(value: object) -> str:
    """The name of a row."""
    return f'<th scope="row">{text(value)}</th>'


def html_cell(markup: str) -> str:
    """Of markup that is safe already."""
    return f"<td>{markup}</td>"


def details(summary: str, *content: str, opened: bool = False) -> str:
    """Content that is folded away; it opens by keyboard, too, and in print."""
    mark = " open" if opened else ""
    return "\n".join((f"<details{mark}><summary>{text(summary)}</summary>", *content, "</details>"))


def paragraph(value: object, kind: str = "") -> str:
    return f'<p class="{kind}">{text(value)}</p>' if kind else f"<p>{text(value)}</p>"


def parts_or_why_not(make: Callable[[], list[str]]) -> list[str]:
    """Parts of a page; in place of what cannot be drawn a sentence, for the other parts are worth having."""
    try:
        return make()
    except Exception as problem:
        return [paragraph(f"This cannot be drawn: {type(problem).__name__}: {problem}.", "undrawn")]


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with their values; empty values are left out."""
    items = (f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs if value)
    return "\n".join(('<dl class="facts">', *items, "</dl>"))
