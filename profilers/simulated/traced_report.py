"""What a traced run reports, as counts, with the errors of sampling."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profilers.simulated.assembly import Work

_NAMES = (
    "reads", "writes", "flops32", "flops64", "branches", "misses",
    "l1_in", "l1_out", "l2_in", "l2_out", "memory_in", "memory_out",
)  # fmt: skip


_LINES = {
    "l1_replacements": "l1_in",
    "l1_evictions": "l1_out",
    "l2_lines_in": "l2_in",
    "l2_write_backs": "l2_out",
    "memory_reads": "memory_in",
    "memory_writes": "memory_out",
}


_SAMPLED = {
    "accesses": ("reads", "writes"),
    "L1 lines": ("l1_in",),
    "L2 lines": ("l2_in",),
    "memory lines": ("memory_in",),
}


_WIDTHS = {0: "scalar", 128: "128", 256: "256", 512: "512"}


@dataclass(frozen=True, slots=True)
class Traced:
    """What one thread did, as written in C. `period`: one window of iterations in so many was simulated.

    `errors`: the standard errors of the counts, 0 where nothing was left out.
    """

    counts: Mapping[str, float]
    errors: Mapping[str, float]
    period: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A traced run, what the compiled nest executed, and the counters of each thread that follow from both.

    `missing` says why nothing is known of the compiled nest, whose counters are then those of the nest as written.
    """

    traced: tuple[Traced, ...]
    threads: tuple[dict[str, float], ...]
    missing: str | None = None


def parse_report(text: str) -> tuple[Traced, ...]:
    """One entry a thread. Raises ValueError."""
    found = []
    for entry in json.loads(text):
        counts, errors = (dict(zip(_NAMES, map(float, entry[key]), strict=True)) for key in ("counts", "errors"))
        if not all(math.isfinite(v) and v >= 0 for v in (*counts.values(), *errors.values())):
            raise ValueError("counts that are none")
        found.append(Traced(counts, errors, int(entry["period"])))
    return tuple(found)


def sampling_errors(traced: Sequence[Traced]) -> dict[str, float]:
    """Relative standard errors of accesses and of the lines that came into each level, over all threads.

    Of lines relative to a thousandth of the accesses at least: of next to nothing the share does not matter.
    """
    accesses = sum(one.counts["reads"] + one.counts["writes"] for one in traced)
    found = {}
    for name, parts in _SAMPLED.items():
        value = sum(one.counts[part] for one in traced for part in parts)
        error = math.sqrt(sum(one.errors[part] ** 2 for one in traced for part in parts))
        least = accesses if name == "accesses" else max(value, accesses / 1000)
        found[name] = error / least if least else 0.0
    return found


def counters_of(
    traced: Mapping[str, float], ran: Work | None, flops: Mapping[tuple[int, int], float]
) -> dict[str, float]:
    """The 19 counters of one thread; `flops` of all threads tell the widths of what this one did not execute."""
    found: dict[str, float] = {}
    work = {32: traced["flops32"], 64: traced["flops64"]}
    for precision, operations in work.items():
        seen = ran if ran is not None and ran.operations(precision) else Work(flops=flops)
        compiled = seen.operations(precision)
        for bits, width in _WIDTHS.items():
            share = seen.flops.get((precision, bits), 0) / compiled if compiled else float(bits == 0)
            found[f"fp{precision}_{width}"] = operations * share
    if ran is None:
        found["loads"], found["stores"], found["branches"] = traced["reads"], traced["writes"], traced["branches"]
        found["instructions"] = found["loads"] + found["stores"] + found["branches"] + sum(work.values())
    else:
        found["loads"], found["stores"] = ran.loads, ran.stores
        found["branches"] = max(ran.branches, traced["misses"])
        found["instructions"] = max(ran.instructions, found["branches"])
    found["branch_misses"] = traced["misses"]
    found |= {name: traced[source] for name, source in _LINES.items()}
    return found
