"""Messages in the form compilers use."""

from __future__ import annotations

from scheduler.ir.nest import Span


def render_diagnostic(content: bytes, span: Span, message: str, advice: str = "") -> str:
    """`file:line:col: message`, the source line, a caret under the column, and the advice."""
    lines = content.split(b"\n")
    text = f"{span.file}:{span.line}:{span.column}: {message}"
    if 1 <= span.line <= len(lines):
        raw = lines[span.line - 1].rstrip(b"\r")
        shown = raw.decode("utf-8", "replace")
        before = raw[: span.column - 1].decode("utf-8", "replace")
        pad = "".join("\t" if c == "\t" else " " for c in before)
        number = f"{span.line:5d}"
        text += f"\n{number} | {shown}\n{' ' * len(number)} | {pad}^"
    if advice:
        text += f"\n        help: {advice}"
    return text
