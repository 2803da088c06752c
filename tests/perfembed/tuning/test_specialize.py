"""Nests read for the values that the program runs them with, and what the written file does with others."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from perfembed.api import tune
from perfembed.capture import ProgramProfile
from perfembed.tuning.project import Project
from perfembed.tuning.source import again
from perfembed.tuning.specialize import Specialized, specialized
from perfembed.world import World
from profilers.build import CompilerConfig
from profilers.deadline import within
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.ir.walk import opaque_parts

pytestmark = pytest.mark.gcc

# A convolution whose stride is a variable; the sums of a row are by columns, so that there is something to gain.
CONVOLVED = r"""#include <stdio.h>
#include <stdlib.h>
struct layer { int in, out, k, stride, pad; };
static float x[40 * 64 * 64], w[48 * 40 * 9], y[48 * 64 * 64];
static void convolve(const struct layer *l, int h, int v)
{
    for (int o = 0; o < l->out; o++)
        for (int i = 0; i < v; i++)
            for (int j = 0; j < v; j++) {
                float sum = 0;
                for (int p = 0; p < l->k; p++)
                    for (int q = 0; q < l->k; q++)
                        for (int c = 0; c < l->in; c++) {
                            int row = i * l->stride + p - l->pad, col = j * l->stride + q - l->pad;
                            if (row >= 0 && row < h && col >= 0 && col < h)
                                sum += x[(c * h + row) * h + col] * w[((o * l->in + c) * l->k + p) * l->k + q];
                        }
                y[(o * v + i) * v + j] = sum;
            }
}
int main(int argc, char **argv)
{
    int stride = argc > 1 ? atoi(argv[1]) : 1;
    struct layer l = { 40, 48, 3, stride, 1 };
    for (int i = 0; i < 40 * 64 * 64; i++) x[i] = (float)(i % 17) / 8;
    for (int i = 0; i < 48 * 40 * 9; i++) w[i] = (float)(i % 13) / 4 - 1;
    convolve(&l, 64, 64 / stride);
    l.stride = 3 - (stride == 1);
    l.out = 1;
    convolve(&l, 64, 16);
    double s = 0;
    for (int i = 0; i < 48 * 64 * 64; i++) s += y[i] * (i % 29);
    printf("%.9g\n", s);
    return 0;
}
"""


def test_a_stride_that_is_mostly_one(tmp_path: Path) -> None:
    path, output = tmp_path / "conv.c", tmp_path / "conv.opt.c"
    path.write_text(CONVOLVED)
    result = tune(path, output=output, threads=1, measure=2, budget_s=300, cflags=("-O2",), world=World(tmp_path))
    nest = next(n for n in result.nests if n.function == "convolve")
    assert nest.status == "tuned", nest.reason
    assert nest.given == ("l->stride = 1",)
    assert result.program_output_equal
    assert said(output, tmp_path, "1") == said(path, tmp_path, "1")
    for other in ("2", "3"):  # the loops run as they were written
        assert said(output, tmp_path, other) == said(path, tmp_path, other)


def said(path: Path, folder: Path, *arguments: str) -> bytes:
    program = folder / "program"
    subprocess.run(["gcc", "-O2", "-fopenmp", "-w", str(path), "-o", str(program), "-lm"], check=True)
    return subprocess.run([str(program), *arguments], check=True, capture_output=True).stdout


CODE = """static double a[4000], b[4000];
void f(int n, int k, int w, int s)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * w + j] = b[(i * k) % w + j * s];
}
"""


@dataclass
class Readings:
    """Counts what a file was read with."""

    folder: Path
    asked: list[dict[str, int]] = field(default_factory=list)

    def project(self) -> Project:
        path = self.folder / "f.c"
        path.write_text(CODE)
        return Project((read_source(str(path), ParseOptions()),), cast("object", None), True)  # type: ignore[arg-type]

    def of(self, values: dict[str, int], steady: dict[str, float], share: float = 0.5) -> Specialized:
        nest = SimpleNamespace(name="f_0", problem="", share=share, values=values, steady=steady)
        profile = cast("ProgramProfile", SimpleNamespace(nests=(nest,)))

        def read(source: SourceFile, given: object) -> SourceFile | None:
            assert isinstance(given, dict)
            self.asked += map(dict, given.values())
            return again(source, CompilerConfig("gcc", ()), given)

        return specialized(self.project(), profile, 0.01, read)


VALUES = {"n": 30, "k": 1, "w": 40, "s": 1}
ALWAYS = dict.fromkeys(VALUES, 1.0)


def test_as_few_values_as_are_needed(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    found = readings.of(VALUES, ALWAYS)
    assert found.given == {"f_0": {"k": 1, "w": 40, "s": 1}}
    (nest,) = found.project.nests
    assert opaque_parts(nest) == 0 and nest.name == "f_0"
    assert len(readings.asked) <= 8


@pytest.mark.parametrize("unsteady", ["w", "s"])
def test_values_that_change_are_not_given(tmp_path: Path, unsteady: str) -> None:
    found = Readings(tmp_path).of(VALUES, {**ALWAYS, unsteady: 0.6})
    assert unsteady not in found.given.get("f_0", {})


def test_what_takes_no_time_is_not_read_again(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    found = readings.of(VALUES, ALWAYS, share=0.001)
    assert not readings.asked and not found.given


def test_a_file_that_cannot_be_read_again_stays_as_it_was(tmp_path: Path) -> None:
    project = Readings(tmp_path).project()
    nest = SimpleNamespace(name="f_0", problem="", share=0.5, values=VALUES, steady=ALWAYS)
    profile = cast("ProgramProfile", SimpleNamespace(nests=(nest,)))
    found = specialized(project, profile, 0.01, lambda source, given: None)
    assert found.project == project and not found.given
    lost = specialized(project, profile, 0.01, lambda source, given: replace(source, nests=()))
    assert lost.project == project and not lost.given


def test_readings_end_when_their_share_of_the_time_has_passed(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    with within(lambda: 5.0 if readings.asked else 10.0):
        found = readings.of(VALUES, ALWAYS)
    assert len(readings.asked) == 1
    assert all(given.items() <= VALUES.items() for given in found.given.values())


def test_a_reading_that_needs_what_was_not_recorded_is_not_taken(tmp_path: Path) -> None:
    """Read with other values, a nest may compute a size in front of its loops that nobody asked the program about."""
    readings = Readings(tmp_path)

    def more(source: SourceFile, given: object) -> SourceFile | None:
        assert isinstance(given, dict)
        found = again(source, CompilerConfig("gcc", ()), given)
        assert found is not None
        (nest,) = found.nests
        computed = replace(nest.parameters[0], name="w_per_n", base="w / n")
        return replace(found, nests=(replace(nest, parameters=(*nest.parameters, computed)),))

    project = readings.project()
    nest = SimpleNamespace(name="f_0", problem="", share=0.5, values=VALUES, steady=ALWAYS)
    profile = cast("ProgramProfile", SimpleNamespace(nests=(nest,)))
    found = specialized(project, profile, 0.01, more)
    assert found.project == project and not found.given
