"""How good the cost models are: on programs whose combination of patterns no training saw, and on the kernels.

Most schedules with labels are what some search chose, by a model or by running them: nearly as good as each other, so
that their order is mostly noise. Nests with many labels, half of them drawn at random, are a part of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import get_args

from perfembed.learning.cost_models import part_of
from perfembed.learning.training_data import is_generated
from scheduler.cost.problem import CostModel, Problem
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from tests.evaluation.metrics import Scores, score

Part = OneOf["held-out programs", "held out, random and beam", "kernels"]
UNTIMED = "boosted, untimed"
_FEWEST = 4  # labels of a problem: less say nothing about order
_MANY = 40  # labels of a problem of `populate --held-out --schedules 64 --drawn 0.5`


@dataclass(frozen=True, slots=True)
class PartScores:
    """Scores of one model on one part of the data."""

    model: str
    part: Part
    scores: Scores


@dataclass(frozen=True, slots=True)
class Throughput:
    """Candidates a second: predicted from scheduled nests, and replayed, proved legal and predicted."""

    model: str
    alone: float
    whole: float


@dataclass(frozen=True, slots=True)
class CostModelResult:
    scores: tuple[PartScores, ...]
    throughput: tuple[Throughput, ...]
    seconds: float


def run_costmodel(
    problems: Sequence[Problem], models: Mapping[str, CostModel], progress: Callable[[str], None]
) -> CostModelResult:
    """Scores every model on the test part of the generated programs and on everything that was not generated.

    The boosted trees once more as they are where nobody measured the original.
    """
    began = time.monotonic()
    if "boosted" in models:
        models = {**models, UNTIMED: models["boosted"]}
    parts: dict[Part, list[Problem]] = {part: [] for part in get_args(Part)}
    for problem in problems:
        if not is_generated(problem.group):
            parts["kernels"].append(problem)
        elif part_of(problem.group) == "test":
            many = len(problem.speedups) >= _MANY
            parts["held out, random and beam" if many else "held-out programs"].append(problem)
    scores: list[PartScores] = []
    throughput: list[Throughput] = []
    predicting = dict.fromkeys(models, 0.0)
    counts = 0
    replaying = 0.0
    for part, wanted in parts.items():
        measured: list[tuple[float, ...]] = []
        given_up: list[frozenset[int]] = []
        predicted: dict[str, list[Sequence[float]]] = {name: [] for name in models}
        for problem in wanted:
            start = time.perf_counter()
            replayed = _replayed(problem)
            replaying += time.perf_counter() - start
            if replayed is None:
                continue
            replayer, scheduled, legal = replayed
            if len(scheduled) < _FEWEST:
                continue
            measured.append(tuple(problem.speedups[n] for n in legal))
            given_up.append(frozenset(place for place, n in enumerate(legal) if n in problem.given_up))
            counts += len(scheduled)
            for name, model in models.items():
                seconds = None if name == UNTIMED else problem.seconds
                start = time.perf_counter()
                found = model.predict(replayer, problem.parameters, problem.target, scheduled, seconds)
                predicting[name] += time.perf_counter() - start
                predicted[name].append([float(value) for value in found])
        progress(f"{part}: {len(measured)} nests")
        if measured:
            scores += [PartScores(name, part, score(measured, predicted[name], given_up)) for name in models]
    if counts:
        throughput = [
            Throughput(name, counts / seconds, counts / (seconds + replaying))
            for name, seconds in predicting.items()
            if name != UNTIMED  # its features are those of the other
        ]
    return CostModelResult(tuple(scores), tuple(throughput), time.monotonic() - began)


def _replayed(problem: Problem) -> tuple[Replayer, list[ScheduledNest], list[int]] | None:
    """The schedules that are legal, and their numbers."""
    try:
        replayer = Replayer(problem.nest)
        replayed = [replayer.replay(schedule) for schedule in problem.schedules]
    except QuotaExceeded:
        return None
    legal = [(n, scheduled) for n, scheduled in enumerate(replayed) if isinstance(scheduled, ScheduledNest)]
    return replayer, [scheduled for _, scheduled in legal], [n for n, _ in legal]
