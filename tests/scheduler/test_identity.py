"""Canonical nests, and schedules carried over to nests that differ in names only."""

import re
from collections.abc import Sequence

import pytest

from scheduler.identity import NotTheSame, canonical_nest, canonical_text, carry_over, normalized_id
from scheduler.ir.text import nest_id, parse_nest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.search.random import RandomSearch
from tests.scheduler import nests


@pytest.mark.parametrize(
    "text", [nests.GEMM, nests.JACOBI, nests.COVARIANCE, nests.CHOLESKY, nests.SPMM, nests.PRIVATE]
)
def test_canonical_nests_keep_their_identity(text: str) -> None:
    nest = nests.nest(text)
    canonical = canonical_nest(nest)
    assert nest_id(canonical.nest) == nest_id(nest)
    assert canonical_text(canonical.nest) == canonical_text(nest)
    assert canonical_nest(canonical.nest).nest == canonical.nest
    ranges = {
        canonical.names["P", p.name]: (p.low, p.high) for p in nest.parameters if ("P", p.name) in canonical.names
    }
    assert {p.name: (p.low, p.high) for p in canonical.nest.parameters} == ranges


@pytest.mark.gcc
@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI, nests.CHOLESKY])
def test_there_and_back(text: str) -> None:
    nest = nests.nest(text)
    canonical = canonical_nest(nest)
    here, there = Replayer(nest), Replayer(canonical.nest)
    back = {(kind, canonical): name for (kind, name), canonical in canonical.names.items()}
    seen: list[ScheduledNest] = []

    def evaluate(schedules: Sequence[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [1.0] * len(schedules)

    RandomSearch(Space(here, Target(2), {"n": 500, "m": 500, "l": 500}), evaluate, seed=3, limit=20).run()
    assert len(seen) == 20
    for scheduled in seen:
        carried = carry_over(scheduled.schedule, here, there, canonical.names)
        assert isinstance(there.replay(carried), ScheduledNest)
        assert carry_over(carried, there, here, back) == scheduled.schedule
    texts = "; ".join(format_schedule(carry_over(s.schedule, here, there, canonical.names)) for s in seen)
    assert re.search(r"\bL\d", texts) and not re.search(r"[(\[ ][ijk]\b", texts)


def test_splits_are_carried_over() -> None:
    nest = nests.nest(nests.LU)
    canonical = canonical_nest(nest)
    here, there = Replayer(nest), Replayer(canonical.nest)
    back = {(kind, canonical): name for (kind, name), canonical in canonical.names.items()}
    text = "split(i, 8*floor((k)/8) + 8); split(j_s, 8*floor((k)/8) + 8); tile([k], [8]); distribute(i_s, 1); "
    schedule = parse_schedule(text + "distribute(k, 3); shift(i_s_d, S1_s_s, 2)")
    carried = carry_over(schedule, here, there, canonical.names)
    assert isinstance(there.replay(carried), ScheduledNest)
    assert carry_over(carried, there, here, back) == schedule
    assert "i_s" not in format_schedule(carried)


def test_another_nest_is_refused() -> None:
    here, there = Replayer(nests.nest(nests.GEMM)), Replayer(nests.nest(nests.JACOBI))
    with pytest.raises(NotTheSame):
        carry_over(parse_schedule("interchange(i, j)"), here, there, {})


def test_normalized_nests_meet() -> None:
    def text(outer: str, inner: str, name: str) -> str:
        return f"""nest copy {{
          param n: int in [1, ?];
          array {name}: double[n][n];
          for {outer}: int in [0, n) step 1 {{ for {inner}: int in [0, n) step 1 {{ S0: {name}[i][j] = 0.0; }} }}
        }}"""

    ids = [
        normalized_id(Replayer(canonical_nest(parse_nest(text(*names))).nest))
        for names in (("i", "j", "A"), ("j", "i", "A"), ("i", "j", "B"))
    ]
    assert len(set(ids)) == 1
