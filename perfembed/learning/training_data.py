"""Labels for cost models: out of databases into Parquet shards, and from those into problems.

A shard has one row a measured schedule, with everything a model may look at; it is what is committed and trained on.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfembed.learning.shards import read_shards, write_shard
from scheduler.cost.problem import Problem
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.schedule import nest_steps, parse_schedule
from scheduler.search.free import is_free

SHARD_VERSION = 1
_GIVEN_UP = "given up after "
_FIRST_CALL, _FIRST_CALL_S = 32, 2e-3  # what a first call might once take, of the original's time, and more
_COLUMNS = (
    "version", "nest_id", "text", "algorithm", "machine", "isa", "caches", "compiler_version", "flags", "threads",
    "sizes", "element_type", "schedule", "seconds", "baseline", "censored", "noise", "other_load",
)  # fmt: skip
_CONDITIONS = ("nest_id", "machine", "compiler_version", "flags", "threads", "sizes")
_LABELS = f"""
    SELECT {SHARD_VERSION} AS version, m.nest_id, n.text, array_to_string(list_sort(n.algorithms), '+') AS algorithm,
           m.machine, m.isa, p.caches, m.compiler_version, m.flags, m.threads, m.sizes, m.element_type, m.schedule,
           CASE WHEN m.outcome = 'timed' THEN m.min_s
                ELSE CAST(regexp_extract(m.message, '{_GIVEN_UP}([0-9.e+-]+) s', 1) AS DOUBLE) END AS seconds,
           list_min(m.baseline) AS baseline, m.outcome <> 'timed' AS censored,
           CAST(m.noise AS FLOAT) AS noise, CAST(m.other_load AS FLOAT) AS other_load
    FROM measurements m JOIN nests n USING (nest_id) JOIN machines p USING (machine)
    WHERE m.kind = 'search' AND m.outcome IN ('timed', 'stopped') AND len(m.baseline) > 0 AND NOT m.reassociated
    ORDER BY m.nest_id, m.conditions_id, m.evaluation
"""


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """What is left out: labels during which others used more than `max_other_load` cores, or that vary more.

    Also runs that were given up for a first call of less than `least_s`, while threads may still have been starting:
    those that were measured before this was seen. Their time is the limit there was then.
    """

    max_other_load: float = 0.5
    max_noise: float = 0.25
    least_s: float = 0.05


def export_labels(database: Path, shard: Path) -> int:
    """Writes the labels of a database that are in no shard beside it to a new Parquet file; how many.

    Raises OptdbError, UsageError.
    """
    return write_shard(database, shard, _LABELS, (*_CONDITIONS, "schedule"))


def drawn_labels(shard: Path) -> int:
    """How many labels of a shard are of schedules with steps that matrices and free sequences have.

    Raises UsageError.
    """
    return sum(is_free(parse_schedule(row["schedule"])) for row in read_shards([shard], _COLUMNS))


def read_problems(shards: Sequence[Path], quality: LabelQuality = LabelQuality()) -> tuple[Problem, ...]:
    """One problem for each nest and conditions; schedules that do not parse are left out. Raises UsageError."""
    grouped: dict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in read_shards(shards, _COLUMNS):
        disturbed = row["threads"] > 1 and (row["other_load"] or 0.0) > quality.max_other_load
        seconds = row["seconds"] or 0.0
        limit_s = _FIRST_CALL * (row["baseline"] or 0.0) + _FIRST_CALL_S
        first_call = row["censored"] and seconds < quality.least_s and math.isclose(seconds, limit_s, rel_tol=1e-3)
        if disturbed or first_call or (row["noise"] or 0.0) > quality.max_noise:
            continue
        key = tuple(row[name] for name in _CONDITIONS)
        grouped[key].append(row)
    found = (_problem(rows) for rows in grouped.values())
    return tuple(problem for problem in found if problem is not None)


def _problem(rows: Sequence[Mapping[str, Any]]) -> Problem | None:
    first = rows[0]
    labels: dict[str, float] = {}
    given_up: set[str] = set()
    originals = [row["baseline"] for row in rows if row["baseline"]]
    for row in rows:
        if row["seconds"] and row["baseline"] and row["schedule"] not in labels:
            labels[row["schedule"]] = row["baseline"] / row["seconds"]
            if row["censored"]:
                given_up.add(row["schedule"])
    try:
        nest = parse_nest(first["text"])
        parsed = {text: parse_schedule(text) for text in labels}
    except SchedulerError:
        return None
    # The features are those of the nest as written, which such steps change.
    labels = {text: speedup for text, speedup in labels.items() if not nest_steps(parsed[text])}
    if not labels:
        return None
    target = target_of_machine(first["isa"], first["caches"], first["threads"])
    sizes = {name: int(value) for name, value in json.loads(first["sizes"]).items()}
    return Problem(
        nest=nest,
        parameters=sizes,
        target=target,
        schedules=tuple(parsed[text] for text in labels),
        speedups=tuple(labels.values()),
        group=first["algorithm"],
        name=first["nest_id"],
        given_up=frozenset(n for n, text in enumerate(labels) if text in given_up),
        seconds=statistics.median(originals),
    )


def target_of_machine(isa: str, caches: str, threads: int) -> Target:
    """What a search needs to know of a machine in the database, as `perfembed.measuring.target` says of this one."""
    sizes = {int(cache["level"]): int(cache["size_bytes"]) for cache in json.loads(caches)}
    words = isa.split()
    vector_bytes = 64 if "avx512f" in words else 32 if "avx" in words else 16
    default = Target(threads)
    return Target(
        threads,
        min(vector_bytes, default.vector_bytes),
        sizes.get(1, default.l1_bytes),
        sizes.get(2, default.l2_bytes),
        sizes.get(3, default.l3_bytes),
    )


def is_generated(algorithm: str) -> bool:
    """Whether an algorithm is a combination of the generator's patterns."""
    from scheduler.generator.programs import (
        PATTERNS,
    )  # here, not above: `tune` imports this module, and generates nothing

    return set(algorithm.split("+")) <= {pattern.name for pattern in PATTERNS}
