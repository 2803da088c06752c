"""Blocks of expanded arrays: one element for each iteration in a block of a tile loop."""

from pathlib import Path

import pytest

from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.contraction import Window
from tests.scheduler.codegen.support import check_same, scheduled, text_of, with_storage

LINES = """nest lines {{
  param n: int;
  param m: int;
  array A: double[n][m];
  array t: double[{extent}] private(i);
  array s: double private(j);
  for i: int in [{first}, n) step 1 {{
    for j: int in [0, m) step 1 {{ S0: s = A[i][j] * 0.5; S1: t[j] = s + 1.0; }}
    if (m - 1 >= 0) {{ S2: A[i][0] = A[i][0] / t[0]; }}
    for l: int in [1, m) step 1 {{ S3: t[l] = t[l] - 0.25 * t[l - 1]; S4: A[i][l] = A[i][l - 1] * t[l]; }}
  }}
}}"""
LANES = "tile([i], [{size}]); distribute(i, 1); distribute(i_d, 1); interchange(i, j); interchange(i_d2, l)"


def lines(extent: str = "m", first: int = 0) -> LoopNest:
    nest = parse_nest(LINES.format(extent=extent, first=first))
    return with_storage(nest, A=Storage.RESTRICT)


def windows(nest: LoopNest, schedule: str) -> tuple[Window, ...]:
    return scheduled(nest, schedule)[0].windows


def test_a_block_is_enough_where_its_loop_stays_around_all_uses() -> None:
    (window,) = windows(lines(), LANES.format(size=4))
    assert (window.array, window.loop, window.tile, window.size, window.dimension) == ("t", "i_t", "i_t", 4, 0)
    text = text_of(lines("64"), LANES.format(size=4))
    assert "double t[64][4]" in text and "t[l][i_d2 - i_t]" in text and "pe_alloc" not in text


@pytest.mark.parametrize(
    "schedule",
    [
        "tile([i], [4])",  # nothing is stored: each iteration has its own
        "distribute(i, 1); interchange(i, j)",  # no block
        "distribute(i, 1); tile([i, j], [4, 4])",  # its loop is not around all uses
        "tile([i], [4]); distribute(i, 1); distribute(i_t, 1)",
    ],
)
def test_no_block_where_there_is_no_need_or_it_is_not_enough(schedule: str) -> None:
    assert windows(lines(), schedule) == ()


def test_no_block_where_places_depend_on_data() -> None:
    nest = parse_nest("""nest taken {
      param n: int; array A: double[n][8]; array p: int[n][8] const; array t: double[8] private(i);
      for i: int in [0, n) step 1 {
        for j: int in [0, 8) step 1 { S0: t[j] = A[i][j]; }
        for l: int in [0, 8) step 1 { S1: A[i][l] = t[opaque(p[i][l])]; }
      }
    }""")
    assert windows(nest, "tile([i], [4]); distribute(i, 1)") == ()
    assert "pe_alloc" in text_of(nest, "tile([i], [4]); distribute(i, 1)")


@pytest.mark.gcc
@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize(("extent", "first"), [("64", 0), ("m", 0), ("m", 3), ("n + 40", 2)])
def test_blocks_compute_the_same(tmp_path: Path, size: int, extent: str, first: int) -> None:
    nest, sizes = lines(extent, first), [{"n": n, "m": m} for n, m in ((17, 21), (1, 1), (7, 5), (0, 4), (3, 40))]
    for marks in ("", "; parallelize(i_t)", "; vectorize(i); vectorize(i_d2)"):
        check_same(tmp_path, nest, LANES.format(size=size) + marks, *sizes, sanitize=size == 3)
