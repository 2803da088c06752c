"""The share of a nest's candidates that is drawn at random from all that is legal, for cost models to learn from."""

from __future__ import annotations

import math

from perfembed.measuring.measurer import Conditions
from perfembed.tuning.nest_outcome import Effort
from scheduler.moves.space import Space
from scheduler.search.drawn import Drawn
from scheduler.search.explorer import Evaluate

_BATCH = 4


def drawing(space: Space, effort: Effort, measure: Evaluate, conditions: Conditions, deadline: float) -> Drawn | None:
    """The search that draws them, within their share of the time until `deadline` (s); None where there are none.

    It comes before the search proper: what that does not find for lack of time must be there all the same.
    """
    now = conditions.runner.now
    wanted = math.ceil(effort.drawn * ((effort.schedules if effort.evaluate == "run" else effort.top) or 0))
    if not wanted or effort.evaluate == "model":
        return None
    last = now() + effort.drawn * (deadline - now())
    return Drawn(space, measure, seed=conditions.seed, batch=_BATCH, limit=wanted, expired=lambda: now() > last)
