"""Arrays of structures with their members apart: vectorized, parallel, and the same results, bit for bit."""

from pathlib import Path

import pytest

from scheduler.codegen.emit.workload import plain
from scheduler.computed.columns import columns
from scheduler.identity import canonical_nest, carry_over, in_names_of
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Columns, Parallelize, Tile, Vectorize
from tests.scheduler.codegen.support import check_same

BODIES = """nest bodies {
  param n: int in [0, 300];
  array b: double[n][5] restrict;
  array s: double private(i);
  array d: double private(j);
  for i: int in [0, n) step 1 {
    S0: s = 0.0;
    for j: int in [0, n) step 1 {
      if (-i + j - 1 >= 0) or (i - j - 1 >= 0) {
        S1: { d = b[j][0] - b[i][0]; s += b[j][2] * d; }
      }
    }
    S2: b[i][4] = s;
  }
}"""
ONCE = """nest once {
  param n: int; array b: double[?][5] pointer; array y: double[n] restrict;
  for i: int in [0, n) step 1 { S0: y[i] = b[i][0] + b[i][1]; }
}"""
POLYNOMIAL = """nest polynomial {
  param n: int in [1, 300]; param m: int in [1, 300];
  array b: double[n][2] restrict; array y: double[n] restrict;
  for k: int in [0, m) step 1 { for i: int in [0, n) step 1 { S0: y[i] = y[i] * b[i][0] + b[i][1]; } }
}"""


def proposed(text: str, **sizes: int) -> tuple[Schedule, ...]:
    return columns(Space(Replayer(plain(parse_nest(text))), Target(2), sizes))


@pytest.mark.gcc
def test_bodies_side_by_side(tmp_path: Path) -> None:
    found = proposed(BODIES, n=200)
    assert found
    for schedule in found:
        assert schedule[0] == Columns("b") and {Tile, Vectorize, Parallelize} <= set(map(type, schedule))
        sizes = [{"n": n} for n in (100, 0, 1, 2, 33)]
        text = check_same(tmp_path, BODIES, format_schedule(schedule), *sizes)
        assert "b_copy" not in text and "pe_b_0[b_r] = b[b_r][0];" in text


def test_it_is_found_again_under_other_names() -> None:
    """In a database arrays and loops have names of their own."""
    replayer = Replayer(plain(parse_nest(BODIES)))
    canonical = canonical_nest(replayer.nest)
    there = Replayer(canonical.nest)
    for schedule in proposed(BODIES, n=200):
        kept = carry_over(schedule, replayer, there, canonical.names)
        assert kept[0] != schedule[0] and isinstance(there.replay(kept), ScheduledNest)
        assert in_names_of(format_schedule(kept), canonical, there, replayer) == schedule


@pytest.mark.gcc
def test_a_chain_without_lanes(tmp_path: Path) -> None:
    found = proposed(POLYNOMIAL, n=200, m=100)
    assert found and all(schedule[0] == Columns("b") for schedule in found)
    for schedule in found:
        check_same(tmp_path, POLYNOMIAL, format_schedule(schedule), {"n": 60, "m": 5}, {"n": 1, "m": 1})


def test_not_where_all_is_read_once() -> None:
    assert proposed(ONCE, n=1000) == ()
