"""Whether a nest is profiled before donors are looked for, and its profile.

What a nest is does not say what it does on its data where bounds or subscripts depend on them; and where the nearest
donors want different things, what the machine did may tell which of them is meant. Else a profile is a second spent on
nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfembed.capture import CapturedNest
from perfembed.measuring.canonical_request import canonical_request
from perfembed.retrieval.donors import Found
from perfembed.retrieval.likeness import good_recipes, likeness
from perfembed.tuning.options import Profiling
from profilers.backend import Backend, ProfileFailed
from profilers.build import CompilerConfig
from profilers.machine import Machine
from profilers.profile import Profile
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import loops, placed_statements, uses

# As alike as the good schedules of two donors at random are (`python -m tests.evaluation embedding`).
_AT_RANDOM = 0.36


@dataclass(frozen=True, slots=True)
class NestProfiled:
    """What a nest did, or why that is not known (`problem`); `why` it was asked, and what that took."""

    why: str
    seconds: float
    profile: Profile | None = None
    problem: str = ""
    before: tuple[Found, ...] = ()  # the donors that are nearest without it


@dataclass(frozen=True, slots=True)
class Profiler:
    """Of one run of `tune`. The caller holds the machine's measurement lock."""

    asked: Profiling
    backend: Backend
    machine: Machine
    environment: Mapping[str, str]

    def reason(self, nest: LoopNest, donors: Sequence[Found]) -> str:
        """Why a profile is wanted; empty where it is not. `donors`: the nearest without one."""
        if self.asked == "never":
            return ""
        if self.asked == "always":
            return "asked for"
        if depends_on_data(nest):
            return "bounds or subscripts depend on data"
        return "the nearest donors want different things" if disagree(donors) else ""

    def profile(
        self, why: str, nest: LoopNest, captured: CapturedNest, threads: int, compiler: CompilerConfig, workdir: Path
    ) -> NestProfiled:
        """Runs the nest in its canonical schedule."""
        began = time.monotonic()
        request = canonical_request(nest, captured, threads, compiler, self.machine, workdir, self.environment)
        found = ProfileFailed(request) if isinstance(request, str) else self.backend.profile(request[1])
        seconds = time.monotonic() - began
        if isinstance(found, ProfileFailed):
            return NestProfiled(why, seconds, problem=found.reason)
        return NestProfiled(why, seconds, found)


def depends_on_data(nest: LoopNest) -> bool:
    """Whether data decide how often a loop goes round, or which elements are touched."""
    if any(loop.is_opaque for loop in loops(nest)):
        return True
    return any(not use.access.is_affine for placed in placed_statements(nest) for use in uses(placed))


def disagree(donors: Sequence[Found]) -> bool:
    """Whether the good schedules of donors are no more alike than those of donors at random."""
    recipes = [good_recipes(found.donor) for found in donors]
    pairs = [likeness(a, b) for a, b in itertools.combinations(recipes, 2) if a and b]
    return bool(pairs) and float(np.mean(pairs)) <= _AT_RANDOM
