"""What is known of the machine's memory."""

from dataclasses import replace

from perfembed.measuring.stream_rates import last_cache_bytes
from profilers.machine import Cache, describe_machine

SMALL = replace(
    describe_machine(), caches=(Cache(1, "Data", 16 << 10, 64, 8, 1), Cache(2, "Unified", 64 << 10, 64, 8, 1))
)


def test_the_last_cache() -> None:
    assert last_cache_bytes(SMALL) == 64 << 10 and last_cache_bytes(replace(SMALL, caches=())) == 0
