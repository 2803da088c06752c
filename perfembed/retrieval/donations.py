"""What donors are worth to each other's nests: the fastest that the schedules of one lead to at another.

Which donors to look for is learned from it (`train space`). Two schedules can be made of the same steps while one is
ten times as fast; so it is not their likeness that counts but what comes out. Speedups are a cost model's, for a
database has millions of pairs, and none is run.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfembed.embedding.network.schedule_map import MappedNests, train_schedule_map
from perfembed.errors import UsageError
from perfembed.learning.cost_models import SHIPPED, part_of
from perfembed.learning.shards import read_shards
from perfembed.learning.training_data import is_generated
from perfembed.retrieval.donors import Donors, Found, StoredDonor, read_donors
from perfembed.retrieval.families import related
from perfembed.retrieval.nest_space import NestSpace, Vector, written_features
from perfembed.retrieval.retrieve import Retrieval
from perfembed.retrieval.space_training import MAP, NAME, usable_embedding_model
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.normalize.materialized_nest import normal_form
from scheduler.replay import Replayer

NEAR, DRAWN = 6, 5  # donors asked: in each part of the space, and at random
_COLUMNS = ("nest", "donor", "speedup", "drawn")


@dataclass(frozen=True, slots=True)
class Donation:
    """`speedup` of a donor's nest, predicted, by the best of what another donor leads to, at least 1.

    `drawn`: that one was drawn at random, not looked for.
    """

    nest: str
    donor: str
    speedup: float
    drawn: bool


def collect_donations(
    donors: Donors,
    space: NestSpace,
    cost: CostModel,
    spool: Path,
    seed: int,
    shard: tuple[int, int],
    progress: Callable[[str], None],
    known: Collection[str] = (),
    budget_s: float = math.inf,
) -> int:
    """Of every donor's nest, on its own machine, what its nearest donors in each part of the space are worth, and some
    at random; how many nests are in the spool then.

    `spool` takes a line a nest; nests that it has, and `known` ones, are not done again, and none is begun after the
    budget. `shard` (i, n): every n-th from the i-th on, from 1. Donors of related algorithms are not asked. Raises
    OSError.
    """
    until = time.monotonic() + budget_s
    spooled = set(_spooled(spool)) if spool.exists() else set()
    asking = _Asking(donors, space, cost, seed)
    order = sorted(donors.by_id)
    random.Random(seed).shuffle(order)
    mine = order[shard[0] - 1 :: shard[1]]
    with spool.open("a", encoding="utf-8") as file:
        for number, nest in enumerate(mine):
            if time.monotonic() > until:
                break
            if nest not in spooled and nest not in known:
                found = asking.donations(donors.by_id[nest])
                file.write(json.dumps({"nest": nest, "donations": [asdict(one) for one in found]}) + "\n")
                file.flush()
                spooled.add(nest)
                progress(f"{number + 1}/{len(mine)} {donors.by_id[nest].algorithm}: {len(found)} donors")
    return len(spooled)


class _Asking:
    def __init__(self, donors: Donors, space: NestSpace, cost: CostModel, seed: int) -> None:
        self.donors, self.space, self.cost, self.seed = donors, space, cost, seed
        self.ids = tuple(key for key in donors.by_id if donors.index.vector(key) is not None)
        self.rows = np.stack([v for key in self.ids if (v := donors.index.vector(key)) is not None])
        self.retrievals: dict[Target, Retrieval] = {}

    def donations(self, stored: StoredDonor) -> tuple[Donation, ...]:
        """Nothing for a nest that cannot be embedded."""
        if stored.target not in self.retrievals:
            self.retrievals[stored.target] = Retrieval(self.space, [self.donors], stored.target, cost=self.cost)
        retrieval = self.retrievals[stored.target]
        replayer = Replayer(parse_nest(stored.text))
        try:
            vector = self.space.vector(replayer, stored.sizes, stored.target)
        except SchedulerError:
            return ()
        side = retrieval.side(replayer, stored.sizes)
        near, drawn = self._asked(stored, vector)
        found = []
        for key in dict.fromkeys((*near, *drawn)):
            speedup = retrieval.worth(side, Found(self.donors.by_id[key], 0.0))
            found.append(Donation(stored.nest_id, key, round(speedup, 4), key in drawn and key not in near))
        return tuple(found)

    def _asked(self, stored: StoredDonor, vector: Vector) -> tuple[list[str], list[str]]:
        """(the nearest in each part and in all of them, as long as each other; drawn ones)"""
        algorithms = [self.donors.by_id[key].algorithm for key in self.ids]
        others = [n for n, name in enumerate(algorithms) if not related(name, stored.algorithm)]
        squares = []
        for part in self.space.parts(self.rows.shape[1]).values():
            between = ((self.rows[others, part] - vector[part]) ** 2).sum(axis=1)
            squares.append(between / max(float(between.mean()), 1e-12))
        squares.append(np.sum(squares, axis=0))
        near = [self.ids[others[n]] for square in squares for n in np.argsort(square, kind="stable")[:NEAR]]
        drawn = random.Random(f"{self.seed} {stored.nest_id}").sample(others, min(DRAWN, len(others)))
        return near, [self.ids[n] for n in drawn]


def _spooled(spool: Path) -> Iterator[str]:
    """The nests of a spool, whose last line is cut off where a kill has torn it."""
    text = spool.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        spool.write_bytes(whole)
    for line in whole.splitlines():
        yield str(json.loads(line)["nest"])


def export_donations(spool: Path, shard: Path) -> int:
    """Writes what was spooled as a Parquet file that does not exist; how many rows. Raises UsageError."""
    import duckdb

    if shard.exists():
        raise UsageError(f"{shard} exists already", "choose another name: shards are only added")
    rows = [
        tuple(one[name] for name in _COLUMNS)
        for line in spool.read_text(encoding="utf-8").splitlines()
        for one in json.loads(line)["donations"]
    ]
    shard.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE found (nest VARCHAR, donor VARCHAR, speedup DOUBLE, drawn BOOLEAN)")
        if rows:
            connection.executemany("INSERT INTO found VALUES (?, ?, ?, ?)", rows)
        path = str(shard).replace("'", "''")
        connection.execute(f"COPY (SELECT * FROM found ORDER BY ALL) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return len(rows)


def read_donations(shards: Sequence[Path]) -> tuple[Donation, ...]:
    """Raises UsageError."""
    return tuple(Donation(**row) for row in read_shards(shards, _COLUMNS))


def train_space(shards: Sequence[Path], donations: Sequence[Path], seed: int, folder: Path) -> Path:
    """Trains the map of schedules on what donors are worth to each other, but for those of algorithms that are kept for
    tests; where it is.

    What it stands beside is the embedding of `folder`, or where there is none, the one that ships. Raises UsageError
    without donors of two algorithms or without donations, EnvironmentMissing without an embedding.
    """
    model = usable_embedding_model(folder if (folder / NAME).exists() else SHIPPED)
    space = NestSpace(model)
    features: list[npt.NDArray[np.float32]] = []
    vectors: list[npt.NDArray[np.float32]] = []
    donors = []
    for donor in read_donors(shards).values():
        if is_generated(donor.algorithm) and part_of(donor.algorithm) != "test":
            with contextlib.suppress(SchedulerError):
                written = Replayer(parse_nest(donor.text))
                vector = space.vector(written, donor.sizes, donor.target)
                features.append(written_features(normal_form(written), donor.sizes, donor.target))
                vectors.append(vector)
                donors.append(donor)
    if len({donor.algorithm for donor in donors}) < 2:
        raise UsageError("a map needs donors of two algorithms at least", "perfembed db donors exports some")
    worth = worth_matrix([donor.nest_id for donor in donors], read_donations(donations))
    if not np.isfinite(worth).any():
        raise UsageError(
            "nobody knows what these donors are worth to each other", "perfembed train space --export asks"
        )
    rows = np.stack(vectors)
    parts = {name: rows[:, part] for name, part in space.parts(rows.shape[1]).items()}
    groups = tuple(donor.algorithm for donor in donors)
    found = train_schedule_map(
        MappedNests(np.array(features), parts["learned"], parts["structure"], worth, groups), seed
    )
    path = folder / MAP
    data = {"data": [s.name for s in shards], "donations": [s.name for s in donations]}
    replace(found, card={**found.card, **data, "embedding": model.model_id}).save(path)
    return path


def worth_matrix(nests: Sequence[str], donations: Sequence[Donation]) -> npt.NDArray[np.float32]:
    """[n, n]: the speedup that donor j leads to at nest i over the best that any does.

    A donor that nobody asked is worth as much as those drawn at random are in the mean; NaN where none was asked.
    """
    places = {nest: n for n, nest in enumerate(nests)}
    found = np.full((len(nests), len(nests)), np.nan, dtype=np.float32)
    asked: dict[str, list[Donation]] = {}
    for one in donations:
        if one.nest in places and one.donor in places:
            asked.setdefault(one.nest, []).append(one)
    for nest, several in asked.items():
        best = max(one.speedup for one in several)
        drawn = [one.speedup for one in several if one.drawn] or [one.speedup for one in several]
        row = found[places[nest]]
        row[:] = np.mean(drawn) / best
        row[[places[one.donor] for one in several]] = [one.speedup / best for one in several]
        row[places[nest]] = np.nan
    return found
