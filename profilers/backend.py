"""What every source of profiles offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profilers.build import CompilerConfig
from profilers.machine import CounterSupport, Machine
from profilers.profile import Profile
from profilers.workload import Workload


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A nest to profile, as C.

    `workload` is the nest in its canonical schedule. `traced` is the same text with every access, floating-point
    operation and branch marked (`PE_…` macros, see `simulated/trace.h`) for the simulation; None where there is none.
    `repetitions` runs are measured, after a warm-up that moved twice the L2 size (1,000 runs at most).
    """

    workload: Workload
    traced: str | None
    compiler: CompilerConfig
    machine: Machine
    workdir: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    repetitions: int = 10


@dataclass(frozen=True, slots=True)
class ProfileFailed:
    """No profile: one line that says why and what could be done; of longer texts the beginning is kept."""

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", " ".join(self.reason.split())[:300])


class Backend(Protocol):
    """A source of profiles. The caller holds the machine's measurement lock."""

    @property
    def name(self) -> str:
        """What `Profile.source` says."""
        ...

    def available(self, environment: Mapping[str, str]) -> CounterSupport:
        """Whether it really counts on this machine."""
        ...

    def profile(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """Runs the nest and counts."""
        ...
