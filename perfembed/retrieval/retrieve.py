"""From a nest to the schedules worth measuring: embed it, find the nearest donors, transfer what made them fast."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from optdb.errors import OptdbError
from perfembed.embedding.network.interface import profile_numbers
from perfembed.embedding.network.nodes import GraphNodeEmbedder
from perfembed.errors import DatabaseProblem, EnvironmentMissing
from perfembed.learning.cost_models import load_cost_model, own_weights
from perfembed.retrieval.ablation import NO_ABLATION, Ablation
from perfembed.retrieval.donor_vectors import database_donors, seed_donors
from perfembed.retrieval.donors import (
    BESIDE,
    Donors,
    Found,
    StoredDonor,
    accepting,
    alike,
    asked_besides,
    behaving,
    closest,
    nearest,
)
from perfembed.retrieval.families import NOTHING_LEFT_OUT, LeftOut
from perfembed.retrieval.nest_space import NestSpace, parts
from perfembed.retrieval.options import Same
from perfembed.retrieval.portfolio import read_portfolio
from perfembed.retrieval.space_training import usable_space
from perfembed.transfer.candidates import Candidate, Donor, candidates, read_donor
from perfembed.transfer.compose import compositions, core_of, partial, trees_of, wavefronts
from perfembed.transfer.embedders import JoinedEmbedder, NodeEmbedder, OnceEmbedder
from perfembed.transfer.recommend import Recommendation, behind, by_donor, recommend
from perfembed.transfer.view import Side
from profilers.machine import describe_machine
from scheduler.errors import SchedulerError
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule

if TYPE_CHECKING:
    from perfembed.retrieval.cross_transfers import RecipeKey
    from profilers.profile import Profile
    from scheduler.cost.problem import CostModel

_TREE_DONORS = 2  # for each loop tree of several


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a nest's neighbours lead to: those of the whole, nearest first, then those of its trees (if several).

    `unreadable`: (donor, reason) of those that are no nests or schedules.
    `predicted`: the candidates' speedups; empty without a cost model. `spread`: of measured ones around those.
    """

    neighbours: tuple[Found, ...]
    recommendation: Recommendation
    unreadable: tuple[tuple[str, str], ...]
    predicted: Mapping[Schedule, float]
    spread: tuple[float, float] | None = None


def open_retrieval(
    target: Target,
    database: Path | None,
    *,
    k: int = 5,
    without_algorithms: LeftOut = NOTHING_LEFT_OUT,
    same: Collection[Same] = (),
    weights: str | None = None,
) -> Retrieval:
    """With the shipped models, the shipped donors and those of the user's database, where there are any.

    `same`: what donors must have in common with the nest (`perfembed.retrieval.donors.alike`).
    `weights`: folder of a cost model to take instead. Raises EnvironmentMissing where the embedding's weights or all
    donors are missing.
    """
    space, sources = open_sources(database)
    try:
        cost = load_cost_model(folder=own_weights(weights))
    except EnvironmentMissing:
        cost = None  # the donors' speedups rank the candidates
    return Retrieval(
        space,
        sources,
        target,
        k=k,
        cost=cost,
        without_algorithms=without_algorithms,
        same=same,
        portfolio=read_portfolio(),
    )


def open_sources(database: Path | None, strict: bool = False) -> tuple[NestSpace, list[Donors]]:
    """The space of the shipped model, and all donors there are. Raises EnvironmentMissing without weights.

    A database that cannot be read has none; if `strict`, raises DatabaseProblem.
    """
    space = usable_space()
    sources = [seed_donors(space)]
    if database is not None and database.exists():
        try:
            sources.append(database_donors(database, space))
        except OptdbError as problem:  # of a tuning it is reported by what writes to it
            if strict:
                raise DatabaseProblem(problem.message, problem.advice) from None
    return space, sources


