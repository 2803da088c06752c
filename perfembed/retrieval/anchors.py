"""Which recipes a nest is asked when the cross-transfer matrix is collected: anchors, which every nest is asked, and a
sample."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfembed.retrieval.cross_transfers import FOLDER
from perfembed.retrieval.donors import SCHEDULES, StoredDonor
from perfembed.retrieval.likeness import Recipe, recipe
from scheduler.cost.problem import Problem
from scheduler.errors import SchedulerError
from scheduler.schedule import parse_schedule

ANCHORS = "anchors.json"
_GOOD = 0.9  # of a donor's best speedup, for a kind of recipe that it stands for


def read_anchors(folder: Path = FOLDER) -> tuple[tuple[str, int], ...]:
    """(donor, number of its schedule) of the recipes that every nest is asked; none where there is no such file."""
    path = folder / ANCHORS
    return tuple((donor, number) for donor, number in json.loads(path.read_text())) if path.exists() else ()


def write_anchors(anchors: Sequence[tuple[str, int]], folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ANCHORS).write_text("[\n" + ",\n".join(json.dumps(one) for one in anchors) + "\n]\n")


def choose_anchors(
    problems: Iterable[Problem], donors: Mapping[str, StoredDonor], count: int = 40
) -> tuple[tuple[str, int], ...]:
    """Recipes of which for most nests one is good: a greedy cover of what was measured, by kinds of recipes.

    A kind is worth at a nest the best measured speedup of its schedules over the best of all; it is stood for by the
    smallest donor of it, as whole factorizations fit nothing else.
    """
    smallest: dict[Recipe, tuple[int, str, int]] = {}
    for donor in donors.values():
        for number, (text, speedup) in enumerate(zip(donor.schedules, donor.speedups, strict=True)):
            if number < SCHEDULES and speedup >= _GOOD * donor.speedups[0]:
                kind = _kind(text)
                if kind is not None:
                    smallest.setdefault(kind, (1 << 30, "", 0))
                    smallest[kind] = min(smallest[kind], (len(donor.text), donor.nest_id, number))
    worth: dict[Recipe, dict[int, float]] = defaultdict(dict)
    nests = 0
    for nest, problem in enumerate(problems):
        nests = nest + 1
        best = max(1.0, *problem.speedups)
        for schedule, speedup in zip(problem.schedules, problem.speedups, strict=True):
            kind = recipe(schedule)
            if kind in smallest:
                worth[kind][nest] = max(worth[kind].get(nest, 0.0), speedup / best)
    reached = [0.0] * nests
    chosen: list[tuple[str, int]] = []
    left: set[Recipe] = set(worth)
    while left and len(chosen) < count:
        gains = {
            kind: sum(max(0.0, share - reached[nest]) for nest, share in worth[kind].items())
            for kind in sorted(left, key=sorted)
        }
        kind = max(gains, key=lambda one: gains[one])
        left.discard(kind)
        for nest, share in worth[kind].items():
            reached[nest] = max(reached[nest], share)
        _, donor_id, number = smallest[kind]
        chosen.append((donor_id, number))
    return tuple(chosen)


def _kind(text: str) -> Recipe | None:
    try:
        return recipe(parse_schedule(text))
    except SchedulerError:
        return None


def sample(
    rng: random.Random, donors: Sequence[str], count: int, left_out: Collection[str]
) -> Iterator[tuple[tuple[str, int], float]]:
    """((donor, 0), the chance it had) of `count` donors drawn at random, none of those left out."""
    free = [donor for donor in donors if donor not in left_out]
    count = min(count, len(free))
    yield from (((donor, 0), count / len(free)) for donor in rng.sample(free, count))
