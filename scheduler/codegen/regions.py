"""Lines that a team of threads runs, as written code has them (`scheduler.codegen.team_text`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler.codegen.text import block


def region(lines: Sequence[str], fresh: Callable[[str], str]) -> list[str]:
    """The region around a loop that threads share; `fresh` makes a C name that is not used yet."""
    team, own = fresh("pe_team"), fresh("pe_own")
    inside = [f"const struct pe_floats {own} = pe_enter_team(&{team});", *lines, f"pe_leave_team(&{team}, {own});"]
    return block(
        "",
        [
            f"struct pe_team {team} = pe_gather_team();",
            f"#pragma omp parallel num_threads({team}.pe_threads)",
            *block("", inside),
            f"pe_dismiss_team(&{team});",
        ],
    )
