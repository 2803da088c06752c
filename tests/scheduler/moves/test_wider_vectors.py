"""A schedule for short vectors made one for wide ones: blocks, the tiles around them, and packed panels."""

from dataclasses import replace

from scheduler.ir.text import parse_nest
from scheduler.machine.target import Core, Target
from scheduler.moves.space import Space
from scheduler.moves.wider_vectors import in_wider_vectors
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule, parse_schedule

PRODUCT = """nest product {
  array A: double[900][700]; array B: double[700][800]; array C: double[900][800];
  for i: int in [0, 900) step 1 {
    for j: int in [0, 800) step 1 {
      for k: int in [0, 700) step 1 { S0: C[i][j] += A[i][k] * B[k][j]; }
    }
  }
}"""
BLOCKED = (
    "interchange(j, k); interchange(i, j); tile([j, k, i], [{0}, 176, {1}]); interchange(k, i); "
    "register_block([i, j], {2}); pack(i_t, A, [0, 1], 0, {3}); pack(k_t, B, [1, 0], 1, {4}); parallelize(j_t)"
)
NARROW = BLOCKED.format(200, 60, "[6, 8]", 6, 8)
SHORT = Target(threads=2, vector_bytes=32)
WIDE = replace(SHORT, core=Core(registers=((64, 32), (32, 16))))


def widened(text: str, target: Target = WIDE, nest: str = PRODUCT) -> str:
    replayer = Replayer(parse_nest(nest))
    schedule: Schedule = parse_schedule(text)
    found = in_wider_vectors(Space(replayer, target, {}), schedule)
    assert isinstance(replayer.replay(found), ScheduledNest)
    return format_schedule(found)


def test_blocks_tiles_and_panels_fit_each_other() -> None:
    # 14 rows of two vectors of 8: 28 of 32 registers; four tiles of columns stay four, of 60 rows become 5 blocks.
    assert widened(NARROW) == BLOCKED.format(208, 70, "[14, 16], 64", 14, 16)


def test_panels_of_a_square_block_are_told_apart_by_what_they_are_read_along() -> None:
    assert widened(BLOCKED.format(200, 60, "[8, 8]", 8, 8)) == BLOCKED.format(208, 70, "[14, 16], 64", 14, 16)


def test_what_needs_no_wider_vectors_stays_as_it_is() -> None:
    assert widened(NARROW, SHORT) == NARROW
    wide = BLOCKED.format(208, 70, "[14, 16], 64", 14, 16)
    assert widened(wide) == wide
    assert widened("interchange(j, k); parallelize(i)") == "interchange(j, k); parallelize(i)"
    assert widened("interchange(j, k); interchange(i, j); interchange(k, i); register_block([j], [8])").endswith("[8])")
    small = PRODUCT.replace("800", "30")
    plain = "register_block([i, j], [6, 8]); parallelize(i_r)"
    assert widened(plain, nest=small) == plain and widened(plain) != plain
