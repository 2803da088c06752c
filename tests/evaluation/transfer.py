"""Transfer against long searches and against simpler ways, on nests whose algorithm gave no donor.

Source: Trümper et al. 2023, section 5.3 and table 2.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from perfembed.errors import UsageError
from perfembed.retrieval.ablation import Ablation, Choose
from perfembed.retrieval.donors import Donors, Found, StoredDonor
from perfembed.retrieval.families import LeftOut
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.nest_space import NestSpace, Vector, parts
from perfembed.retrieval.portfolio import read_portfolio
from perfembed.retrieval.retrieve import Retrieval, open_sources
from perfembed.transfer.assignment import assign
from perfembed.transfer.view import Side
from profilers.machine import describe_machine
from scheduler.cost.problem import CostModel
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from tests.evaluation.methods import Donating, Method

NEAREST, PROFILED = "transfer, k = 5", "with profiles"
METHODS = (
    Method(NEAREST),
    Method("transfer, k = 10", k=10),
    Method("generated relatives too", generated_relatives=True),
    Method("random donors", donors="random"),
    Method("hand-made features", donors="hand-made"),
    Method("beam by model", "beam", "model+run", factor=0),
    Method(PROFILED, profiling="always"),
    Method("without alignment", repair=False),
    Method("without composition", compose=False),
    Method("without refinement", refine=False),
    Method("recipes of the paper", repair=False, refine=False),
)
MACHINES = (
    Method("donors of this machine", donors="own"),
    Method("as many as of others", donors="own, fewer"),
    Method("donors of other machines", donors="foreign"),
)
"""Does it matter on whose machine a donor was measured? Of more donors some are nearer, whoever measured them."""


APPLICATIONS = (
    "minplus", "mlp", "softmax", "heat-3d", "horizontal-diffusion", "box-blur", "unsharp-mask", "daubechies", "haar",
    "harris", "histogram", "gemm",
)  # fmt: skip
"""The paper's table 2; its blur is our box-blur, its matrix product our gemm."""


def measuring(methods: Sequence[Method], counts: Sequence[int]) -> tuple[Method, ...]:
    """Each method that transfers once for each number of candidates measured, which are not refined; the others."""
    return tuple(
        one
        for method in methods
        for one in (
            (replace(method, name=f"{method.name}, {count} measured", top=count, refine=False) for count in counts)
            if method.search == "transfer"
            else (method,)
        )
    )


def leaving_out(methods: Sequence[Method], cost: CostModel | None, seed: int) -> Donating:
    """The shipped donors, but for those of the algorithm asked about and its relatives.

    Raises EnvironmentMissing, UsageError.

    `seed`: which ones of this machine are left where there are to be fewer.

    UsageError also where a method takes donors of this or of other machines, and there are none.
    """
    choosers = _Choosers(*open_sources(None), seed)
    _start_up(choosers)
    accepting = {m.name: choosers.accepting(m) for m in methods}
    portfolio = read_portfolio()

    def retrievals(algorithm: str, target: Target, drawn: int) -> dict[str, Retrieval]:
        return {
            m.name: Retrieval(
                choosers.space,
                choosers.sources,
                target,
                k=m.k,
                cost=cost,
                without_algorithms=_left_out(m, algorithm),
                ablation=Ablation(choosers.of(m, algorithm, drawn), accepting[m.name], m.repair, m.compose),
                portfolio=portfolio,
            )
            for m in methods
            if m.search == "transfer"
        }

    return retrievals


def _left_out(method: Method, algorithm: str) -> LeftOut:
    return LeftOut([algorithm], generated=not method.generated_relatives)


def _start_up(choosers: _Choosers) -> None:
    """Modules imported and models run once, which is no program's overhead."""
    donor = next(iter(choosers.donors.values()))
    choosers.space.vector(Replayer(parse_nest(donor.text)), donor.sizes, donor.target)
    assign(np.zeros((2, 2)))


class _Choosers:
    """Other ways to choose donors than the nearest ones."""

    def __init__(self, space: NestSpace, sources: Sequence[Donors], seed: int) -> None:
        self.space, self.sources, self.seed = space, sources, seed
        self.donors = {d.nest_id: d for source in sources for d in source.by_id.values()}

    def accepting(self, method: Method) -> Callable[[StoredDonor], bool] | None:
        """Which of the nearest donors count, by the machine they were measured on; None: all. Raises UsageError."""
        if method.donors not in ("own", "own, fewer", "foreign"):
            return None
        here = describe_machine().fingerprint
        own, foreign = (
            {d.nest_id for d in self.donors.values() if (d.machine == here) == wanted} for wanted in (True, False)
        )
        if method.donors == "own, fewer":
            own = set(random.Random(self.seed).sample(sorted(own), min(len(own), len(foreign))))
        chosen = foreign if method.donors == "foreign" else own
        if not chosen:
            whose = "another machine" if method.donors == "foreign" or own else "this machine"
            raise UsageError(f"{method.name}: no donor was measured on {whose}")
        return lambda donor: donor.nest_id in chosen

    def of(self, method: Method, without: str, seed: int) -> Choose | None:
        """None: the nearest in that space. `seed`: of what is drawn."""
        left_out = _left_out(method, without)
        match method.donors:
            case "random":
                rng = random.Random(f"{seed} {without}")
                donors = [d for d in self.donors.values() if d.algorithm not in left_out]
                return lambda side, k: tuple(Found(d, 0.0) for d in rng.sample(donors, min(k, len(donors))))
            case "hand-made":
                rows = {key: v for key in self.donors for s in self.sources if (v := s.index.vector(key)) is not None}
                part = parts(len(next(iter(rows.values()))))["structure"]

                def vector_of(side: Side) -> Vector:
                    return self.space.vector(side.replayer, side.parameters, side.machine)[part]

                return self._nearest({key: v[part] for key, v in rows.items()}, left_out, vector_of)
        return None

    def _nearest(self, vectors: Mapping[str, Vector], left_out: LeftOut, vector_of: Callable[[Side], Vector]) -> Choose:
        rows = {key: v for key, v in vectors.items() if self.donors[key].algorithm not in left_out}
        index = VectorIndex.build(tuple(rows), np.ascontiguousarray(np.stack(list(rows.values()))), "bench")
        return lambda side, k: tuple(Found(self.donors[n.id], n.distance) for n in index.search(vector_of(side), k))