class Retrieval:
    """Donors and models, loaded once; donors that were used are kept, for a file's nests resemble each other."""

    def __init__(
        self,
        space: NestSpace,
        sources: Sequence[Donors],
        target: Target,
        *,
        k: int = 5,
        cost: CostModel | None = None,
        without_algorithms: LeftOut = NOTHING_LEFT_OUT,
        same: Collection[Same] = (),
        ablation: Ablation = NO_ABLATION,
        portfolio: Sequence[RecipeKey] = (),
    ) -> None:
        """`target`: the machine tuned for. `cost` ranks candidates; without one the donors' speedups do. `portfolio`:
        recipes of donors that are tried at every nest.
        """
        self.space, self.target, self.k = space, target, k
        self._sources, self._cost = tuple(sources), cost
        self._without, self._same = without_algorithms, frozenset(same)
        self._machine = describe_machine().fingerprint if same else ""
        self._ablation, self._portfolio = ablation, tuple(portfolio)
        self._embedders: dict[Target, NodeEmbedder] = {}
        self._sides: dict[str, Side] = {}

    def side(self, replayer: Replayer, sizes: Mapping[str, int]) -> Side:
        """The nest as the target of transfers, without private arrays that it needs only for how it is written."""
        first = replayer.eliminations()
        return Side(replayer.of(first), sizes, self.target, self._embedder(self.target), first)

    def retrieve(
        self,
        side: Side,
        *,
        measure: int = 10,
        without_nests: Collection[str] = (),
        expired: Callable[[], bool] = lambda: False,
        profile: Profile | None = None,
        seconds: float | None = None,
        writable: Callable[[ScheduledNest], bool] = lambda scheduled: True,
    ) -> Retrieved:
        """At most `measure` candidates for the nest of `side`; of donors looked at before the time is `expired`.

        `profile`: of the nest; donors are looked for with it then. `seconds`: what the nest as written takes on one
        thread, for the cost model. `writable`: whether code can be made for a schedule of the nest.
        Raises SchedulerError where the nest cannot be embedded.
        """
        found = list(self.neighbours(side, without_nests, profile))
        if self._portfolio and self._ablation.choose is None:
            vector = self.space.vector(side.replayer, side.parameters, self.target)
            accept = self._accepting(side, without_nests)
            found += asked_besides(self._sources, self._portfolio, vector, found, accept)
        unreadable: list[tuple[str, str]] = []
        cost, donors = self._cost, self._readable(found, unreadable)
        predicted: dict[Schedule, float] = {}

        def slowness(pool: Sequence[Candidate]) -> list[float]:
            assert cost is not None
            scheduled = [candidate.scheduled for candidate in pool]
            speedups = cost.predict(side.replayer, side.parameters, self.target, scheduled, seconds)
            predicted.update((s.schedule, float(speedup)) for s, speedup in zip(scheduled, speedups, strict=True))
            return [1 / max(float(speedup), 1e-9) for speedup in speedups]

        def composed(pool: Sequence[Candidate]) -> Sequence[Candidate]:
            made: list[Candidate] = []
            for trees in trees_of(side) if not expired() else ():
                partials: list[list[Candidate]] = [[] for _ in trees]
                for tree, own in zip(trees, partials, strict=True):
                    near: tuple[Found, ...] = ()
                    with contextlib.suppress(SchedulerError):
                        near = self._found(self.side(Replayer(tree.nest), side.parameters), _TREE_DONORS, without_nests)
                    found.extend(one for one in near if one.donor.nest_id not in {f.donor.nest_id for f in found})
                    for donor in self._readable(near, unreadable):
                        if not expired():
                            with contextlib.suppress(SchedulerError):
                                own += partial(donor, side, tree)
                made += compositions(side, trees, partials, pool, slowness, expired)
            return (*made, *wavefronts(side, pool))

        composing = cost is not None and self._ablation.repair and self._ablation.compose
        recommendation = recommend(
            donors,
            side,
            scorer=by_donor if cost is None else slowness,
            measure=measure,
            repair=self._ablation.repair,
            more=composed if composing else lambda pool: (),
            expired=expired,
            writable=lambda made: writable(replace(made, schedule=(*side.first, *made.schedule))),
        )
        if side.first:
            recommendation = behind(side.first, recommendation)
            predicted = {(*side.first, *schedule): speedup for schedule, speedup in predicted.items()}
        return Retrieved(
            tuple(found), recommendation, tuple(unreadable), predicted, cost.spread if cost is not None else None
        )

    def led_to(self, side: Side, stored: StoredDonor, number: int) -> tuple[ScheduledNest, float] | None:
        """Of what one schedule of a donor leads to, that which the cost model predicts to be the fastest, behind the
        steps that `side` begins with, and its speedup; None where it fits nowhere. Raises SchedulerError.
        """
        assert self._cost is not None
        found = candidates(self._donor(Found(stored, 0.0), number), side)
        if not found:
            return None
        scheduled = [one.scheduled for one in found]
        speedups = self._cost.predict(side.replayer, side.parameters, self.target, scheduled)
        best = int(speedups.argmax())
        return replace(scheduled[best], schedule=(*side.first, *scheduled[best].schedule)), float(speedups[best])

    def neighbours(
        self, side: Side, without_nests: Collection[str] = (), profile: Profile | None = None
    ) -> tuple[Found, ...]:
        """The nearest to the nest or to its core, nearest first. Raises SchedulerError."""
        near = self._found(side, self.k, without_nests, profile)
        if self._ablation.choose is None and self._ablation.repair:
            with contextlib.suppress(SchedulerError):  # the nest as it is written was found donors for
                core = core_of(side)
                if core is not None:
                    # What the core does is most of what was counted of the whole.
                    near += self._found(self.side(Replayer(core), side.parameters), self.k, without_nests, profile)
        return closest(near, self.k)

    def _found(
        self, side: Side, k: int, without_nests: Collection[str], profile: Profile | None = None
    ) -> tuple[Found, ...]:
        """With a `profile`: of `BESIDE` times as many, those that behave most like it. Raises SchedulerError."""
        if self._ablation.choose is not None:
            return self._ablation.choose(side, k)
        vector = self.space.vector(side.replayer, side.parameters, self.target)
        accept = self._accepting(side, without_nests)
        found = nearest(self._sources, vector, k if profile is None else BESIDE * k, accept)
        if profile is None:
            return found
        learned = parts(len(vector))["learned"]
        behaved = self.space.vector(side.replayer, side.parameters, self.target, profile_numbers(profile))
        return behaving(self._sources, found, behaved, learned)[:k]

    def _accepting(self, side: Side, without_nests: Collection[str]) -> Callable[[StoredDonor], bool] | None:
        only = alike(side.replayer.nest, self._machine, self._same), self._ablation.accept
        return accepting(self._without, without_nests, [one for one in only if one is not None])

    def _readable(self, found: Sequence[Found], unreadable: list[tuple[str, str]]) -> list[Donor]:
        donors: list[Donor] = []
        for one in found:
            try:
                donors += self._donors(one)
            except SchedulerError as problem:
                unreadable.append((one.donor.nest_id, str(problem)))
        return donors

    def _donors(self, found: Found) -> list[Donor]:
        return [self._donor(found, number) for number in found.numbers]

    def _donor(self, found: Found, number: int) -> Donor:
        stored = found.donor
        side = self._sides.get(stored.nest_id)
        donor = read_donor(
            side if side is not None else stored.text,
            stored.schedules[number],
            stored.sizes,
            stored.target,
            self._embedder(stored.target),
            name=stored.nest_id,
            distance=found.distance,
            speedup=stored.speedups[number],
        )
        if not donor.side.first:
            self._sides.setdefault(stored.nest_id, donor.side)
        return donor

    def _embedder(self, target: Target) -> NodeEmbedder:
        if target not in self._embedders:
            # What a step changed is seen in the hand-made part; the network is too slow to be asked after each.
            learned = OnceEmbedder(GraphNodeEmbedder(self.space.model, target))
            self._embedders[target] = JoinedEmbedder(learned, self.space.handmade)
        return self._embedders[target]
