"""Profiles to train the embedding on: out of databases into Parquet shards, and from those into examples."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.network.examples import Example
from perfembed.embedding.network.interface import profile_numbers
from perfembed.embedding.network.targets import metric_row
from perfembed.learning.shards import read_shards, write_shard
from perfembed.learning.training_data import is_generated, target_of_machine
from profilers.contained.errors import ProfilersError
from profilers.profile import Profile
from profilers.simulated.backend import DISTURBED
from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.io_bound import io_lower_bound
from scheduler.polyhedral.model import Model, QuotaExceeded

SHARD_VERSION = 1
_COLUMNS = (
    "version", "nest_id", "text", "algorithm", "machine", "isa", "caches", "compiler_version", "flags", "threads",
    "sizes", "element_type", "source", "document",
)  # fmt: skip
_PROFILES = f"""
    SELECT {SHARD_VERSION} AS version, r.nest_id, n.text, array_to_string(list_sort(n.algorithms), '+') AS algorithm,
           c.machine, m.isa, m.caches, c.compiler_version, c.flags, c.threads, c.sizes, c.element_type,
           CAST(r.source AS VARCHAR) AS source, r.document
    FROM _store.profiles r JOIN nests n USING (nest_id) JOIN conditions c USING (conditions_id)
    JOIN machines m ON m.machine = c.machine
    QUALIFY row_number() OVER (PARTITION BY r.nest_id, r.conditions_id, r.source ORDER BY r.profile_id) = 1
    ORDER BY r.nest_id, r.conditions_id
"""


def export_profiles(database: Path, shard: Path) -> int:
    """Writes the profiles of a database that are in no shard beside it to a new Parquet file; how many.

    Raises OptdbError, UsageError.
    """
    return write_shard(database, shard, _PROFILES, ("nest_id", "machine", "threads", "sizes", "source"))


def read_examples(
    shards: Sequence[Path], machine_numbers: Callable[[Any], tuple[float, ...]], *, disturbed: bool = False
) -> tuple[Example, ...]:
    """One example for each profile; those that cannot be read are left out, and, unless asked for, those whose runtime
    others `disturbed`. Raises UsageError.

    `machine_numbers` is `perfembed.embedding.network.interface.machine_numbers`.
    """
    found = (_example(row, machine_numbers, disturbed) for row in read_shards(shards, _COLUMNS))
    return tuple(example for example in found if example is not None)


def read_profiles(shards: Sequence[Path]) -> dict[str, tuple[float, ...]]:
    """The `profile_numbers` of one profile of each nest, by nest_id; those that cannot be read are left out."""
    found: dict[str, tuple[float, ...]] = {}
    for row in read_shards(shards, _COLUMNS):
        with contextlib.suppress(ProfilersError, ValueError, KeyError, TypeError):
            found.setdefault(row["nest_id"], profile_numbers(Profile.from_json(row["document"])))
    return found


def _example(
    row: Mapping[str, Any], machine_numbers: Callable[[Any], tuple[float, ...]], disturbed: bool
) -> Example | None:
    try:
        nest = parse_nest(row["text"])
        profile = Profile.from_json(row["document"])
        if not disturbed and any(note.startswith(DISTURBED) for note in profile.notes):
            return None
        sizes = {name: int(value) for name, value in json.loads(row["sizes"]).items()}
        caches = [int(cache["size_bytes"]) for cache in json.loads(row["caches"])]
        graph = encode(nest, sizes)
    except (SchedulerError, ProfilersError, ValueError, KeyError, TypeError):
        return None
    least = least_traffic(nest, sizes, max(caches, default=1 << 20))
    target = target_of_machine(row["isa"], row["caches"], row["threads"])
    return Example(
        graph=graph,
        profile=profile_numbers(profile),
        metrics=metric_row(profile.metrics(least)),
        machine=machine_numbers(target),
        group=row["nest_id"] if is_generated(row["algorithm"]) else row["algorithm"],
        text=row["text"],
        sizes=sizes,
        target=target,
        least_bytes=least,
    )


def is_nest(group: str) -> bool:
    """Whether a group is a generated nest's id, and not the name of an algorithm."""
    return len(group) == 16 and not set(group) - set("0123456789abcdef")


def least_traffic(nest: LoopNest, sizes: Mapping[str, int], cache_bytes: int) -> float:
    """Bytes that must move between a cache of that size and memory; NaN where that is too hard to tell, or where
    accesses that depend on data would have to count as nothing."""
    known = tuple(replace(p, value=sizes.get(p.name, p.value)) for p in nest.parameters)
    try:
        bound = io_lower_bound(Model(replace(nest, parameters=known)), sizes, cache_bytes)
    except QuotaExceeded:
        return math.nan
    return bound.bytes if bound.exact else math.nan
