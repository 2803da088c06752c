"""What is noted of a kernel: the conditions, what tuning did, how its programs ran."""

from __future__ import annotations

import re
from typing import Any

from perfembed.comparing.against import OWN, TunedBy, version_of
from perfembed.comparing.compilers import Configuration
from perfembed.comparing.measure import Samples
from perfembed.comparing.model import CompareOptions
from perfembed.comparing.rows import NestRow, Output, ProgramRow, Row, winner_origin


def conditions_of(asked: CompareOptions, built: tuple[Configuration, ...], fingerprint: str) -> dict[str, Any]:
    return {
        "threads": asked.threads,
        "budget_s": asked.budget_s,
        "search": asked.search,
        "seed": asked.seed,
        "kernels": list(asked.kernels),
        "machine": fingerprint,
        "arguments": list(asked.arguments),
        **({"against": [version_of(OWN), version_of(asked.against)]} if asked.against is not None else {}),
        "compilers": {
            c.name: {
                "version": c.version,
                "flags": list(c.compiler.flags),
                "missing": c.missing,
                "command": list(c.peer.words) if c.peer else [],
            }
            for c in built
        },
    }


def note_result(row: Row, done: TunedBy, functions: tuple[str, ...]) -> None:
    row.tuning_s = done.seconds
    wanted = [n for n in done.result.nests if n.function in functions]
    row.nests = [
        NestRow(n.nest, n.line - 1, n.status, n.reason, n.schedule, n.speedup, n.share, n.candidates, winner_origin(n))
        for n in wanted
    ]
    tuned = [n for n in wanted if n.status == "tuned"]
    row.status = "tuned" if tuned else "kept"
    row.reason = "" if tuned else "; ".join(dict.fromkeys(n.reason for n in wanted)) or "no nest in the kernel"


def program_row(samples: Samples, reference: bytes | None) -> ProgramRow:
    output: Output = "" if reference is None else compare_outputs(reference, samples.stdout)
    return ProgramRow(samples.kernel_s, samples.whole_s, samples.good, output, samples.failure)


_CLOSE = 1e-6  # relative: how far sums may be apart where a compiler contracts other products
_HASH = re.compile(rb"[0-9a-f]{16}")


def compare_outputs(expected: bytes, actual: bytes) -> Output:
    """equal: the same bytes; close: only hashes and roundings differ; else differs."""
    if expected == actual:
        return "equal"
    first, second = expected.split(), actual.split()
    if len(first) != len(second):
        return "differs"
    for a, b in zip(first, second, strict=True):
        if a == b or (_HASH.fullmatch(a) and _HASH.fullmatch(b)):
            continue
        try:
            x, y = float(a), float(b)
        except ValueError:
            return "differs"
        if not abs(x - y) <= _CLOSE * max(abs(x), abs(y)):
            return "differs"
    return "close"
