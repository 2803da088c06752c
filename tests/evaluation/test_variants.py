"""Variants of a program: spelled differently, computing the same; and found again."""

import random
import subprocess
from pathlib import Path

import pytest

from perfembed.retrieval.retrieve import open_sources
from perfembed.tuning.options import TuneOptions
from tests.doubles.interpret import interpret
from tests.evaluation.nest_spellings import other_spellings, run_spellings
from tests.evaluation.variants import rewritten, run_variants
from tests.generator import random_inputs
from tests.scheduler import nests

KERNELS = Path(__file__).parents[1] / "kernels"


def output(text: str, folder: Path) -> bytes:
    source = folder / "a.c"
    source.write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-DSMALL", str(source), "-o", str(folder / "a.out"), "-lm"], check=True)
    return subprocess.run([str(folder / "a.out")], check=True, capture_output=True).stdout


@pytest.mark.gcc
@pytest.mark.parametrize("name", ["mvt", "jacobi-2d", "haar", "spmv"])
def test_a_variant_computes_the_same(name: str, tmp_path: Path) -> None:
    text = (KERNELS / f"{name}.c").read_text()
    expected = output(text, tmp_path)
    made = [rewritten(text, random.Random(seed)) for seed in range(3)]
    assert len({text, *made}) == 4 and made[0] == rewritten(text, random.Random(0))
    for variant in made:
        assert output(variant, tmp_path) == expected


def test_other_spellings_compute_the_same() -> None:
    rng = random.Random(3)
    for text in (nests.GEMM, nests.COVARIANCE):
        nest = nests.nest(text)
        spellings = other_spellings(nest, rng, 4)
        assert 1 <= len(spellings) <= 4 and nest not in spellings
        parameters = {p.name: 5 for p in nest.parameters}
        data = random_inputs(nest, rng, parameters)
        expected = interpret(nest, parameters, data)
        for other in spellings:
            actual = interpret(other, parameters, data)
            assert all(value.tobytes() == actual[name].tobytes() for name, value in expected.items())


def test_other_spellings_get_the_same_donors() -> None:
    space, sources = open_sources(None)
    paths = [str(KERNELS / f"{name}.c") for name in ("gemm", "mvt")]
    results = run_spellings(paths, 3, TuneOptions(threads=2), 0, space, sources, lambda text: None)
    assert {result.program for result in results} == set(paths)
    assert all(result.same_first <= result.spellings and 0 <= result.shared <= 1 for result in results)
    assert sum(result.same_first for result in results) >= 0.8 * sum(result.spellings for result in results)


def test_variants_are_found() -> None:
    paths = [str(KERNELS / f"{name}.c") for name in ("gemm", "mvt", "heat-2d")]
    results = run_variants(paths, 3, TuneOptions(threads=2), 0, lambda text: None)
    assert [r.program for r in results] == paths and not any(r.problem for r in results)
    assert sum(r.found for r in results) >= sum(r.nests for r in results) - 1
