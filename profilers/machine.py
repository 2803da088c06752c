"""What machine this is: cores, vector units, caches, memory."""

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

_FLAGS = ("sse2", "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "asimd", "neon", "sve")
_ASSUMED_CACHES = (("Data", 1, 32 << 10, 8), ("Unified", 2, 512 << 10, 8), ("Unified", 3, 8 << 20, 16))
# glibc's _SC_LEVEL1_DCACHE_SIZE is 188; size, ways and line size follow each other for L1d, L2, L3
_SYSCONF_CACHES = (("Data", 1, 188), ("Unified", 2, 191), ("Unified", 3, 194))


@dataclass(frozen=True, slots=True)
class Cache:
    """One data or unified cache as a core sees it; `shared_by` counts the logical cores behind it."""

    level: int
    kind: str  # "Data" or "Unified"
    size_bytes: int
    line_bytes: int
    ways: int  # 0 where unknown
    shared_by: int


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as measurements depend on it. `caches_from` is "sys", "sysconf" or "assumed"."""

    cpu_model: str
    vendor: str
    architecture: str
    flags: tuple[str, ...]  # the interesting ones of the instruction set
    physical_cores: int  # usable by this process
    logical_cores: int  # usable by this process
    caches: tuple[Cache, ...]
    caches_from: str
    memory_bytes: int
    governor: str | None  # None where frequencies are not ours to see, as in virtual machines
    kernel: str
    family: int = 0  # of x86 processors, as the vendor counts; 0 where unknown
    model: int = 0

    @property
    def vector_bytes(self) -> int:
        """Width of the widest usable SIMD register."""
        if "avx512f" in self.flags:
            return 64
        return 32 if "avx" in self.flags else 16

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits equal only for machines whose measurements may be compared.

        Kernel and governor are left out; memory counts in whole GiB.
        """
        gib = round(self.memory_bytes / (1 << 30))
        parts = (self.cpu_model, self.vendor, self.architecture, self.flags, self.physical_cores, self.logical_cores)
        return hashlib.sha256(repr((parts, self.caches, gib)).encode()).hexdigest()[:16]

    def cache(self, level: int) -> Cache | None:
        """The cache of that level, or None."""
        return next((cache for cache in self.caches if cache.level == level), None)


@dataclass(frozen=True, slots=True)
class CounterSupport:
    """Whether a counter tool really counts here, and what it said."""

    tool: str  # "perf" or "likwid"
    usable: bool
    detail: str


def describe_machine(root: Path = Path("/")) -> Machine:
    """Describes this machine from /proc and /sys below `root`, with fallbacks where files are missing."""
    info = _cpuinfo(root / "proc/cpuinfo")
    listed = set((info.get("flags") or info.get("Features") or "").split())
    cpus = sorted(os.sched_getaffinity(0))
    system = root / "sys/devices/system/cpu"
    caches, source = _caches(system, cpus)
    return Machine(
        cpu_model=info.get("model name") or info.get("CPU part") or platform.processor() or "unknown",
        vendor=info.get("vendor_id") or info.get("CPU implementer") or "unknown",
        architecture=platform.machine(),
        flags=tuple(flag for flag in _FLAGS if flag in listed),
        physical_cores=_physical_cores(system, cpus),
        logical_cores=len(cpus),
        caches=caches,
        caches_from=source,
        memory_bytes=_memory_bytes(root / "proc/meminfo"),
        governor=_read(system / f"cpu{cpus[0]}/cpufreq/scaling_governor"),
        kernel=platform.release(),
        family=_number(info.get("cpu family")),
        model=_number(info.get("model")),
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def _cpuinfo(path: Path) -> dict[str, str]:
    """The fields of the first processor."""
    fields: dict[str, str] = {}
    for line in (_read(path) or "").split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    return fields


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def _memory_bytes(path: Path) -> int:
    for line in (_read(path) or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "MemTotal:" and words[1].isdigit():
            return int(words[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _physical_cores(system: Path, cpus: list[int]) -> int:
    cores = set()
    for cpu in cpus:
        topology = system / f"cpu{cpu}/topology"
        package, core = _read(topology / "physical_package_id"), _read(topology / "core_id")
        cores.add((package, core) if core is not None else (None, str(cpu)))
    return len(cores)


def _caches(system: Path, cpus: list[int]) -> tuple[tuple[Cache, ...], str]:
    """The data caches of the first usable core, nearest first, and where they were read."""
    caches = []
    for index in sorted((system / f"cpu{cpus[0]}/cache").glob("index*")):
        kind, level, size = (_read(index / name) for name in ("type", "level", "size"))
        size_bytes = _size(size)
        if kind not in ("Data", "Unified") or level is None or not level.isdigit() or not size_bytes:
            continue
        line, ways = (_read(index / name) or "" for name in ("coherency_line_size", "ways_of_associativity"))
        shared = _cpu_list(_read(index / "shared_cpu_list") or str(cpus[0]))
        caches.append(
            Cache(
                level=int(level),
                kind=kind,
                size_bytes=size_bytes,
                line_bytes=int(line) if line.isdigit() else 64,
                ways=int(ways) if ways.isdigit() else 0,
                shared_by=max(1, len(shared & set(cpus))),
            )
        )
    if caches:
        return tuple(sorted(caches, key=lambda cache: cache.level)), "sys"
    for kind, level_number, name in _SYSCONF_CACHES:
        size_bytes, way_count, line_bytes = (_sysconf(name + i) for i in range(3))
        if size_bytes > 0:
            shared_by = len(cpus) if level_number == 3 else 1
            caches.append(Cache(level_number, kind, size_bytes, line_bytes or 64, way_count, shared_by))
    if caches:
        return tuple(caches), "sysconf"
    return tuple(
        Cache(level_number, kind, size_bytes, 64, way_count, len(cpus) if level_number == 3 else 1)
        for kind, level_number, size_bytes, way_count in _ASSUMED_CACHES
    ), "assumed"


def _sysconf(name: int) -> int:
    try:
        return max(0, os.sysconf(name))
    except (OSError, ValueError):
        return 0


def _size(text: str | None) -> int:
    """Bytes of "32K", "1M" or "4096"; 0 for anything else."""
    if not text:
        return 0
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper())
    digits = text if factor is None else text[:-1]
    return int(digits) * (factor or 1) if digits.isdigit() else 0


def _cpu_list(text: str) -> set[int]:
    """The numbers of "0-3,8"."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers
