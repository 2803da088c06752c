"""What a comparison of ways to find schedules takes away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfembed.retrieval.donors import Found, StoredDonor
    from perfembed.transfer.view import Side

Choose = Callable[["Side", int], "tuple[Found, ...]"]
"""So many donors for a nest."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """What a comparison of methods takes away.

    `choose` takes other donors than the nearest, for whole nests only; of the nearest ones only those count that
    `accept` lets through; without `repair` every step of a recipe must fit; without `compose` each candidate comes from
    one donor, and none from the nest itself.
    """

    choose: Choose | None = None
    accept: Callable[[StoredDonor], bool] | None = None
    repair: bool = True
    compose: bool = True


NO_ABLATION = Ablation()
