"""Searches over schedules, by name."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.moves.space import Space
from scheduler.search.beam import Beam
from scheduler.search.decisions import Exhaustive
from scheduler.search.explorer import Evaluate, Explorer
from scheduler.search.genetic import Accepts, Genetic
from scheduler.search.mcts import Mcts
from scheduler.search.random import RandomSearch
from scheduler.search.sampling import SampleSearch, StructureSearch

SEARCHES = ("beam", "mcts", "random", "exhaustive", "sample", "isl", "genetic")


def make_search(
    name: str,
    space: Space,
    evaluate: Evaluate,
    *,
    seed: int,
    limit: int | None,
    expired: Callable[[], bool],
    batch: int = 4,
    width: int = 3,
    accepts: Accepts | None = None,
) -> Explorer:
    """The search of that name (one of SEARCHES); the arguments are those of `Explorer`, `width` that of `Beam`,
    `accepts` that of `Genetic`.
    """
    match name:
        case "beam":
            return Beam(space, evaluate, width=width, batch=batch, limit=limit, expired=expired)
        case "mcts":
            return Mcts(space, evaluate, seed=seed, batch=max(batch, 8), limit=limit, expired=expired)
        case "random":
            return RandomSearch(space, evaluate, seed=seed, batch=batch, limit=limit, expired=expired)
        case "exhaustive":
            return Exhaustive(space, evaluate, batch=batch, limit=limit, expired=expired)
        case "sample":
            return SampleSearch(space, evaluate, seed=seed, batch=batch, limit=limit, expired=expired)
        case "isl":
            return StructureSearch(space, evaluate, seed=seed, batch=batch, limit=limit, expired=expired)
        case "genetic":
            return Genetic(
                space, evaluate, seed=seed, batch=max(batch, 8), limit=limit, expired=expired, accepts=accepts
            )
    raise ValueError(f"no search is called {name!r}: expected {', '.join(SEARCHES)}")
