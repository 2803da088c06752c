"""Solvers along lines, with their neighbours beside them: parallel, vectorized, and the same results, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.codegen.emit.workload import plain
from scheduler.computed.lanes import columns, lanes
from scheduler.identity import canonical_nest, carry_over, in_names_of
from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.polyhedral.private_scopes import narrow_scopes
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import AosToSoa, Parallelize, Tile, Vectorize
from tests.scheduler import nests
from tests.scheduler.codegen.support import check_same, text_of, with_storage

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


def proposed_columns(text: str, **sizes: int) -> tuple[Schedule, ...]:
    return columns(Space(Replayer(plain(parse_nest(text))), Target(2), sizes))


@pytest.mark.gcc
def test_bodies_side_by_side(tmp_path: Path) -> None:
    found = proposed_columns(BODIES, n=200)
    assert found
    for schedule in found:
        assert schedule[0] == AosToSoa("b") and {Tile, Vectorize, Parallelize} <= set(map(type, schedule))
        sizes = [{"n": n} for n in (100, 0, 1, 2, 33)]
        text = check_same(tmp_path, BODIES, format_schedule(schedule), *sizes)
        assert "b_copy" not in text and "pe_b_0[b_r] = b[b_r][0];" in text


def test_it_is_found_again_under_other_names() -> None:
    """In a database arrays and loops have names of their own."""
    replayer = Replayer(plain(parse_nest(BODIES)))
    canonical = canonical_nest(replayer.nest)
    there = Replayer(canonical.nest)
    for schedule in proposed_columns(BODIES, n=200):
        kept = carry_over(schedule, replayer, there, canonical.names)
        assert kept[0] != schedule[0] and isinstance(there.replay(kept), ScheduledNest)
        assert in_names_of(format_schedule(kept), canonical, there, replayer) == schedule


@pytest.mark.gcc
def test_a_chain_without_lanes(tmp_path: Path) -> None:
    found = proposed_columns(POLYNOMIAL, n=200, m=100)
    assert found and all(schedule[0] == AosToSoa("b") for schedule in found)
    for schedule in found:
        check_same(tmp_path, POLYNOMIAL, format_schedule(schedule), {"n": 60, "m": 5}, {"n": 1, "m": 1})


def test_not_where_all_is_read_once() -> None:
    assert proposed_columns(ONCE, n=1000) == ()


# Tridiagonal systems along the columns of planes; the scratch arrays are shared by the lines of a plane.
COLUMNS = """nest columns {
  param n: int in [1, 60];
  array F: double[n][n][n];
  array D: double[n][n][n];
  array c: double[64] private(k);
  array b: double[64] private(k);
  array m: double private(l);
  for k: int in [0, n) step 1 {
    for i: int in [0, n) step 1 {
      for j: int in [0, n) step 1 { S0: c[j] = 0.25 * D[k][j][i]; S1: b[j] = 2.0 + D[k][j][i]; }
      S2: F[k][0][i] = F[k][0][i] / b[0];
      for l: int in [1, n) step 1 {
        S3: m = 1.0 / (b[l] - c[l] * c[l - 1]);
        S4: c[l] = c[l] * m;
        S5: F[k][l][i] = (F[k][l][i] - F[k][l - 1][i]) * m;
      }
      for h: int in [n - 2, -1) step -1 { S6: F[k][h][i] = F[k][h][i] - c[h] * F[k][h + 1][i]; }
    }
  }
}"""


def solver(text: str = COLUMNS) -> LoopNest:
    return with_storage(narrow_scopes(parse_nest(text)), F=Storage.RESTRICT, D=Storage.RESTRICT)


def proposed(nest: LoopNest, n: int = 50, **caches: int) -> tuple[Schedule, ...]:
    return lanes(Space(Replayer(nest), Target(2, **caches), {"n": n}))


def blocks(schedule: Schedule) -> list[int]:
    return [size for step in schedule if isinstance(step, Tile) for size in step.sizes]


@pytest.mark.gcc
def test_lines_side_by_side_compute_what_one_after_the_other_do(tmp_path: Path) -> None:
    found = proposed(solver())
    assert [blocks(schedule) for schedule in found] == [[32], [8]]
    for schedule in found:
        kinds = [type(step) for step in schedule]
        assert Parallelize in kinds and kinds.count(Vectorize) >= 4
        sizes = [{"n": n} for n in (50, 1, 2, 33)]
        check_same(tmp_path, solver(), format_schedule(schedule), *sizes, sanitize=blocks(schedule) == [8])


def test_what_lines_keep_stays_in_the_cache() -> None:
    assert [blocks(schedule) for schedule in proposed(solver(), l2_bytes=32 << 10)] == [[16], [8]]
    assert proposed(solver(), l2_bytes=1 << 10) == ()


def test_scratch_arrays_have_one_element_for_each_line_of_a_block() -> None:
    schedule = proposed(solver())[0]
    text = text_of(solver(), format_schedule(schedule))
    assert "c[l][i_d" in text and "pe_alloc(sizeof" not in text


@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI, nests.LU, nests.CHOLESKY])
def test_nests_without_recurrences_inside_of_parallel_loops_are_left_to_others(text: str) -> None:
    assert proposed(parse_nest(text)) == ()


def test_lines_that_do_not_lie_side_by_side_are_left_alone() -> None:
    rows = COLUMNS.replace("[j][i]", "[i][j]").replace("[0][i]", "[i][0]").replace("[l][i]", "[i][l]")
    rows = rows.replace("[l - 1][i]", "[i][l - 1]").replace("[h][i]", "[i][h]").replace("[h + 1][i]", "[i][h + 1]")
    assert proposed(solver(rows)) == ()
