"""Parameters fitted to another nest and machine."""

from dataclasses import replace

import pytest

from perfembed.transfer.adapt import (
    footprint,
    lanes,
    parallel_grain,
    register_block,
    tile_sizes,
    unroll_factor,
    wavefront_factor,
)
from scheduler.machine.target import Core
from scheduler.schedule import parse_schedule
from scheduler.transform import Parallelize
from tests.perfembed.transfer_support import GEMM, MACHINE, SEIDEL, TRANSPOSED, side
from tests.scheduler.moves.test_openmp_schedule import SPMV

TILE = {"j_2": 64, "k": 64, "i_2": 64}


def test_a_tiles_footprint_is_what_its_accesses_touch():
    one = side(GEMM)
    view = one.view(parse_schedule("interchange(i_2, j_2)"))
    assert footprint(one, view, view.loop("j_2"), TILE) == 3 * 64 * 64 * 8
    assert footprint(one, view, view.loop("j_2"), {"k": 10}) == (1000 * 1100 + 10 * (1000 + 1100)) * 8
    stencil = side(SEIDEL)
    view = stencil.view(())
    sizes = {"t": 4, "i": 8, "j": 16}
    assert footprint(stencil, view, view.loop("t"), sizes) == 5 * 8 * 16 * 8  # of five accesses, one by one


def sizes_of(target, wanted, **more):
    donor = side(GEMM)
    return tile_sizes(donor, donor.view(()), TILE, target, target.view(()), wanted, False, **more)


def test_tiles_on_an_equal_nest_and_machine_stay_about_as_they_are():
    found = sizes_of(side(GEMM), TILE)
    assert all(0.8 <= found[name] / size <= 1.25 for name, size in TILE.items())


@pytest.mark.parametrize(("share", "elements"), [(4, "double"), (16, "double"), (1, "float")])
def test_tiles_keep_their_share_of_the_cache(share, elements):
    machine = replace(MACHINE, l2_bytes=MACHINE.l2_bytes // share)
    target = side(GEMM.replace("double", elements), machine=machine)
    found = sizes_of(target, TILE)
    view, first = target.view(()), side(GEMM)
    ours = footprint(first, first.view(()), first.view(()).loop("i_2"), TILE) / MACHINE.l2_bytes
    theirs = footprint(target, view, view.loop("i_2"), found) / machine.l2_bytes
    assert 0.4 < theirs / ours < 2.2
    assert all(found[name] < size for name, size in TILE.items()) == (elements == "double")


def test_tiles_are_even_parts_of_the_extent():
    small = side(GEMM.replace("1000", "100"))
    found = sizes_of(small, {"i_2": 64, "j_2": 64})
    assert found["i_2"] * -(-100 // found["i_2"]) - 100 < 16
    assert -(-1100 // sizes_of(small, {"j_2": 280}, split=("j_2",))["j_2"]) % MACHINE.threads == 0


def test_short_loops_are_not_tiled_and_waves_keep_powers_of_two():
    assert sizes_of(side(GEMM.replace("1200", "3")), {"i_2": 64, "k": 64}).keys() == {"i_2"}
    one = side(SEIDEL)
    given = {"t": 16, "i": 32}
    found = tile_sizes(one, one.view(()), given, one, one.view(()), given, True)
    assert found == given


def test_register_blocks_keep_their_number_of_vectors():
    double, single = side(GEMM), side(TRANSPOSED)
    assert lanes(double, None) == 4 and lanes(single, None) == 8
    loops = [single.view(()).loop(name) for name in ("a", "b")]
    assert register_block(double, single, (6, 8), 0, loops).sizes == (6, 16)
    wide = side(GEMM, machine=replace(MACHINE, vector_bytes=64))
    loops = [wide.view(()).loop(name) for name in ("i_2", "j_2")]
    assert register_block(double, wide, (6, 8), 0, loops).sizes == (6, 16)
    core = Core(registers=((64, 32), (32, 16)))
    broad = side(GEMM, machine=replace(MACHINE, core=core))
    loops = [broad.view(()).loop(name) for name in ("i_2", "j_2")]
    kept = register_block(broad, broad, (14, 16), 64, loops)
    assert (kept.sizes, kept.vector_bytes) == ((14, 16), 64)
    without = register_block(broad, double, (14, 16), 64, [double.view(()).loop(name) for name in ("i_2", "j_2")])
    assert (without.sizes, without.vector_bytes) == ((6, 8), 0), "what sixteen registers of 32 bytes hold"
    short = side(GEMM.replace("1000", "8").replace("1100", "10"))
    loops = [short.view(()).loop(name) for name in ("i_2", "j_2")]
    assert register_block(double, short, (6, 8), 0, loops).sizes == (4, 4)


@pytest.mark.parametrize(("factor", "extent", "expected"), [(0, 9, 0), (0, 900, 4), (8, 100, 8), (8, 6, 6), (4, 1, 1)])
def test_unrolling(factor, extent, expected):
    assert unroll_factor(factor, extent) == expected


def test_the_grain_goes_by_the_loop():
    even = side(GEMM)
    loop = even.view(()).loop("i")
    assert parallel_grain(even, loop, Parallelize("x"), "i", 1) == Parallelize("i")
    assert parallel_grain(even, loop, Parallelize("x", 1, 500), "i", 1) == Parallelize("i", 0, 16)
    triangle = side(SEIDEL.replace("for j: int in [1, 999)", "for j: int in [1, i)"))
    assert parallel_grain(triangle, triangle.view(()).loop("i"), Parallelize("x"), "i", 1).dynamic == 1
    rows = side(SPMV)
    outer = rows.view(()).loop("i")
    assert parallel_grain(rows, outer, Parallelize("x"), "i", 1) == Parallelize("i", 1, 3125)
    assert parallel_grain(rows, outer, Parallelize("x"), "i", 1, donor_by_data=True) == Parallelize("i")
    assert parallel_grain(rows, outer, Parallelize("x", 1, 4), "i", 1, donor_by_data=True) == Parallelize("i", 1, 4)
    assert (
        parallel_grain(triangle, triangle.view(()).loop("i"), Parallelize("x"), "i", 1, donor_by_data=True).dynamic == 1
    )


@pytest.mark.parametrize(
    ("factor", "donor", "target", "expected"),
    [(2, (16, 32), (16, 32), 2), (2, (16, 32), (32, 64), 2), (2, (16, 32), (8, 64), 8), (1, (32, 32), (64, 32), 1)],
)
def test_wavefronts_stay_as_steep(factor, donor, target, expected):
    assert wavefront_factor(factor, donor, target) == expected
