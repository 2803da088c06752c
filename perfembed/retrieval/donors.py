"""Donors: nests with good schedules, from the seed database that ships and from the user's own, and which are near.

A donor is data from elsewhere: its texts are parsed strictly, and what is made of them is proved legal on the target.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import optdb
from optdb.database import Database
from perfembed.learning.shards import read_query, read_shards, write_shard
from perfembed.learning.training_data import target_of_machine
from perfembed.measuring.store import element_type
from perfembed.retrieval.families import NOTHING_LEFT_OUT, LeftOut
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.options import Same
from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target

SEED = Path(optdb.__file__).with_name("data") / "donors"
SHARD_VERSION = 1
SCHEDULES = 2  # of each donor that are transferred: the best, and one that does it another way
BESIDE = 3  # times as many donors, of which those are taken that behave like a nest
_ASSUMES = re.compile(r"^\s*assume\b", re.MULTILINE)
_KEPT = 4  # schedules of a nest: the best and runners-up
_LEAST = 1.05  # speedup of what is worth transferring
_COLUMNS = (
    "version", "nest_id", "name", "text", "algorithm", "place", "machine", "isa", "caches", "compiler_version",
    "flags", "threads", "sizes", "element_type", "verified", "schedules", "speedups",
)  # fmt: skip
# Of each nest the conditions under which it was measured most; a confirmed time counts before that of a search. One
# schedule at least has a verified output; others were proved and timed only, and none is known to compute another one.
_DONORS = f"""
    WITH best AS (
        SELECT nest_id, conditions_id, schedule,
               max_by(list_min(baseline) / min_s, (kind = 'confirm', -min_s)) AS speedup, bool_or(verified) AS verified
        FROM measurements m
        WHERE outcome = 'timed' AND len(baseline) > 0 AND NOT reassociated AND NOT EXISTS (
            FROM measurements w WHERE w.outcome = 'wrong_result' AND w.schedule_id = m.schedule_id)
        GROUP BY ALL),
    grouped AS (
        SELECT nest_id, conditions_id, count(*) AS measured, bool_or(verified) AS verified,
               list(schedule ORDER BY speedup DESC)[1:{_KEPT}] AS schedules,
               list(speedup ORDER BY speedup DESC)[1:{_KEPT}] AS speedups
        FROM (SELECT *, bool_or(verified) OVER (PARTITION BY nest_id, conditions_id) AS checked FROM best)
        WHERE checked AND speedup > {_LEAST}
        GROUP BY ALL)
    SELECT {SHARD_VERSION} AS version, g.nest_id, n.name, n.text,
           array_to_string(list_sort(n.algorithms), '+') AS algorithm, list_sort(n.places)[1] AS place,
           c.machine, m.isa, m.caches, c.compiler_version, c.flags, c.threads, c.sizes, c.element_type,
           g.verified, g.schedules, g.speedups
    FROM grouped g JOIN nests n USING (nest_id) JOIN conditions c USING (conditions_id)
    JOIN machines m ON m.machine = c.machine
    QUALIFY row_number() OVER (PARTITION BY g.nest_id ORDER BY g.measured DESC, g.conditions_id) = 1
    ORDER BY g.nest_id
"""


@dataclass(frozen=True, slots=True)
class StoredDonor:
    """A nest with the schedules that made it faster, best first, as text; `speedups` are theirs.

    The output of at least one of its schedules was verified, not of each: what is made of them is verified again.

    `place`: the file or the generator's number it came from. `machine`: the fingerprint of the one it ran on.
    `sizes` by the names of `text`'s parameters.
    """

    nest_id: str
    name: str
    text: str
    algorithm: str
    place: str
    machine: str
    target: Target
    sizes: Mapping[str, int]
    element_type: str
    schedules: tuple[str, ...]
    speedups: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A donor and the Euclidean distance of its vector to the one asked for. `number`: of the schedule that is asked of
    it; None for its first ones."""

    donor: StoredDonor
    distance: float
    number: int | None = None

    @property
    def numbers(self) -> range:
        """Of the schedules that are transferred."""
        first = self.number or 0
        return range(first, min(first + (SCHEDULES if self.number is None else 1), len(self.donor.schedules)))


@dataclass(frozen=True, slots=True)
class Donors:
    """One source of donors: the index has a vector for each."""

    by_id: Mapping[str, StoredDonor]
    index: VectorIndex
    profiled: Callable[[], VectorIndex] | None = None  # vectors with a profile, of the donors that have one

    def nearest(
        self,
        vector: npt.NDArray[np.float32],
        k: int,
        accept: Callable[[StoredDonor], bool] | None = None,
    ) -> list[Found]:
        """At most `k`, nearest first; of those that `accept` lets through."""
        only = None if accept is None else self.index.mask(lambda i: i in self.by_id and accept(self.by_id[i]))
        found = self.index.search(vector, k, only=only)
        return [Found(self.by_id[one.id], one.distance) for one in found if one.id in self.by_id]


def nearest(
    sources: Sequence[Donors],
    vector: npt.NDArray[np.float32],
    k: int,
    accept: Callable[[StoredDonor], bool] | None = None,
) -> tuple[Found, ...]:
    """The `k` nearest of all sources, each nest once, of those that `accept` lets through."""
    return closest((one for source in sources for one in source.nearest(vector, k, accept)), k)


