"""What benches take the machine for."""

import os
from pathlib import Path

import pytest

from perfembed.tuning.options import TuneOptions
from perfembed.tuning.resources import Resources
from profilers.build import CompilerConfig
from profilers.machine import describe_machine
from tests.evaluation.in_turns import bench_target

pytestmark = pytest.mark.gcc


def test_benches_have_the_vectors_that_tune_has(tmp_path: Path) -> None:
    """Those of the machine, unless flags forbid them."""
    widths = []
    for flags in (("-O3", "-march=native"), ("-O3", "-march=x86-64")):
        options = TuneOptions(threads=2, cflags=flags, environment=tuple(os.environ.items()))
        compiler = CompilerConfig(options.cc, flags)
        tune = Resources(options, describe_machine(), compiler, dict(os.environ), tmp_path, lambda event: None)
        found = bench_target(options)
        assert found == tune.target()
        widths.append(max(size for size, _ in found.core.registers))
    assert widths[0] >= widths[1] == 16
