"""Random programs with subscripts that are not affine: the output of the original, and tests that see every overlap."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen.emit.text import preamble, values_in_front
from scheduler.codegen.runtime_checks.guards import runtime_condition, untestable
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest, parse_nest, without_spans
from scheduler.ir.walk import placed_statements, uses
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.model import Model
from tests.campaigns.forms.check import FLAGS, SANITIZED, Broken, drawn, output, read
from tests.campaigns.forms.ranges import Writer

PROGRAMS = int(os.environ.get("PERFEMBED_RANGED_PROGRAMS", "8"))
FIRST = int(os.environ.get("PERFEMBED_RANGED_FIRST", "0"))


def overlaps(folder: Path, source: SourceFile, nest: LoopNest) -> tuple[int, int]:
    """(calls whose test succeeded, calls); an assertion fails where it did though what is touched overlaps."""
    expanded = expand_privates(nest)
    condition = runtime_condition(expanded, Model(expanded)) or "1"
    written = {u.access.array for p in placed_statements(nest) for u in uses(p) if u.is_write}
    names = {"u": 0, "v": 1, "w_": 2}
    pairs = [(names[a], b) for a in written if a in names for b in range(3) if b != names[a]]
    checks = " || ".join(f"(low[{a}] && low[{b}] && low[{a}] < high[{b}] && low[{b}] < high[{a}])" for a, b in pairs)
    assert nest.span is not None
    begin, end = nest.span.begin, nest.span.end
    before, after = source.content[:begin].decode(), source.content[end:].decode()
    text = "\n".join(
        (
            "{ for (int q = 0; q < 3; q++) low[q] = high[q] = 0;",
            *values_in_front(nest),
            f"int good = {condition};",
            source.content[begin:end].decode(),
            f"passed += good; all++; wrong += good && ({checks or 0}); }}",
        )
    )
    whole = before + text + after.replace("    return 0;\n}", '    fprintf(stderr, "%d %d %d", wrong, passed, all);\n}')
    (folder / "traced.c").write_text("#define TRACE 1\n" + preamble(text) + whole)
    done = subprocess.run(
        ["gcc", "-w", *FLAGS, *SANITIZED, "traced.c", "-o", "traced"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr + text
    run = subprocess.run([folder / "traced"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-3000:] + text
    wrong, good, total = map(int, run.stderr.split())
    assert not wrong, (wrong, text)
    return good, total


def check(folder: Path, seed: int) -> tuple[int, int, int, int]:
    """(nests rewritten, with computed ranges, calls whose test succeeded, calls)"""
    path, new = folder / "program.c", folder / "written.c"
    path.write_text(Writer(seed).program())
    try:
        expected = output("gcc", path, *SANITIZED)
    except Broken:  # it leaves its arrays
        return 0, 0, 0, 0
    source = read(path)
    assert not [r for r in source.rejections if "analysis of the loop failed" in r.reason], (seed, source.rejections)
    before, after = CompilerConfig("gcc", FLAGS), CompilerConfig("gcc", (*FLAGS, "-fopenmp"))
    surveyed = survey(source, before, after, folder / "survey")
    rng = random.Random(f"ranged schedules {seed}")
    rewrites = []
    good = total = computed = 0
    for nest in source.nests:
        assert parse_nest(format_nest(nest)) == without_spans(nest)
        if nest.function != "work" or untestable(nest) or not isinstance(surveyed.tests[nest.name], AssumptionTests):
            continue
        passed, calls = overlaps(folder, source, nest)
        good, total = good + passed, total + calls
        rewrites.append(Rewrite(nest, drawn(nest, rng), 1.0))
    if rewrites:
        written = rewrite_source(source, rewrites, 32, surveyed)
        computed = written.count(b"pe_spanned((") > 0
        new.write_bytes(written)
        for flags in ((*SANITIZED, "-fopenmp"), ("-O3", "-march=native", "-fopenmp")):
            assert output("gcc", new, *flags) == expected, (seed, flags, written.decode())
    return len(rewrites), computed, good, total


def test_programs(tmp_path: Path) -> None:
    found = [check(tmp_path, seed) for seed in range(FIRST, FIRST + PROGRAMS)]
    nests, computed, good, total = map(sum, zip(*found, strict=True))
    print(nests, computed, good, total)
    assert nests > PROGRAMS // 3 and computed > PROGRAMS // 4 and good > total // 5
