"""A schedule as a list of sentences, one a step, each with the step's own text form."""

from __future__ import annotations

from perfembed.report.html import text
from scheduler.errors import SchedulerError
from scheduler.ir.names import spelled
from scheduler.schedule import format_transformation, parse_schedule


def schedule_list(schedule: str) -> str:
    """An ordered list; a schedule that this version cannot read is shown as it stands."""
    try:
        steps = parse_schedule(schedule)
    except SchedulerError:
        return f"<p><code>{text(schedule)}</code></p>"
    items = (
        f"<li>{text(spelled(step.words()))} <code>{text(spelled(format_transformation(step)))}</code></li>"
        for step in steps
    )
    return "\n".join(('<ol class="steps">', *items, "</ol>"))
