"""A file as the preprocessor sees it: what is active of it, and its directives."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.frontend.clang.lexical import Directive, Text, active_part


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file as the preprocessor sees it. `skipped`: what conditionals leave out (`libclang.skipped_ranges`).

    `written`: all directives, in what is left out as well; `active`: the content without that and without the
    conditionals, as long as before; `text` and `directives` are those of that.
    """

    content: bytes
    trigraphs: bool
    skipped: tuple[tuple[int, int], ...]
    written: tuple[Directive, ...]
    active: bytes
    text: Text
    directives: tuple[Directive, ...]


def source_text(content: bytes, trigraphs: bool, skipped: tuple[tuple[int, int], ...]) -> SourceText:
    """Of a file of which conditionals leave the ranges `skipped` out."""
    written = Text(content, trigraphs).directives()
    active, directives = active_part(content, written, skipped, trigraphs)
    return SourceText(content, trigraphs, skipped, written, active, Text(active, trigraphs), directives)
