"""Races between iterations that a pragma shares: a witness, and nothing where the pragma takes care of it."""

from __future__ import annotations

import pytest

from scheduler.races import Race, allowed, certain_race, races
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.scheduler.frontend.support import read

HEAD = "double s, x[100], y[100], A[100][100], h[8];\nint n, p[100];\nvoid f(void) {\n  int i, j;\n"


def found(body: str) -> tuple[Race, ...]:
    source = read(HEAD + body + "\n}\n")
    assert not source.rejections, source.rejections
    (nest,) = source.nests
    return races(Replayer(nest), source.sharing[nest.name])


def test_a_witness_has_two_iterations_that_meet() -> None:
    (race,) = found("#pragma omp parallel for\nfor (i = 2; i < n; i++) x[i] = x[i - 2] + 1;")
    assert race.certain and race.array == "x" and race.shared.loop == "i"
    (source,), (sink,) = race.source, race.sink
    assert sink[1] - source[1] == 2 and source[0] == sink[0] == "i"
    assert dict(race.parameters)["n"] > sink[1] and race.lines == (6, 6)
    assert race.reason.startswith("race: iterations i = ") and "the same element of x" in race.reason


@pytest.mark.parametrize(
    ("body", "array"),
    [
        ("#pragma omp parallel for private(j)\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) x[j] += A[i][j];", "x"),
        ("#pragma omp parallel for\nfor (i = 0; i < n; i++) y[i / 2] = x[i];", "y"),
        (
            (
                "#pragma omp parallel for collapse(2)\n"
                "for (i = 0; i < 9; i++) for (j = 1; j < 9; j++) A[i][j] = A[i][j - 1];"
            ),
            "A",
        ),
        ("for (i = 0; i < 9; i++)\n#pragma omp parallel for\nfor (j = 1; j < 9; j++) A[i][j] = A[i][j - 1];", "A"),
        ("#pragma omp parallel\n{\n#pragma omp for\nfor (i = 1; i < n; i++) x[i] = x[i - 1];\n}", "x"),
        ("#pragma omp simd\nfor (i = 1; i < n; i++) x[i] = x[i - 1];", "x"),
    ],
)
def test_races(body: str, array: str) -> None:
    (race,) = found(body)
    assert race.certain and race.array == array


@pytest.mark.parametrize(
    "body",
    [
        "#pragma omp parallel for\nfor (i = 0; i < n; i++) x[i] = y[i];",
        "for (j = 1; j < 9; j++)\n#pragma omp parallel for\nfor (i = 0; i < 9; i++) A[j][i] = A[j - 1][i];",
        "#pragma omp parallel for reduction(+: s)\nfor (i = 0; i < n; i++) s += x[i];",
        "#pragma omp parallel for reduction(+: h)\nfor (i = 0; i < n; i++) h[p[i] & 7] += 1;",
        "#pragma omp parallel for\nfor (i = 0; i < n; i++) {\n#pragma omp atomic\nh[p[i] & 7] += 1;\n}",
        "#pragma omp simd safelen(4)\nfor (i = 4; i < n; i++) x[i] = x[i - 4];",
        "#pragma omp parallel for\nfor (i = 0; i < n / 2; i++) x[2 * i] = x[2 * i + 1];",
        "#pragma omp parallel for lastprivate(s)\nfor (i = 0; i < n; i++) { s = x[i]; y[i] = s; }",
    ],
)
def test_none(body: str) -> None:
    assert not found(body)


def test_one_that_depends_on_data_is_possible() -> None:
    (race,) = found("#pragma omp parallel for\nfor (i = 0; i < n; i++) y[p[i]] = x[i];")
    assert not race.certain and race.reason.startswith("possible race: ")


def test_the_users_word_is_taken_only_when_asked() -> None:
    source = read(HEAD + "#pragma omp parallel for\nfor (i = 0; i < n; i++) y[p[i]] = x[i];\n}\n")
    (nest,) = source.nests
    sharing, schedule = source.sharing[nest.name], parse_schedule("parallelize(i)")
    assert not certain_race(nest, sharing)
    proved = allowed(nest, sharing, False, False).replayer(nest).replay(schedule)
    trusted = allowed(nest, sharing, False, True).replayer(nest).replay(schedule)
    assert not isinstance(proved, ScheduledNest) and isinstance(trusted, ScheduledNest)


def test_the_users_word_is_not_taken_against_what_is_certain() -> None:
    source = read(HEAD + "#pragma omp parallel for\nfor (i = 1; i < n; i++) x[i] = x[i - 1] + y[p[i]];\n}\n")
    (nest,) = source.nests
    replayer = allowed(nest, source.sharing[nest.name], False, True).replayer(nest)
    assert not isinstance(replayer.replay(parse_schedule("parallelize(i)")), ScheduledNest)


def test_only_sums_that_a_pragma_names_may_be_reordered() -> None:
    source = read(
        HEAD + "double q = 0;\n#pragma omp parallel for reduction(+: s)\nfor (i = 0; i < n; i++) {\n"
        "s += x[i];\n#pragma omp critical\nq += y[i];\n}\ns += q;\n}\n"
    )
    (nest,) = source.nests
    assert allowed(nest, source.sharing[nest.name], False, False).reassociate == frozenset(("q", "s"))
    plain = read(HEAD + "for (i = 0; i < n; i++) s += x[i];\n}\n").nests[0]
    assert allowed(plain, None, False, False).reassociate is False
