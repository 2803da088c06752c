"""Long straight bodies of loops as one statement, and what is not put together."""

from __future__ import annotations

from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import placed_statements
from scheduler.polyhedral.model import Model
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.scheduler.frontend.support import nest

STEPS = "double p = b[i], q = p * p, r = q + p, s = r - q, t = s * 2, u = t + r;"


def sizes(found: LoopNest) -> dict[str, int]:
    """Assignments of each statement."""
    return {placed.statement.name: len(placed.statement.body) for placed in placed_statements(found)}


def of(body: str) -> LoopNest:
    return nest(
        f"void f(int n, double *restrict a, const double *restrict b) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
    )


def test_temporaries_of_an_iteration() -> None:
    found = of(f"{STEPS} a[i] = u;")
    assert sizes(found) == {"S0": 6, "S1": 1}
    assert not [d for d in Replayer(found).dependences if d.source == d.sink == "S0"]


def test_a_few_stay_apart() -> None:
    assert sizes(of("double p = b[i], q = p * p; a[i] = q;")) == {"S0": 1, "S1": 1, "S2": 1}


def test_what_is_stored_between_them_comes_along() -> None:
    found = of(
        "double p = b[i], q = p * p, r = q + p; a[2 * i] = r; double s = r - q, t = s * 2, u = t + r; a[2*i+1] = u;"
    )
    assert sizes(found) == {"S0": 7, "S1": 1}
    assert {u.access.array for u in Model(found).uses("S0") if u.is_write} == {"a", "p", "q", "r", "s", "t", "u"}


def test_reductions_and_what_does_not_move_stay_apart() -> None:
    assert sizes(of(f"{STEPS} a[0] += u;")) == {"S0": 6, "S1": 1}
    halves = "double p = b[i], q = p * p, r = q + p; a[0] += r; double s = r - q, t = s * 2, u = t + r; a[i + 1] = u;"
    assert set(sizes(of(halves)).values()) == {1}


def test_conditions_inside() -> None:
    found = of(f"{STEPS} double v; if (u > 0) v = u; else v = -u; a[i] = v;")
    assert sizes(found) == {"S0": 7, "S1": 1}


def test_groups_are_moved_as_others_are() -> None:
    code = """void f(int n, double a[n][n], const double b[n][n]) {
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        double p = b[i][j], q = p * p, r = q + p, s = r - q, t = s * 2, u = t + r; a[j][i] = u; a[j][i] += p; } }"""
    found = nest(code)
    assert sizes(found) == {"S0": 6, "S1": 1, "S2": 1}
    for schedule in ("interchange(i, j); parallelize(j)", "distribute(j, 1)", "tile([i, j], [4, 8]); parallelize(i_t)"):
        assert isinstance(Replayer(found).replay(parse_schedule(schedule)), ScheduledNest), schedule
