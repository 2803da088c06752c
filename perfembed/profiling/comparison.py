"""The simulated counters beside measured ones, of nests that ship: how far the simulation is right on a machine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.capture import CaptureFailed, synthesize
from perfembed.measuring.canonical_request import canonical_request
from perfembed.retrieval.donors import StoredDonor, donor_shards, read_donors
from profilers.backend import Backend, ProfileFailed
from profilers.build import CompilerConfig
from profilers.counters import counters
from profilers.machine import Machine
from profilers.profile import Profile
from profilers.simulated.backend import SimulatedBackend
from scheduler.ir.text import parse_nest

# One of each kind: arithmetic, a matrix read across, stencils, indirect accesses, branches, calls.
ALGORITHMS = ("gemm", "atax", "jacobi-2d", "heat-3d", "spmv", "floyd-warshall", "softmax", "histogram")
_FEW = 1000.0  # counts below say nothing


@dataclass(frozen=True, slots=True)
class NestCounts:
    """What was counted of a nest of an algorithm by both, summed over the threads; or why it was not (`problem`)."""

    name: str
    sizes: Mapping[str, int]
    simulated: Mapping[str, float]
    measured: Mapping[str, float]
    problem: str = ""

    def ratio(self, counter: str) -> float:
        """Simulated over measured; NaN where one of them did not count it, or hardly anything happened."""
        simulated, measured = self.simulated.get(counter, math.nan), self.measured.get(counter, math.nan)
        return simulated / measured if measured > 0 and max(simulated, measured) >= _FEW else math.nan


@dataclass(frozen=True, slots=True)
class CounterComparison:
    """Of `source` ("likwid", "perf") with the simulation; `notes`: what the source says of its counters."""

    source: str
    nests: tuple[NestCounts, ...]
    notes: tuple[str, ...]

    def ratios(self, counter: str) -> list[float]:
        """Of all nests for which there is one."""
        return [ratio for nest in self.nests if math.isfinite(ratio := nest.ratio(counter))]

    def rows(self) -> Iterator[tuple[str, float, float, float, int]]:
        """(counter, least ratio, median, greatest, nests) of each counter that both counted somewhere."""
        for counter in counters():
            found = self.ratios(counter.name)
            if found:
                yield counter.name, min(found), statistics.median(found), max(found), len(found)


def compared_donors(algorithms: Sequence[str] = ALGORITHMS) -> list[StoredDonor]:
    """Of the donors that ship, the first nest of each of the algorithms there is."""
    found: dict[str, StoredDonor] = {}
    for donor in sorted(read_donors(donor_shards()).values(), key=lambda donor: donor.name):
        if donor.algorithm in algorithms:
            found.setdefault(donor.algorithm, donor)
    return [found[name] for name in algorithms if name in found]


def compare_counters(
    backend: Backend,
    donors: Sequence[StoredDonor],
    threads: int,
    compiler: CompilerConfig,
    machine: Machine,
    environment: Mapping[str, str],
    scratch: Path,
    progress: Callable[[str], None] = lambda text: None,
) -> CounterComparison:
    """Each donor's nest, on made-up data, counted by `backend` and by the simulation. The caller holds the lock."""
    found: list[NestCounts] = []
    notes: dict[str, None] = {}
    for number, donor in enumerate(donors):
        progress(f"{donor.algorithm}: {number + 1} of {len(donors)}")
        profiles = _profiles(backend, donor, threads, compiler, machine, environment, scratch / str(number))
        if isinstance(profiles, str):
            found.append(NestCounts(donor.algorithm, donor.sizes, {}, {}, profiles))
            continue
        simulated, measured = (
            {name: value for name, value in p.sums().items() if math.isfinite(value)} for p in profiles
        )
        found.append(NestCounts(donor.algorithm, donor.sizes, simulated, measured))
        notes |= dict.fromkeys(profiles[1].notes)
    return CounterComparison(backend.name, tuple(found), tuple(notes))


def _profiles(
    backend: Backend,
    donor: StoredDonor,
    threads: int,
    compiler: CompilerConfig,
    machine: Machine,
    environment: Mapping[str, str],
    scratch: Path,
) -> tuple[Profile, Profile] | str:
    """(simulated, measured), or why not."""
    nest = parse_nest(donor.text)
    captured = synthesize(nest, donor.sizes, 0, scratch / "data")
    if isinstance(captured, CaptureFailed):
        return captured.reason
    found: list[Profile] = []
    for one in (SimulatedBackend(), backend):
        request = canonical_request(nest, captured, threads, compiler, machine, scratch / one.name, environment)
        profile = one.profile(request[1]) if not isinstance(request, str) else request
        if not isinstance(profile, Profile):
            return profile.reason if isinstance(profile, ProfileFailed) else profile
        found.append(profile)
    return found[0], found[1]
