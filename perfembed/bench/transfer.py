"""Transfer against long searches and against simpler ways, on nests whose algorithm gave no donor.

Source: Trümper et al. 2023, section 5.3 and table 2.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perfembed.bench.methods import Donating, Method
from perfembed.donors import Donors, Found, StoredDonor
from perfembed.index import VectorIndex
from perfembed.nest_space import NestSpace
from perfembed.retrieval import Choose, Retrieval, open_sources
from perfembed.transfer.view import Side
from scheduler.cost.problem import CostModel
from scheduler.errors import NotApplicable
from scheduler.ir.text import nest_id, parse_nest
from scheduler.replay import Replayer
from scheduler.space import Target

METHODS = (
    Method("transfer, k = 5"),
    Method("transfer, k = 10", k=10),
    Method("random donors", donors="random"),
    Method("hand-made features", donors="hand-made"),
    Method("beam by model", "beam", "model+run", factor=0),
    Method("with profiles", donors="profiled"),
    Method("without alignment", repair=False),
    Method("without refinement", refine=False),
    Method("recipes of the paper", repair=False, refine=False),
)


def leaving_out(
    methods: Sequence[Method], cost: CostModel | None, seed: int, profiles: Mapping[str, Sequence[float]]
) -> Donating:
    """The shipped donors, but for those of the algorithm asked about; `profiles` by nest_id, for methods with them.

    Raises EnvironmentMissing.
    """
    space, sources = open_sources(None)
    vectors = _profiled_vectors(space, sources, profiles) if any(m.donors == "profiled" for m in methods) else {}

    def retrievals(algorithm: str, target: Target) -> dict[str, Retrieval]:
        return {
            m.name: Retrieval(
                space,
                sources,
                target,
                k=m.k,
                cost=cost,
                without_algorithms=(algorithm,),
                choose=_with_profiles(space, sources, algorithm, profiles, vectors)
                if m.donors == "profiled"
                else _chooser(m, space, sources, algorithm, seed),
                repair=m.repair,
            )
            for m in methods
            if m.search == "transfer"
        }

    return retrievals


def _chooser(method: Method, space: NestSpace, sources: Sequence[Donors], without: str, seed: int) -> Choose | None:
    """None: the nearest in that space."""
    if method.donors == "nearest":
        return None
    donors = [d for source in sources for d in source.by_id.values() if d.algorithm != without]
    if method.donors == "random":
        rng = random.Random(f"{seed} {without}")
        return lambda side, k: tuple(Found(d, 0.0) for d in rng.sample(donors, min(k, len(donors))))
    return _by_hand(donors, sources, space)


def _profiled_vectors(
    space: NestSpace, sources: Sequence[Donors], profiles: Mapping[str, Sequence[float]]
) -> dict[str, npt.NDArray[np.float32]]:
    """Of all donors, those that have one with their profile."""
    donors = [d for source in sources for d in source.by_id.values()]
    found: dict[str, npt.NDArray[np.float32]] = {}
    for target in dict.fromkeys(d.target for d in donors):
        some = [d for d in donors if d.target == target]
        nests = [(Replayer(parse_nest(d.text)), d.sizes) for d in some]
        vectors = space.vectors(nests, target, [profiles.get(d.nest_id) for d in some])
        found |= {d.nest_id: v for d, v in zip(some, vectors, strict=True) if v is not None}
    return found


def _with_profiles(
    space: NestSpace,
    sources: Sequence[Donors],
    without: str,
    profiles: Mapping[str, Sequence[float]],
    vectors: Mapping[str, npt.NDArray[np.float32]],
) -> Choose:
    """The nearest where nests lie with their profiles; a nest without one is looked for without."""
    by_id = {d.nest_id: d for s in sources for d in s.by_id.values() if d.algorithm != without and d.nest_id in vectors}
    index = VectorIndex.build(tuple(by_id), np.stack([vectors[key] for key in by_id]), "profiled")

    def choose(side: Side, k: int) -> tuple[Found, ...]:
        nest = side.replayer.nest
        (vector,) = space.vectors([(side.replayer, side.parameters)], side.machine, [profiles.get(nest_id(nest))])
        if vector is None:
            raise NotApplicable(f"{nest.name}: cannot be embedded")
        return tuple(Found(by_id[n.id], n.distance) for n in index.search(vector, k))

    return choose


def _by_hand(donors: Sequence[StoredDonor], sources: Sequence[Donors], space: NestSpace) -> Choose:
    """The nearest by the hand-made features alone: the part of their vectors that was not learned."""
    rows = {d.nest_id: v for d in donors for s in sources if (v := s.index.vector(d.nest_id)) is not None}
    by_id = {d.nest_id: d for d in donors}
    every = np.stack(list(rows.values()))
    part = space.parts(every.shape[1])["structure"]
    index = VectorIndex.build(tuple(rows), np.ascontiguousarray(every[:, part]), "hand-made")

    def choose(side: Side, k: int) -> tuple[Found, ...]:
        vector = space.vector(side.replayer, side.parameters, side.machine)[part]
        return tuple(Found(by_id[n.id], n.distance) for n in index.search(vector, k))

    return choose
