"""What is drawn of nests, computed for real ones; what a tuning finds of itself is in `test_tune_transfer`."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.tuning.describe import Described, ceilings, picture, pictures, source_lines
from perfembed.tuning.pictures import SourceLines
from profilers.calibration import CalibrationCache
from profilers.machine import describe_machine
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import LegalityOptions
from scheduler.schedule import Schedule, parse_schedule
from tests.profilers.test_calibration import invented

PRODUCT = parse_nest("""nest product {
  param n: int in [1, ?];
  array C: float[n][n];
  array A: float[n][n] const;
  array B: float[n][n] const;
  for i: int in [0, n) step 1 {
    for j: int in [0, n) step 1 {
      for k: int in [0, n) step 1 {
        S0: C[i][j] += A[i][k] * B[k][j];
      }
    }
  }
}
""")
ROWS = parse_nest("""nest rows {
  param n: int in [1, ?];
  array at: int[?] const;
  array x: double[?];
  for i: int in [0, n) step 1 {
    for k: int in [opaque(at[i]), opaque(at[i + 1])) step 1 {
      S0: x[k] += 1.0;
    }
  }
}
""")


def described(nest: LoopNest, schedule: Schedule | None = None, n: int = 2000) -> Described:
    return Described(nest, {"n": n}, schedule, Target(2, l3_bytes=1 << 20), LegalityOptions())


def test_a_product() -> None:
    tiled = parse_schedule("tile([i, j, k], [128, 128, 128])")
    found = picture(described(PRODUCT, tiled))
    assert found.problem == "" and "S0: C[i][j]" in found.text and found.before is None
    assert {(d.kind, d.array) for d in found.dependences} == {("flow", "C"), ("anti", "C"), ("output", "C")}
    work = found.work
    assert work is not None and work.flops == work.single == 2 * 2000**3
    assert work.least_bytes is not None and work.original_bytes is not None and work.tuned_bytes is not None
    assert 4 * 4 * 2000**2 <= work.least_bytes <= work.tuned_bytes < work.original_bytes / 10


def test_a_nest_whose_loops_are_split() -> None:
    work = picture(described(PRODUCT, parse_schedule("split(j, 1000); parallelize(i)"))).work
    assert work is not None and work.tuned_bytes is not None


def test_where_data_decide() -> None:
    found = picture(described(ROWS))
    assert found.work is None and found.problem == "its data decide how much it computes" and found.dependences


@pytest.mark.gcc
def test_all_of_them_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pictures([described(PRODUCT), described(ROWS)]) == [picture(described(PRODUCT)), picture(described(ROWS))]
    monkeypatch.setattr("perfembed.tuning.describe._NEST_S", 0.0)
    assert pictures([described(PRODUCT)])[0].problem == "the analysis takes too long, or too much memory"


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (b"for", SourceLines(2, "  for (;;)")),
        (b"for (;;)\r\n    x;", SourceLines(2, "  for (;;)\n    x; // \u00e9")),
        (b"a", SourceLines(1, "a")),
        (b"}", SourceLines(4, "}")),
    ],
)
def test_lines_of_a_source(part: bytes, lines: SourceLines) -> None:
    for encoding in ("utf-8", "latin-1"):
        content = "a\r\n  for (;;)\r\n    x; // \u00e9\r\n}".encode(encoding)
        begin = content.index(part)
        assert source_lines(content, begin, begin + len(part)).first == lines.first
        assert source_lines(content, begin, begin + len(part)).text.replace("\r", "") == lines.text


def test_what_the_machine_can_do(tmp_path: Path) -> None:
    machine = describe_machine()
    known = replace(invented(), machine=machine.fingerprint)
    CalibrationCache(tmp_path).store(known)
    found = ceilings(str(tmp_path), machine, known.compiler, 1)
    assert found is not None and (found.date, found.threads, found.noisy) == (known.date, 1, False)
    assert [level.name for level in found.levels] == list(known.levels) and found.levels[-1].size_bytes is None
    assert found.levels[0].bandwidth_gbs == max(known.bandwidth("L1", k, 1) for k in ("load", "store", "copy", "triad"))
    assert {(p.precision, p.kind): p.flops for p in found.peaks}["double", "vector"] == known.peak_flops(
        "double", True, 1
    )
    assert ceilings(str(tmp_path), machine, known.compiler, known.threads + 7) is None
    assert ceilings(str(tmp_path), machine, "another", 1) is None and ceilings(None, machine, known.compiler, 1) is None