def asked_besides(
    sources: Sequence[Donors],
    recipes: Iterable[tuple[str, int]],
    vector: npt.NDArray[np.float32],
    near: Iterable[Found],
    accept: Callable[[StoredDonor], bool] | None = None,
) -> list[Found]:
    """Those of the `recipes` (donor, number of its schedule) that are not among the ones of `near`."""
    asked = {(one.donor.nest_id, number) for one in near for number in one.numbers}
    found: dict[tuple[str, int], Found] = {}
    for key in recipes:
        for source in sources:
            donor, theirs = source.by_id.get(key[0]), source.index.vector(key[0])
            if donor is None or theirs is None or key in asked or key in found:
                continue
            if accept is None or accept(donor):
                found[key] = Found(donor, float(np.linalg.norm(theirs - vector)), key[1])
    return list(found.values())


def accepting(
    without_algorithms: LeftOut = NOTHING_LEFT_OUT,
    without_nests: Collection[str] = (),
    only: Sequence[Callable[[StoredDonor], bool]] = (),
) -> Callable[[StoredDonor], bool] | None:
    """Lets through what is neither of an algorithm nor a nest left out and what each of `only` does; None: anything."""

    @functools.cache
    def left_out(algorithm: str) -> bool:
        return algorithm in without_algorithms

    def accept(donor: StoredDonor) -> bool:
        if left_out(donor.algorithm) or donor.nest_id in without_nests:
            return False
        return all(one(donor) for one in only)

    return accept if without_algorithms or without_nests or only else None


def behaving(
    sources: Sequence[Donors], near: Sequence[Found], vector: npt.NDArray[np.float32], part: slice
) -> tuple[Found, ...]:
    """Donors in the order of how alike they behave: by the `part` of vectors that profiles are in, `vector` the nest's;
    those without a profile, in their order, behind all others. Distances are those of that part.
    """
    own = vector[part]
    farthest = 2.0 * float(np.linalg.norm(own))
    found = []
    for one in near:
        indexes = (s.profiled() for s in sources if s.profiled is not None and one.donor.nest_id in s.by_id)
        theirs = next((v for index in indexes if (v := index.vector(one.donor.nest_id)) is not None), None)
        distance = farthest + one.distance if theirs is None else float(np.linalg.norm(own - theirs[part]))
        found.append(replace(one, distance=distance))
    return tuple(sorted(found, key=lambda f: (f.distance, f.donor.nest_id)))


def closest(found: Iterable[Found], k: int) -> tuple[Found, ...]:
    """The `k` nearest of what was found, each nest once."""
    every: dict[str, Found] = {}
    for one in sorted(found, key=lambda f: (f.distance, f.donor.nest_id)):
        every.setdefault(one.donor.nest_id, one)
    return tuple(every.values())[:k]


def alike(nest: LoopNest, machine: str, things: Collection[Same]) -> Callable[[StoredDonor], bool] | None:
    """Lets through the donors measured on that machine, with the nest's element type, and that assume something of
    their parameters only where the nest does; of these conditions, those named. None where none is."""
    own, assumes = element_type(nest), bool(nest.assumptions)

    def accept(donor: StoredDonor) -> bool:
        if "machine" in things and donor.machine != machine:
            return False
        if "type" in things and donor.element_type != own:
            return False
        return "assumptions" not in things or assumes or _ASSUMES.search(donor.text) is None

    return accept if things else None


def donor_shards(folder: Path = SEED) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def read_donors(shards: Sequence[Path]) -> dict[str, StoredDonor]:
    """By nest_id, the faster one of a nest that is there twice; what is no donor is left out. Raises UsageError."""
    found: dict[str, StoredDonor] = {}
    for row in read_shards(shards, _COLUMNS):
        donor = _donor(row)
        if donor is not None:
            known = found.get(donor.nest_id)
            if known is None or known.speedups[0] < donor.speedups[0]:
                found[donor.nest_id] = donor
    return found


def donors_in(database: Database) -> dict[str, StoredDonor]:
    """Those of a database, by nest_id."""
    return {d.nest_id: d for row in read_query(database, _DONORS) if (d := _donor(row)) is not None}


def export_donors(database: Path, shard: Path) -> int:
    """Writes the donors of a database that are in no shard beside it to a new Parquet file; how many.

    Raises OptdbError, UsageError. A nest whose schedules are others now is written once more.

    A shard is made to be given away: of the files the nests come from it has the names, not the folders.
    """
    name = "regexp_replace(place, '^.*/', '') AS place"
    query = f"SELECT * REPLACE ({name}) FROM ({_DONORS})"
    return write_shard(database, shard, query, ("nest_id", "machine", "schedules"))


def _donor(row: Mapping[str, Any]) -> StoredDonor | None:
    """None for a row that is none: a database is data from elsewhere."""
    try:
        return StoredDonor(
            nest_id=str(row["nest_id"]),
            name=str(row["name"]),
            text=str(row["text"]),
            algorithm=str(row["algorithm"]),
            place=str(row["place"]),
            machine=str(row["machine"]),
            target=target_of_machine(row["isa"], row["caches"], int(row["threads"])),
            sizes={str(name): int(value) for name, value in json.loads(row["sizes"]).items()},
            element_type=str(row["element_type"]),
            schedules=tuple(map(str, row["schedules"])),
            speedups=tuple(map(float, row["speedups"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
