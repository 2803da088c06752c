"""Made-up inputs: in bounds by construction, or refused with the name of the array."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from perfembed.capture import CapturedNest, CaptureFailed, RandomisedInputs, make_workload, synthesize
from profilers.build import Built, compile_workloads
from profilers.contained.child import Limits
from profilers.harness import write_reference
from profilers.outcome import Timed
from profilers.workload import CapturedFill, RandomFill
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from tests.perfembed.capture.test_record import CSR_IR, VLA_IR
from tests.perfembed.capture_support import GCC


def made(nest: LoopNest, workdir: Path, parameters: Mapping[str, int]) -> CapturedNest:
    capture = synthesize(nest, parameters, 7, workdir)
    assert isinstance(capture, CapturedNest), capture
    return capture


def refusal(text: str, workdir: Path, **parameters: int) -> str:
    capture = synthesize(parse_nest(text), parameters, 7, workdir)
    assert isinstance(capture, CaptureFailed), capture
    return capture.reason


def runs(nest: LoopNest, capture: CapturedNest, workdir: Path, inputs: RandomisedInputs | None = None) -> bytes:
    """The reference output; the harness's guards around every array hold."""
    kernel = kernel_source(plain(nest), emit_original(plain(nest)), capture.parameters)
    workload = make_workload(nest, *kernel, capture, inputs or "captured", 1)
    assert not isinstance(workload, CaptureFailed)
    built = compile_workloads((workload,), GCC, workdir / "build", 1)[0]
    assert isinstance(built, Built), built
    path = workdir / "reference"
    assert isinstance(write_reference(built, path, limits=Limits(wall_s=10)), Timed)
    return path.read_bytes()[32:]


@pytest.mark.gcc
def test_affine_nest(tmp_path: Path) -> None:
    nest = parse_nest(VLA_IR)
    capture = made(nest, tmp_path, {"n": 40, "unused": 1})
    assert capture.call is None and capture.parameters == {"n": 40}
    assert capture.array("A").shape == (40, 40)
    assert capture.array("A").fill == RandomFill(7 * 4096, 0.5, 1.5)
    assert capture.total_bytes == 40 * 40 * 8 + 40 * 8
    first = runs(nest, capture, tmp_path)
    assert np.isfinite(np.frombuffer(first)).all()
    assert runs(nest, capture, tmp_path) == first
    assert runs(nest, capture, tmp_path, RandomisedInputs(1)) != first
    assert synthesize(nest, {"n": 40}, 7, tmp_path) == capture


@pytest.mark.gcc
def test_csr(tmp_path: Path) -> None:
    nest = parse_nest(CSR_IR)
    capture = made(nest, tmp_path, {"n": 1000})
    fill = capture.array("start").fill
    assert isinstance(fill, CapturedFill)
    start = np.fromfile(fill.path, "i4")
    assert start.shape == (1001,) and start[0] == 0 and (np.diff(start) >= 0).all() and np.diff(start).max() > 16
    assert capture.array("col").shape == capture.array("val").shape == (start[-1],)
    assert capture.array("col").fill == RandomFill(7 * 4096 + 1, 0, 1000)
    assert capture.array("x").shape == (1000,)
    runs(nest, capture, tmp_path)
    assert synthesize(nest, {"n": 1000}, 8, tmp_path) != capture


ELL = """nest ell {
  param n: int;
  array count: int[n];
  array col: short[n][40];
  array x: double[300];
  array y: double[n];
  array k: int private(q);
  for i: int in [0, n) step 1 {
    for q: int in [0, opaque(count[i])) step 1 {
      S0: k = (int)col[i][q];
      S1: y[i] += x[opaque(k)];
    }
  }
}
"""


SCATTER_IR = """nest scatter {
  param n: int;
  array start: int[?] restrict const;
  array A: double[?] restrict const;
  array B: double[?] restrict const;
  array col: int[?] restrict const;
  array C: double[?] restrict;
  for i: int in [0, n) step 1 {
    for p: int in [opaque(start[i]), opaque(start[i + 1])) step 1 { S0: C[opaque(col[p])] += A[p] * B[i]; }
  }
}"""


