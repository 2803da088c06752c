"""Where the vectors of donors come from: those that ship and those of a database, with profiles and without."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from optdb.database import Database
from optdb.errors import OptdbError
from optdb.ingest import ingest
from optdb.record_queries import Embeddings, embeddings
from optdb.records import EmbeddingRecord
from optdb.spool import SpoolWriter, spool_directory
from perfembed.embedding.network.interface import profile_numbers
from perfembed.learning.training_profiles import read_profiles
from perfembed.retrieval.donors import SEED, Donors, StoredDonor, donor_shards, donors_in, read_donors
from perfembed.retrieval.index import VectorIndex, database_index, open_index
from profilers.contained.errors import ProfilersError
from profilers.profile import Profile
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer

if TYPE_CHECKING:
    from perfembed.retrieval.nest_space import NestSpace

PROFILES = SEED.with_name("profiles")
_PROFILED = """
    SELECT p.nest_id, c.machine, c.sizes, p.document FROM _store.profiles p
    JOIN _store.conditions c USING (conditions_id) ORDER BY p.nest_id, p.source <> 'simulated', p.profile_id
"""


def seed_donors(space: NestSpace, folder: Path = SEED) -> Donors:
    """What ships. The vectors are made anew where the model is not the one they were made with. Raises UsageError."""
    shards = donor_shards(folder)
    found = read_donors(shards)
    stamp = " ".join(f"{shard.name} {shard.stat().st_size}" for shard in shards)
    index = open_index(folder / "vectors.index", space.space_id, stamp, lambda: _vectors(found, space))

    def profiled() -> VectorIndex:
        shards = sorted(PROFILES.glob("donors-*.parquet"))
        known = f"{stamp} {' '.join(f'{shard.name} {shard.stat().st_size}' for shard in shards)}"
        return open_index(
            folder / "profiled.index", space.space_id, known, lambda: _behaviour(found, space, read_profiles(shards))
        )

    return Donors(found, index, functools.cache(profiled))


def database_donors(path: Path, space: NestSpace) -> Donors:
    """Those of a database; nests without a vector get one, which is stored. Raises OptdbError."""
    with Database.open(path, read_only=True) as database:
        found = donors_in(database)
        stored = embeddings(database, space.space_id, static_only=True)
        missing = {key: found[key] for key in found.keys() - set(stored.nest_ids)}
        if not missing:
            index = database_index(database, space.space_id, static_only=True)
            return Donors(found, index, _profiled(path, found, space))
    ids, vectors = _vectors(missing, space)
    every = np.concatenate((stored.vectors, vectors)) if stored.nest_ids else vectors
    whole = Embeddings((*stored.nest_ids, *ids), every)
    profiled = _profiled(path, found, space)
    rows = zip(ids, vectors, strict=True)
    try:
        with SpoolWriter(spool_directory(path)) as writer:
            writer.append([EmbeddingRecord(i, space.space_id, None, tuple(map(float, v))) for i, v in rows])
        with Database.open(path) as database:
            ingest(database, spool_directory(path))
            return Donors(found, database_index(database, space.space_id, static_only=True), profiled)
    except OptdbError:  # others write, or nobody may
        return Donors(found, VectorIndex.build(whole.nest_ids, whole.vectors, space.space_id), profiled)


def _stored_profiles(database: Database, donors: Mapping[str, StoredDonor]) -> dict[str, tuple[float, ...]]:
    """Numbers of profiles taken on the donors' own machines and sizes, by nest_id; simulated ones before others.

    What ships was profiled by simulation, and counts of one source are like each other.
    """
    found: dict[str, tuple[float, ...]] = {}
    for nest_id, machine, sizes, document in database.rows(_PROFILED):
        donor = donors.get(nest_id)
        if donor is None or donor.machine != machine or nest_id in found:
            continue
        with contextlib.suppress(ProfilersError, ValueError, AttributeError):
            if {name: int(value) for name, value in json.loads(sizes).items()} == dict(donor.sizes):
                found[nest_id] = profile_numbers(Profile.from_json(document))
    return found


def _profiled(path: Path, donors: Mapping[str, StoredDonor], space: NestSpace) -> Callable[[], VectorIndex]:
    """What makes the index of a database's donors that have a profile; empty where profiles cannot be read."""

    def made() -> VectorIndex:
        profiles: Mapping[str, Sequence[float]] = {}
        with contextlib.suppress(OptdbError), Database.open(path, read_only=True) as database:
            profiles = _stored_profiles(database, donors)
        ids, vectors = _behaviour(donors, space, profiles)
        return VectorIndex.build(ids, vectors, space.space_id)

    return functools.cache(made)


def _behaviour(
    donors: Mapping[str, StoredDonor], space: NestSpace, profiles: Mapping[str, Sequence[float]]
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """`_vectors` of the donors that have a profile, made with it."""
    return _vectors({key: donors[key] for key in profiles if key in donors}, space, profiles)


def _vectors(
    donors: Mapping[str, StoredDonor], space: NestSpace, profiles: Mapping[str, Sequence[float]] = MappingProxyType({})
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """One of each donor on the machine it was measured on; none for what cannot be read or embedded.

    `profiles`: `profile_numbers`, by nest_id.
    """
    by_target: dict[Target, list[str]] = {}
    for key, donor in donors.items():
        by_target.setdefault(donor.target, []).append(key)
    ids: list[str] = []
    rows: list[npt.NDArray[np.float32]] = []
    for target, keys in by_target.items():
        known: list[str] = []
        nests: list[tuple[Replayer, Mapping[str, int]]] = []
        for key in keys:
            with contextlib.suppress(SchedulerError):
                nests.append((Replayer(parse_nest(donors[key].text)), donors[key].sizes))
                known.append(key)
        found = space.vectors(nests, target, [profiles.get(key) for key in known] if profiles else None)
        ids += [key for key, vector in zip(known, found, strict=True) if vector is not None]
        rows += [vector for vector in found if vector is not None]
    return ids, np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
