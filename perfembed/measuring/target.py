"""The machine and the compiler's flags as what schedules are made for; its memory's rates, kept or measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from profilers.build import CompilerConfig, compiler_path
from profilers.calibrate import calibrate_streams
from profilers.contained.child import Limits
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.machine import Machine
from profilers.rates import RatesCache, StreamRates
from profilers.run import run_contained
from scheduler.machine.target import CacheLevel, Core, Rates, Target

_LIMITS = Limits.of_work(20.0)


@dataclass(frozen=True, slots=True)
class VectorUnits:
    """`registers`: (bytes of a register, how many of them), widest first; `fused`: with multiply-add in one."""

    registers: tuple[tuple[int, int], ...]
    fused: bool


def vector_units(cc: str, flags: tuple[str, ...], environment: Mapping[str, str]) -> VectorUnits | None:
    """What code for these flags may use; None where the compiler does not say. Asked once."""
    try:
        path = compiler_path(cc, environment)
    except ProfilersError:
        return None
    return _asked(path, flags, tuple(sorted(environment.items())))


@lru_cache(maxsize=64)
def _asked(path: str, flags: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> VectorUnits | None:
    with scratch_folder() as directory:
        env = {**dict(environment), "LC_ALL": "C", "TMPDIR": str(directory)}
        (directory / "empty.c").write_text("")
        try:
            command = (path, *flags, "-w", "-dM", "-E", "empty.c")
            finished = run_contained(command, limits=_LIMITS, env=env, cwd=directory)
        except ProfilersError:
            return None
    if not finished.ok:
        return None
    lines = finished.stdout.decode(errors="replace").splitlines()
    return units_of(frozenset(words[1] for line in lines if len(words := line.split()) > 1 and words[0] == "#define"))


def units_of(macros: frozenset[str]) -> VectorUnits | None:
    """What the names of predefined macros say.

    256-bit vectors count with the 16 registers that AVX2 has also where AVX-512 gives them more: the larger register
    file goes with the wider vectors.
    """
    found: list[tuple[int, int]] = []
    if "__AVX512F__" in macros:
        found.append((64, 32))
    if "__AVX__" in macros:
        found.append((32, 16))
    elif "__SSE2__" in macros:
        found.append((16, 16))
    elif "__aarch64__" in macros or "__VSX__" in macros:
        found.append((16, 32))
    fused = not macros.isdisjoint(("__FMA__", "__AVX512F__", "__aarch64__", "__VSX__"))
    return VectorUnits(tuple(found), fused) if found else None


_AMD, _INTEL = "AuthenticAMD", "GenuineIntel"
_BEFORE_HASWELL = frozenset((0x2A, 0x2D, 0x3A, 0x3E))
_HASWELL_BROADWELL = frozenset((0x3C, 0x3D, 0x3F, 0x45, 0x46, 0x47, 0x4F, 0x56))


def target_of(
    machine: Machine, threads: int, units: VectorUnits | None = None, rates: StreamRates | None = None
) -> Target:
    """What schedules need to know of a machine; of its vectors what the compiler may use (None: it was not asked), and
    what was measured of it (None: nothing)."""
    sizes = {level: cache.size_bytes for level in (1, 2, 3) if (cache := machine.cache(level)) is not None}
    default = Target(threads)
    return Target(
        threads,
        min(machine.vector_bytes or default.vector_bytes, default.vector_bytes),
        sizes.get(1, default.l1_bytes),
        sizes.get(2, default.l2_bytes),
        sizes.get(3, default.l3_bytes),
        core_of(machine, units, rates),
    )


def compiled_target(
    machine: Machine,
    threads: int,
    compiler: CompilerConfig,
    environment: Mapping[str, str],
    rates: StreamRates | None = None,
) -> Target:
    """`target_of`, with what the compiler says it may use under its flags."""
    return target_of(machine, threads, vector_units(compiler.cc, compiler.flags, environment), rates)


def core_of(machine: Machine, units: VectorUnits | None = None, rates: StreamRates | None = None) -> Core:
    """The core's registers, pipelines and caches; of what is not known the defaults of `Core`.

    The latency of a multiplication and an addition, and how many are begun a cycle, are known of a few families:
    5 and 2 of Haswell, Broadwell and Zen 2, 4 and 2 of what came after (where 512-bit vectors may be begun only once a
    cycle, a block that covers two covers one), 8 and 1 of Intel's before, 5 and 1 of AMD's before. 5 and 2 elsewhere.
    """
    default = Core()
    found = [cache for level in (1, 2, 3) if (cache := machine.cache(level)) is not None]
    caches = tuple(CacheLevel(c.size_bytes, c.ways, c.line_bytes, c.shared_by) for c in found)
    latency, per_cycle = _pipelines(machine) or (default.latency, default.per_cycle)
    measured = None if rates is None else Rates(rates.memory_gbs, rates.cache_gbs, rates.region_s)
    if units is None:
        registers = tuple(r for r in default.registers if r[0] <= machine.vector_bytes) or ((16, 16),)
        return Core(registers, default.fused, latency, per_cycle, caches or default.caches, measured)
    return Core(units.registers, units.fused, latency, per_cycle, caches or default.caches, measured)


def _pipelines(machine: Machine) -> tuple[int, int] | None:
    """(latency, begun a cycle) of a vector's multiplication and addition."""
    family, model = machine.family, machine.model
    if machine.vendor == _AMD and family:
        if family < 0x17 or (family == 0x17 and model < 0x30):
            return 5, 1
        return (5, 2) if family == 0x17 else (4, 2)
    if machine.vendor == _INTEL and family == 6 and model:
        if model in _BEFORE_HASWELL:
            return 8, 1
        if model in _HASWELL_BROADWELL:
            return 5, 2
        return (4, 2) if "avx2" in machine.flags else None
    return None


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
