"""Random programs with tables of rows: nests in random legal orders, compiled with sanitizers, must print the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import SchedulerError
from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.text import format_nest, parse_nest, without_spans
from scheduler.polyhedral.model import QuotaExceeded
from tests.campaigns.forms.check import FLAGS, WAYS, Broken, drawn, output
from tests.campaigns.forms.rows import Writer
from tests.rewriting import without_originals


def check(seed: int, folder: Path) -> tuple[int, int, int, bool]:
    """How many nests with rows were read and rewritten, how many in another order, and whether only new code ran."""
    path, new, only = folder / "old.c", folder / "new.c", folder / "only.c"
    writer = Writer(seed)
    path.write_text(writer.program())
    source = read_source(path, ParseOptions(FLAGS))
    rng = random.Random(f"rows {seed}")
    read, written = CompilerConfig("gcc", FLAGS), CompilerConfig("gcc", (*FLAGS, "-fopenmp"))
    surveyed = survey(source, read, written, folder / "survey")
    rewrites = []
    for nest in source.nests:
        assert parse_nest(format_nest(nest)) == without_spans(nest)
        if nest.function != "work" or not isinstance(surveyed.tests[nest.name], AssumptionTests):
            continue
        rewrite = Rewrite(nest, drawn(nest, rng), 1.0)
        try:
            rewrite_source(source, [rewrite], 32, surveyed)
        except (SchedulerError, QuotaExceeded):
            continue
        rewrites.append(rewrite)
    content = rewrite_source(source, rewrites, 32, surveyed)
    new.write_bytes(content)
    for flags in WAYS[:2]:
        assert output("gcc", new, *flags) == output("gcc", path, *flags), (seed, path.read_text(), content.decode())
    only.write_bytes(without_originals(content))
    ran = False
    if writer.clean and rewrites:
        try:
            output("gcc", only, "-DFIRST")
            ran = True
        except Broken:
            ran = False
    rows = [r for r in rewrites if any(a.rows for a in r.nest.arrays)]
    return len([n for n in source.nests if n.function == "work"]), len(rows), sum(bool(r.schedule) for r in rows), ran


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_rows(seed: int, tmp_path: Path) -> None:
    found = [check(1000 + 4 * seed + number, tmp_path) for number in range(4)]
    assert sum(rows for _, rows, _, _ in found) >= 3
    assert sum(moved for _, _, moved, _ in found) >= 1
