"""What is told of a dependence: plain values, which need no polyhedral library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DependenceView:
    """`distance` has (loop, least, greatest) of sink minus source iterator for every common loop; None is unbounded.

    `source_at`, `sink_at` and `parameters` are one pair of instances that touch the same element.
    """

    kind: str
    source: str
    sink: str
    array: str
    exact: bool
    reduction: bool
    distance: tuple[tuple[str, int | None, int | None], ...]
    source_at: tuple[tuple[str, int], ...]
    sink_at: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, int], ...]
