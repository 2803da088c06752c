"""Who finds the recipes that pay: every method on the same measured entries of the cross-transfer matrix.

A method orders the recipes that were asked for a nest, those of relatives left out; of its first k different trees the
fastest counts (or the nest as written), as a share of what the fastest tree of all recipes that are left reaches. That
is judged of the method alone, and as `tune` goes on: its first `PROPOSED` recipes in the order of the cost model, which
knows what the nest as written takes. Nests are held out by algorithm, in five folds; the portfolio is made of the
others. The cost model and the embedding network are those that ship: both have seen programs of the generator.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfembed.retrieval.cross_transfers import Asked, Transfers
from perfembed.retrieval.donors import Donors
from perfembed.retrieval.nest_space import parts
from perfembed.retrieval.portfolio import SIZE, allowed, constant_portfolio

COUNTS = (1, 2, 3, 5, 10)
FOLDS = 5
PROPOSED = 10  # two of each of five donors
MORE = PROPOSED + SIZE
_DRAWS = 40
_CLOSE = 0.95
_RESAMPLES = 2000
Vectors = Mapping[tuple[str, str, str], npt.NDArray[np.float32]]
Order = Callable[[Transfers, Sequence[Asked]], Sequence[float]]
"""What a method expects of each recipe, the most first."""

REFERENCE = "constant portfolio"
RANKED = ", then cost model"
TOGETHER, TWICE = "nearest and portfolio", "nearest, twice as many"
_MANY = (TOGETHER, TWICE)
VERSUS = (f"constant portfolio{RANKED}", f"nearest by structure{RANKED}")


@dataclass(frozen=True, slots=True)
class MethodScore:
    """`shares`: geometric means by `COUNTS`, and `close`, of how many nests it is at least 95 %; `over`: time over that
    of the `REFERENCE` and of each of the others asked for, with the limits of 95 % by resampling algorithms, by method
    and count.
    """

    method: str
    shares: Mapping[int, float]
    close: Mapping[int, float]
    over: Mapping[str, Mapping[int, tuple[float, float, float]]]


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """`fits`: the share of asked recipes that does; `noise`: the median difference of two times of one tree."""

    nests: int
    algorithms: int
    labels: int
    fits: float
    noise: float
    machines: tuple[str, ...]
    methods: tuple[MethodScore, ...]


def fold_of(algorithm: str, folds: int = FOLDS) -> int:
    return hashlib.sha256(f"fold {algorithm}".encode()).digest()[0] % folds


Losses = Mapping[str, Mapping[int, Mapping[int, float]]]
"""By method, the position of the judged row and the count: log(time of the best so far / time of the best of all)."""


def judge(rows: Sequence[Transfers], donors: Donors, vectors: Vectors, others: Sequence[Transfers] = ()) -> Losses:
    """Five folds of `rows`; where there are `others`, these are judged, once, by what is made of all `rows`.

    Those without a vector are neither learned from nor judged.
    """
    losses: dict[str, dict[int, Mapping[int, float]]] = {}
    judged = list(enumerate(others or rows))
    for fold in range(1 if others else FOLDS):
        train = [row for row in rows if row.key in vectors and (others or fold_of(row.algorithm) != fold)]
        test = [(n, row) for n, row in judged if row.key in vectors and (others or fold_of(row.algorithm) == fold)]
        methods = _methods(train, donors, vectors)
        for n, row in test:
            choice = allowed(row, donors.by_id)
            if choice:
                every = {name: [_ranked(order(row, choice), choice)] for name, order in methods.items()}
                rng = random.Random(n)
                every["at random"] = [rng.sample(choice, len(choice)) for _ in range(_DRAWS)]
                for name, orders in every.items():
                    proposed = [one[: MORE if name in _MANY else PROPOSED] for one in orders]
                    then = [_ranked(_predicted(row, one), one) for one in proposed]
                    for title, found in ((name, orders), (name + RANKED, then)):
                        losses.setdefault(title, {})[n] = _mean_loss(row, found, choice)
                by_model = _ranked(_predicted(row, choice), choice)
                losses.setdefault("cost model of all", {})[n] = _mean_loss(row, [by_model], choice)
    return losses


def scores_of(
    rows: Sequence[Transfers], losses: Losses, seed: int, versus: Iterable[str] = (), counted: Sequence[int] = ()
) -> RetrievalScores:
    """What the methods lose on the judged `rows`, on those at the positions `counted` only where there are some."""
    counted = sorted(set(losses[REFERENCE]) & set(counted or losses[REFERENCE]))
    groups = [rows[n].algorithm for n in counted]
    table = {name: np.array([[found[n][k] for k in COUNTS] for n in counted]) for name, found in losses.items()}
    scores = [
        MethodScore(
            name,
            dict(zip(COUNTS, np.exp(-values.mean(axis=0)).tolist(), strict=True)),
            dict(zip(COUNTS, (values <= -math.log(_CLOSE)).mean(axis=0).tolist(), strict=True)),
            {
                other: {k: _interval(values[:, c] - table[other][:, c], groups, seed) for c, k in enumerate(COUNTS)}
                for other in (REFERENCE, *versus)
                if other != name
            },
        )
        for name, values in table.items()
    ]
    chosen = [rows[n] for n in counted]
    asked = [one for row in chosen for one in row.asked]
    again = [abs(math.log(t.seconds / t.again)) for row in chosen for t in row.trees if t.again and t.seconds]
    return RetrievalScores(
        len(counted),
        len(set(groups)),
        len(asked),
        sum(one.tree is not None for one in asked) / max(len(asked), 1),
        float(np.median(again)) if again else math.nan,
        tuple(sorted({row.machine for row in chosen})),
        tuple(scores),
    )


def _ranked(said: Sequence[float], recipes: Sequence[Asked]) -> list[Asked]:
    return [recipes[n] for n in np.argsort([-value for value in said], kind="stable")]


def _mean_loss(row: Transfers, orders: Sequence[Sequence[Asked]], choice: Sequence[Asked]) -> dict[int, float]:
    """By count, the mean over orders."""
    best = max(0.0, *map(row.gain, choice))
    found: dict[int, list[float]] = {k: [] for k in COUNTS}
    for order in orders:
        gains = list({one.tree: row.gain(one) for one in order}.values())
        for k, losses in found.items():
            losses.append(best - max(0.0, *gains[:k]))
    return {k: float(np.mean(losses)) for k, losses in found.items()}


# ------------------------------------------------------------------------------------------- methods


def _methods(train: Sequence[Transfers], donors: Donors, vectors: Vectors) -> dict[str, Order]:
    def near(*names: str) -> Order:
        def order(row: Transfers, choice: Sequence[Asked]) -> list[float]:
            own = vectors[row.key]
            chosen = np.r_[tuple(parts(len(own))[name] for name in names)]
            theirs = [donors.index.vector(one.donor) for one in choice]
            return [-math.inf if v is None else -float(np.linalg.norm(v[chosen] - own[chosen])) for v in theirs]

        return order

    portfolio = constant_portfolio(train, donors.by_id)
    places = {key: n for n, key in enumerate(portfolio)}
    nearest = near("structure", "learned")

    def constant(row: Transfers, choice: Sequence[Asked]) -> list[float]:
        return [-places.get(one.key, math.inf) for one in choice]

    def together(row: Transfers, choice: Sequence[Asked]) -> list[float]:
        first = {one.key for one in _ranked(nearest(row, choice), choice)[:PROPOSED]}
        return [1.0 if one.key in first else said for one, said in zip(choice, constant(row, choice), strict=True)]

    return {
        REFERENCE: constant,
        "nearest by structure": near("structure"),
        "nearest by network": near("learned"),
        "nearest": nearest,
        TWICE: nearest,
        TOGETHER: together,
    }


def _predicted(row: Transfers, choice: Sequence[Asked]) -> list[float]:
    return [math.log(max(row.trees[one.tree].predicted, 1e-9)) for one in choice if one.tree is not None]


def _interval(
    differences: np.ndarray[tuple[int], np.dtype[np.float64]], groups: Sequence[str], seed: int
) -> tuple[float, float, float]:
    """(time ratio, and its limits of 95 %), algorithms resampled."""
    names = sorted(set(groups))
    sums = np.array([sum(d for d, g in zip(differences, groups, strict=True) if g == name) for name in names])
    counts = np.array([groups.count(name) for name in names])
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(_RESAMPLES, len(names)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return math.exp(float(differences.mean())), math.exp(float(low)), math.exp(float(high))
