"""The machine's rates that schedules of streams depend on: kept from an earlier run, or measured when first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from profilers.calibrate import calibrate_streams
from profilers.contained.errors import ProfilersError
from profilers.machine import Machine
from profilers.rates import RatesCache, StreamRates


def known_rates(folder: str | None, machine: Machine, compiler: str, threads: int) -> StreamRates | None:
    """Those that are kept in a folder (None: nowhere). `compiler`: the first line of `cc --version`."""
    return RatesCache(Path(folder)).load(machine, compiler, threads) if folder is not None else None


def measured_rates(
    folder: str,
    machine: Machine,
    cc: str,
    environment: Mapping[str, str],
    workdir: Path,
    threads: int,
    tell: Callable[[str], None],
) -> StreamRates | None:
    """Measured in about a second, and kept in `folder`.

    The caller holds the machine's measurement lock. None where they cannot be had, or others used the machine
    meanwhile: they are a help, not a need, and wrong ones are worse than none.
    """
    tell("measuring once what streams are limited by: the memory's bandwidth, and what threads cost")
    date = datetime.now(UTC).replace(microsecond=0).isoformat()
    try:
        rates = calibrate_streams(machine, cc, environment, workdir, threads, date=date)
        if rates.noisy:
            tell(f"the machine's rates are not known: others used {rates.other_load:.2f} cores meanwhile")
            return None
        RatesCache(Path(folder)).store(rates)
    except ProfilersError as problem:
        tell(f"the machine's rates are not known: {problem}")
        return None
    return rates


def last_cache_bytes(machine: Machine) -> int:
    """The cache that is nearest to the memory."""
    return max((cache.size_bytes for cache in machine.caches), default=0)
