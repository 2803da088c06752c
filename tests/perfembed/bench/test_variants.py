"""Variants of a program: spelled differently, computing the same; and found again."""

import random
import subprocess
from pathlib import Path

import pytest

from perfembed.bench.variants import rewritten, run_variants
from perfembed.tuning.result import TuneOptions

KERNELS = Path(__file__).parents[2] / "kernels"


def output(text: str, folder: Path) -> bytes:
    source = folder / "a.c"
    source.write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-DSMALL", str(source), "-o", str(folder / "a.out"), "-lm"], check=True)
    return subprocess.run([str(folder / "a.out")], check=True, capture_output=True).stdout


@pytest.mark.parametrize("name", ["mvt", "jacobi-2d", "haar", "spmv"])
def test_a_variant_computes_the_same(name: str, tmp_path: Path) -> None:
    text = (KERNELS / f"{name}.c").read_text()
    expected = output(text, tmp_path)
    made = [rewritten(text, random.Random(seed)) for seed in range(3)]
    assert len({text, *made}) == 4 and made[0] == rewritten(text, random.Random(0))
    for variant in made:
        assert output(variant, tmp_path) == expected


def test_variants_are_found() -> None:
    paths = [str(KERNELS / f"{name}.c") for name in ("gemm", "mvt", "heat-2d")]
    results = run_variants(paths, 3, TuneOptions(threads=2), 0, lambda text: None)
    assert [r.program for r in results] == paths and not any(r.problem for r in results)
    assert sum(r.found for r in results) >= sum(r.nests for r in results) - 1
