"""What is told while candidates are measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CandidateMeasured:
    """After every measured candidate of the nest at hand."""

    best_s: float
    original_s: float
    count: int
