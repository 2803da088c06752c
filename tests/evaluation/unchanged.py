"""What is read of C files and written for them, in short: a change of the house's order may change nothing of it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import SchedulerError
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.ir.text import nest_id
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer
from tests.campaigns.forms.check import drawn_for
from tests.rewriting import surveyed

Digest = Mapping[str, str]
"""A hash of each thing read or written, by file and what it is."""


def digests(paths: Sequence[Path], schedules: int, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What is refused of each file, its nests, and the file with each nest under `schedules` of them, its own first.

    Schedules are drawn by the name of the nest. Machine and compiler have to be the same for digests to be.
    """
    for path in paths:
        source = read_source(path, ParseOptions(tuple(flags)))
        yield f"{path}: refused", _hash(sorted(f"{r.span} {r.reason}" for r in source.rejections))
        for nest in source.nests:
            yield f"{path}: {nest.name}", nest_id(nest)
        yield from _written(path, source, schedules, flags)


def _written(path: Path, source: SourceFile, schedules: int, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    found = surveyed(source, flags)
    for nest in source.nests:
        if not isinstance(found.tests[nest.name], AssumptionTests):
            continue
        rng = random.Random(nest.name)
        try:
            replayer = Replayer(nest)
            for number in range(schedules):
                schedule = drawn_for(replayer, rng) if number else ()
                text = rewrite_source(source, [Rewrite(nest, schedule, 1.0)], 32, found)
                yield f"{path}: {nest.name} written {number}", _hash([text.decode()])
        except (SchedulerError, QuotaExceeded) as error:
            yield f"{path}: {nest.name} no code", _hash([str(error)])


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def differences(before: Digest, after: Digest) -> list[str]:
    """What is not the same in both, by name."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
