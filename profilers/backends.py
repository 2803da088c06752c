"""Which source of profiles there is on a machine."""

from __future__ import annotations

from collections.abc import Mapping

from profilers.backend import Backend
from profilers.contained.errors import ProfilersError
from profilers.likwid import LikwidBackend
from profilers.perf import PerfBackend
from profilers.simulated.backend import SimulatedBackend


class BackendMissing(ProfilersError):
    """The source of profiles that was asked for does not count here."""


def choose(name: str, environment: Mapping[str, str]) -> Backend:
    """The backend of that name; "auto" takes the first of LIKWID, perf and the simulation that really counts.

    Raises BackendMissing, in one line with the reason.
    """
    known: dict[str, Backend] = {b.name: b for b in (LikwidBackend(), PerfBackend(), SimulatedBackend(jobs=2))}
    if name == "auto":
        return next(backend for backend in known.values() if backend.available(environment).usable)
    support = known[name].available(environment)
    if not support.usable:
        raise BackendMissing(f"{name} does not count here: {support.detail}")
    return known[name]