@pytest.mark.gcc
def test_rows_of_arrays_that_come_by_pointer(tmp_path: Path) -> None:
    nest = parse_nest(SCATTER_IR)
    capture = made(nest, tmp_path, {"n": 300})
    assert capture.array("start").shape == (301,)
    runs(nest, capture, tmp_path)


@pytest.mark.gcc
@pytest.mark.parametrize("room", [40, 150, 900, 10_000])
def test_rows_stay_within_what_is_declared(tmp_path: Path, room: int) -> None:
    declared = SCATTER_IR.replace("A: double[?] restrict const", f"A: double[{room}] const")
    nest = parse_nest(declared.replace("start: int[?] restrict const", "start: int[n + 1] const"))
    capture = made(nest, tmp_path, {"n": 300})
    runs(nest, capture, tmp_path)


@pytest.mark.gcc
def test_counts_and_indices_by_way_of_a_scalar(tmp_path: Path) -> None:
    nest = parse_nest(ELL)
    capture = made(nest, tmp_path, {"n": 50})
    assert capture.array("col").fill == RandomFill(7 * 4096 + 1, 0, 300)
    assert {a.name for a in capture.arrays} == {"count", "col", "x", "y"}
    runs(nest, capture, tmp_path)
    # a second parameter bounds what is indexed where nothing else does
    small = made(parse_nest(ELL.replace("x: double[300]", "x: double[?] pointer")), tmp_path, {"n": 30})
    assert small.array("x").shape == (30,)


HISTOGRAM = """nest histogram {
  param n: int;
  array image: unsigned char[n];
  array bins: unsigned int[256];
  for i: int in [0, n) step 1 {
    S0: bins[opaque(image[i])] += 1;
  }
}
"""


@pytest.mark.gcc
def test_histogram_fits_the_type(tmp_path: Path) -> None:
    nest = parse_nest(HISTOGRAM)
    assert made(nest, tmp_path, {"n": 9}).array("image").fill == RandomFill(7 * 4096, 0, 256)
    wide = made(parse_nest(HISTOGRAM.replace("256", "1000")), tmp_path, {"n": 9})
    assert wide.array("image").fill == RandomFill(7 * 4096, 0, 256)
    runs(nest, made(nest, tmp_path, {"n": 9000}), tmp_path)


def test_refusals_name_what_is_missing(tmp_path: Path) -> None:
    assert refusal(VLA_IR, tmp_path) == ("the file has no main and no value is given for n (use --param n=...)")
    assert "only where n - 5 >= 0" in refusal(VLA_IR.replace("  for", "  assume n - 5 >= 0;\n  for", 1), tmp_path, n=4)
    assert "A[0][0] has no elements" in refusal(VLA_IR, tmp_path, n=0)
    assert "GiB" in refusal(VLA_IR, tmp_path, n=100_000)
    scaled = HISTOGRAM.replace("opaque(image[i])", "opaque(image[i] * 3)")
    assert refusal(scaled, tmp_path, n=9).startswith("the values of image decide which elements are used")
    assert "values of col " in refusal(ELL.replace("S0: k = ", "S0: k = 2 * "), tmp_path, n=9)
    two = CSR_IR.replace("opaque(start[i + 1])", "opaque(start[i + 2])")
    assert "values of start " in refusal(two, tmp_path, n=9)
    changed = HISTOGRAM.replace("S0: bins", "S1: image[i] += 1;\n    S0: bins")
    assert "values of image " in refusal(changed, tmp_path, n=9)


@pytest.mark.parametrize("seed", [-3, 0, 2**40])
def test_any_seed(tmp_path: Path, seed: int) -> None:
    assert isinstance(synthesize(parse_nest(CSR_IR), {"n": 100}, seed, tmp_path), CapturedNest)
