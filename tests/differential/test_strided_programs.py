"""Random programs whose strides are variables, under random schedules: the output of the original for all strides."""

from __future__ import annotations

import os
import random
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.codegen import premises
from scheduler.ir.text import format_nest, parse_nest, without_spans
from tests.differential.strided_programs import Writer
from tests.differential.test_flow_programs import FLAGS, is_written, output, read, schedule

PROGRAMS = int(os.environ.get("PERFEMBED_STRIDED_PROGRAMS", "8"))
FIRST = int(os.environ.get("PERFEMBED_STRIDED_FIRST", "0"))
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=pointer-overflow")


def check(folder: Path, seed: int) -> tuple[int, int, int]:
    """(nests rewritten, with quotients of strides, parallel loops written)"""
    content = Writer(seed).program().encode()
    expected = output(folder, content, *SANITIZED)
    path = folder / "program.c"
    path.write_bytes(content)
    source = read(path)
    assert not [r for r in source.rejections if "analysis of the loop failed" in r.reason], (seed, source.rejections)
    before, after = CompilerConfig("gcc", FLAGS), CompilerConfig("gcc", (*FLAGS, "-fopenmp"))
    surveyed = survey(source, before, after, folder / "survey")
    rng = random.Random(f"strided schedules {seed}")
    rewrites = []
    for nest in source.nests:
        assert parse_nest(format_nest(nest)) == without_spans(nest)
        if nest.function == "work" and isinstance(surveyed.tests[nest.name], premises.Tests):
            steps = schedule(nest, rng)
            if is_written(nest, steps):
                rewrites.append(Rewrite(nest, steps, 1.0))
    written = rewrite_source(source, rewrites, 32, surveyed)
    for flags in ((*SANITIZED, "-fopenmp"), ("-O3", "-march=native", "-fopenmp")):
        assert output(folder, written, *flags) == expected, (seed, flags, written.decode())
    quotients = sum(any("_per_" in p.name for p in r.nest.parameters) for r in rewrites)
    return len(rewrites), quotients, written.count(b"#pragma omp parallel")


def test_programs(tmp_path: Path) -> None:
    found = [check(tmp_path, seed) for seed in range(FIRST, FIRST + PROGRAMS)]
    nests, quotients, parallel = map(sum, zip(*found, strict=True))
    print(nests, quotients, parallel)
    assert nests > PROGRAMS // 2 and quotients > PROGRAMS // 4 and parallel > PROGRAMS // 4
