"""Spellings of one nest, each tuned, then timed in turns."""

import os
import shutil
from pathlib import Path

import pytest

from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import SEED
from perfembed.retrieval.space_training import usable_space
from perfembed.tuning.options import TuneOptions
from scheduler.ir.text import parse_nest
from scheduler.normalize.materialized_nest import nest_of
from scheduler.replay import Replayer
from scheduler.transform import Distribute
from tests.evaluation.nest_spellings import is_c
from tests.evaluation.spread import SpellingTimes, run_spread

PROGRAM = """#include <stdio.h>
static double a[400][400], b[400][400], c[400][400];
int main(void) {
    for (int i = 0; i < 400; i++) for (int j = 0; j < 400; j++) a[i][j] = i + j, b[i][j] = i - j;
    for (int i = 0; i < 400; i++)
        for (int j = 0; j < 400; j++)
            for (int k = 0; k < 400; k++) c[i][j] += a[i][k] * b[k][j];
    printf("%g\\n", c[7][9]);
}
"""


def test_private_values_are_scalars_in_c_only_inside_their_loop() -> None:
    text = """nest n { param n: int; array A: double[n]; array t: double private(i);
      for i: int in [0, n) step 1 { S0: t = A[i]; S1: A[i] = t * t; } }"""
    replayer = Replayer(parse_nest(text))
    assert is_c(replayer.nest)
    apart = nest_of(replayer.nest, replayer.tree((Distribute("i", 1),)))
    assert apart is not None and not is_c(apart)


def test_the_spread_is_of_the_slowest_over_the_fastest() -> None:
    found = SpellingTimes("p", "n", 4.0, (1.0, 1.25, 1.1), 0.8)
    assert found.spread == pytest.approx(0.25)
    assert found.noise == pytest.approx(0.25)  # of the first one, tuned twice


@pytest.mark.gcc
def test_spellings_of_a_product_are_tuned(tmp_path: Path) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)
    space = usable_space()
    source = tmp_path / "product.c"
    source.write_text(PROGRAM)
    options = TuneOptions(threads=1, environment=tuple(os.environ.items()))
    heard: list[str] = []
    donors = [seed_donors(space, tmp_path)]
    results = run_spread([str(source)], 1, options, 2.0, space, donors, None, heard.append)
    assert len(results) == 1, heard
    (found,) = results
    assert found.program == "product" and len(found.tuned) == 2
    assert max(*found.tuned, found.again) < found.original  # both spellings of a slow one got faster
    assert heard[-1].startswith(f"  {found.nest}: 2 spellings, the slowest ")
