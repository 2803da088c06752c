"""Small things every report needs: units, colours, wrapping."""

from __future__ import annotations

from dataclasses import dataclass

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


@dataclass(frozen=True, slots=True)
class Style:
    """How text is dressed: with ANSI colours or without, and how wide it may be."""

    color: bool = False
    width: int = 100

    def paint(self, text: str, *names: str) -> str:
        if not self.color or not text:
            return text
        return f"\033[{';'.join(_CODES[n] for n in names)}m{text}\033[0m"

    def clauses(self, text: str, indent: int) -> str:
        """Breaks `a; b; c` between clauses so that lines fit; continuation lines are indented."""
        lines: list[str] = []
        for clause in text.split("; "):
            if lines and indent + len(lines[-1]) + len(clause) + 3 <= self.width:
                lines[-1] += f"; {clause}"
            else:
                if lines:
                    lines[-1] += ";"
                lines.append(clause)
        return ("\n" + " " * indent).join(lines)


def printable(text: str) -> str:
    """Text of a user's file, without what could steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def one_line(name: str) -> str:
    """A file name on one line, without what could steer a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name)


def seconds(value: float) -> str:
    """1.49 s, 145 ms, 12.3 µs: three digits."""
    if value >= 1e9:  # of no clock
        return f"{value:.3g} s"
    if value >= 120:
        return f"{int(value) // 60} min {int(value) % 60} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value / factor < 1000 else f"{value / factor:.0f} {unit}"
    return f"{value * 1e9:.3g} ns"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.1f}x"


def day(date: str) -> str:
    """2026-11-24 15:30:00 UTC, of what `datetime.isoformat` writes."""
    return date.replace("T", " ").replace("+00:00", " UTC")


def percent(share: float) -> str:
    return f"{share * 100:.1f} %" if share >= 0.001 or share == 0 else "<0.1 %"


def count(number: int, noun: str) -> str:
    """2 nests, 1 nest."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def markdown_table(rows: list[list[str]]) -> list[str]:
    """The first row is the head; the columns between the first and the last one are aligned to the right."""
    rule = ["---", *["---:"] * (len(rows[0]) - 2), "---"]
    return ["| " + " | ".join(cells) + " |" for cells in [rows[0], rule, *rows[1:]]]


def table(rows: list[list[str]], indent: int = 2) -> list[str]:
    """Columns aligned to the left; the last one is not padded."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)] if rows else []
    return [
        (" " * indent + "  ".join([cell.ljust(w) for cell, w in zip(row, widths, strict=False)] + [row[-1]])).rstrip()
        for row in rows
    ]
