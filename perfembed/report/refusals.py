"""What a file was refused for, one row a reason: where most is to be gained by a change of the source."""

from __future__ import annotations

import re

from perfembed.inspection.inspect_file import Inspection, RefusedNest
from perfembed.report.style import Style, count, one_line, table

_NAME = re.compile(r"'[^']*'")
_MAX_PLACES = 4


def render_refusals(inspection: Inspection, style: Style) -> str:
    """Reasons that differ in names only are one; the most frequent first."""
    groups: dict[str, list[RefusedNest]] = {}
    for refused in inspection.refused:
        groups.setdefault(_NAME.sub("'…'", one_line(refused.reason)), []).append(refused)
    head = f"{one_line(inspection.path)}: {count(len(inspection.nests), 'nest')}, {len(inspection.refused)} refused"
    lines = [style.paint(head, "bold")]
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[str(len(found)), reason, _places(found), one_line(found[0].advice)] for reason, found in ordered]
    if rows:
        lines += ["", *table([["loops", "reason", "lines", "what to do"], *rows])]
    return "\n".join(lines)


def _places(found: list[RefusedNest]) -> str:
    lines = sorted({refused.span.line for refused in found})
    shown = ", ".join(map(str, lines[:_MAX_PLACES]))
    return f"{shown}, …" if len(lines) > _MAX_PLACES else shown
