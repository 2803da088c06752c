"""Blocks computed from a core: they fit what they are computed for."""

import itertools

import pytest

from scheduler.machine.target import CacheLevel, Core, cache_blocks, register_shapes

AVX512 = Core(registers=((64, 32), (32, 16)), latency=4)
CORES = [Core(), AVX512, Core(registers=((16, 16),), fused=False, latency=8, per_cycle=1), Core(registers=((16, 32),))]


@pytest.mark.parametrize(("core", "element"), list(itertools.product(CORES, (4, 8))))
def test_accumulators_operands_and_a_spare_register_fit(core: Core, element: int) -> None:
    for width, registers in core.registers:
        shapes = register_shapes(core, element, width)
        assert shapes
        for shape in shapes:
            assert shape.rows * shape.vectors + shape.vectors + 1 + (not core.fused) < registers
            assert shape.rows <= 64 and shape.columns(element) <= 64
        first = shapes[0]
        assert first.rows * first.vectors >= core.latency * core.per_cycle, "the latency is covered"


def test_known_cores() -> None:
    def first(core: Core, element: int, width: int) -> tuple[int, int]:
        shape = register_shapes(core, element, width)[0]
        return shape.rows, shape.columns(element)

    # The blocks of BLIS for Haswell and Zen (rows and columns exchanged), and for AVX-512.
    assert first(Core(), 8, 32) == (6, 8) and first(Core(), 4, 32) == (6, 16)
    assert first(AVX512, 8, 64) == (14, 16) and first(AVX512, 4, 64) == (14, 32)
    assert register_shapes(Core(), 8, 64) == (), "no such registers"


def test_blocks_of_the_paper() -> None:
    """Low et al. 2016, section 5: 256 for a 32 KiB L1 with 8 ways and a block of 8 by 6 doubles."""
    assert cache_blocks(Core(), 6, 8, 8, 1).depth == 256


@pytest.mark.parametrize(("core", "threads"), list(itertools.product(CORES, (1, 2, 8))))
def test_what_is_used_again_fits_where_it_is_to_stay(core: Core, threads: int) -> None:
    for element, (rows, columns) in itertools.product((4, 8), ((6, 8), (14, 16), (3, 24))):
        blocks = cache_blocks(core, rows, columns, element, threads)
        l1, l2, l3 = core.caches
        assert blocks.depth * (rows + columns) * element <= l1.size_bytes
        assert blocks.height * blocks.depth * element <= l2.size_bytes
        assert blocks.width * blocks.depth * element <= l3.size_bytes


def test_a_cache_that_is_missing_sets_no_limit() -> None:
    blocks = cache_blocks(Core(caches=(CacheLevel(32 << 10),)), 6, 8, 8, 2)
    assert blocks.depth > 0 and blocks.height == 0 and blocks.width == 0
    assert cache_blocks(Core(caches=()), 6, 8, 8, 2).depth == 0


def test_a_cache_that_threads_share_is_shared_out() -> None:
    shared = (CacheLevel(32 << 10), CacheLevel(1 << 20, 16, shared_by=4), CacheLevel(16 << 20, 16))
    alone, four = (cache_blocks(Core(caches=shared), 6, 8, 8, threads).height for threads in (1, 4))
    assert alone >= 3 * four > 0
