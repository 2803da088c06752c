"""Neighbours of a winner."""

from dataclasses import replace

import pytest

from scheduler.machine.target import Core
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.search.explorer import Candidate
from scheduler.search.neighbours import neighbours, to_refine
from scheduler.transform import Pack, RegisterBlock, Skew, Tile
from tests.perfembed.transfer_support import (
    GEMM,
    GEMM_SCHEDULE,
    JACOBI,
    JACOBI_SCHEDULE,
    MACHINE,
    MVT,
    MVT_SCHEDULE,
    side,
)

BOTH = """nest both {
  array A: double[400][400]; array B: double[400][400]; array C: double[400][400]; array D: double[400][400];
  for k: int in [0, 400) step 1 {
    for i: int in [0, 400) step 1 { for j: int in [0, 400) step 1 { S0: C[i][j] += A[i][k] * B[k][j]; } }
  }
  for k_2: int in [0, 400) step 1 {
    for r: int in [0, 400) step 1 { for c: int in [0, 400) step 1 { S1: D[r][c] += A[r][k_2] * B[k_2][c]; } }
  }
}"""


@pytest.mark.parametrize(("nest", "schedule"), [(GEMM, GEMM_SCHEDULE), (MVT, MVT_SCHEDULE), (JACOBI, JACOBI_SCHEDULE)])
def test_they_are_legal_new_and_no_two_alike(nest, schedule):
    target = side(nest).space
    winner = target.replayer.replay(parse_schedule(schedule))
    found = neighbours(target, winner, limit=12)
    trees = [one.tree for one in found]
    assert found and len(set(trees)) == len(trees) <= 12 and winner.tree not in trees
    assert all(isinstance(target.replayer.replay(one.schedule), ScheduledNest) for one in found)
    assert neighbours(target, winner, limit=12, measured=trees[:2])[: len(trees) - 2] == found[2:]
    assert neighbours(target, winner, limit=3) == found[:3]


def test_tiles_are_halved_and_doubled():
    target = side(GEMM).space
    winner = target.replayer.replay(parse_schedule("interchange(j_2, k); tile([i_2, k], [64, 128])"))
    sizes = {s.sizes for one in neighbours(target, winner, limit=20) for s in one.schedule if isinstance(s, Tile)}
    assert sizes == {(32, 64), (128, 256), (32, 128), (128, 128), (64, 64), (64, 256)}


def test_panels_stay_as_wide_as_the_blocks_that_read_them():
    target = side(GEMM).space
    winner = target.replayer.replay(parse_schedule(GEMM_SCHEDULE))
    blocks = set()
    for one in neighbours(target, winner, limit=30):
        block = next(s for s in one.schedule if isinstance(s, RegisterBlock))
        blocks.add(block.sizes)
        assert {s.array: s.panel for s in one.schedule if isinstance(s, Pack)} == {
            "A": block.sizes[0],
            "B": block.sizes[1],
        }
    assert len(blocks) > 3


def test_blocks_of_wider_vectors_come_first_where_the_core_has_them():
    wide = Core(registers=((64, 32), (32, 16)))
    target = side(GEMM, machine=replace(MACHINE, core=wide)).space
    winner = target.replayer.replay(parse_schedule(GEMM_SCHEDULE))
    blocks = [s for one in neighbours(target, winner, limit=20) for s in one.schedule if isinstance(s, RegisterBlock)]
    assert (blocks[0].sizes, blocks[0].vector_bytes) == ((14, 16), 64)
    assert {b.vector_bytes for b in blocks} == {0, 64}
    narrow = side(GEMM).space
    found = neighbours(narrow, narrow.replayer.replay(parse_schedule(GEMM_SCHEDULE)), limit=20)
    assert {s.vector_bytes for one in found for s in one.schedule if isinstance(s, RegisterBlock)} == {0}


def test_register_blocks_change_together_first():
    target = side(BOTH).space
    schedule = "register_block([i, j], [4, 16]); register_block([r, c], [6, 8])"
    winner = target.replayer.replay(parse_schedule(schedule))
    assert isinstance(winner, ScheduledNest)
    sizes = [tuple(s.sizes for s in one.schedule) for one in neighbours(target, winner, limit=15)]
    assert sizes[0][0] == sizes[0][1]
    assert any(first == (4, 16) for first, _ in sizes) and any(second == (6, 8) for _, second in sizes)


def test_tiles_of_a_wavefront_keep_their_shape():
    target = side(JACOBI).space
    winner = target.replayer.replay(parse_schedule(JACOBI_SCHEDULE))
    for one in neighbours(target, winner, limit=20):
        tile = next(s for s in one.schedule if isinstance(s, Tile))
        assert tile.sizes[1] == 2 * tile.sizes[0]
        assert [s.factor for s in one.schedule if isinstance(s, Skew)] == [2, 2]


def candidate(schedule: str, seconds: float) -> Candidate:
    scheduled = side(GEMM).replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest)
    return Candidate(scheduled, seconds)


def test_a_schedule_of_another_kind_is_refined_too_where_it_is_nearly_as_fast() -> None:
    best, alike = candidate("tile([i_2, j_2], [32, 64])", 1.0), candidate("tile([i_2, j_2], [64, 64])", 1.01)
    near, far = candidate("interchange(j_2, k)", 1.1), candidate("unroll(k, 4)", 1.5)
    assert to_refine((best,)) == (best,) == to_refine((best, alike, far))
    assert to_refine((best, alike, near, far)) == (best, near)
    assert to_refine((best, near, candidate("unroll(k, 4)", 1.12))) == (best, near)
