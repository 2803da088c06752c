"""Values carried from iteration to iteration in a scalar: the same results, and only where that is safe."""

import re
from pathlib import Path

import pytest

from tests.scheduler.codegen.support import check_same

pytestmark = pytest.mark.gcc

HEAD = """nest rows {
  param n: int in [1, ?];
  array A: double[n][n];
  array B: double[n][n];
  for i: int in [0, n) step 1 { BODY }
}"""
SIZES = ({"n": 37}, {"n": 1}, {"n": 2})


@pytest.mark.parametrize(
    ("body", "expect"),
    [
        ("for j: int in [1, n) step 1 { S0: A[i][j] = A[i][j - 1] * B[i][j]; }", "pe_A = A[i][j] = pe_A * B[i][j]"),
        ("for j: int in [n - 2, -1) step -1 { S0: A[i][j] += A[i][j + 1]; }", "pe_A = A[i][j] += pe_A"),
        ("for j: int in [1, n) step 1 { S0: A[i][j] = A[i][j - 1] + B[i][j]; S1: B[i][j] = A[i][j] * B[i][j - 1]; }",
         "pe_B = B[i][j] = A[i][j] * pe_B"),
        ("for j: int in [1, n - 1) step 1 { S0: A[i][j] = A[i][j - 1] + A[i][j + 1] + A[i][j]; }",
         "pe_A = A[i][j] = pe_A + A[i][j + 1] + A[i][j]"),
    ],
)  # fmt: skip
def test_carried(tmp_path: Path, body: str, expect: str) -> None:
    text = check_same(tmp_path, HEAD.replace("BODY", body), "parallelize(i)", *SIZES, expect=(expect,))
    assert "pe_A" in text


@pytest.mark.parametrize(
    "body",
    [
        # Written twice, read after the write, two iterations back, only at times, through data.
        "for j: int in [1, n) step 1 { S0: A[i][j] = A[i][j - 1]; S1: A[i][j] *= 2.0; }",
        "for j: int in [1, n) step 1 { S0: A[i][j] = B[i][j]; S1: B[i][j] = A[i][j - 1]; }",
        "for j: int in [2, n) step 1 { S0: A[i][j] = A[i][j - 2] + B[i][j]; }",
        "for j: int in [1, n) step 1 { S0: A[i][j] = B[i][j] > 0.0 ? A[i][j - 1] : 1.0; }",
        "for j: int in [2, n) step 2 { S0: A[i][j] = A[i][j - 2] + B[i][j]; }",
    ],
)
def test_left_in_memory(tmp_path: Path, body: str) -> None:
    text = check_same(tmp_path, HEAD.replace("BODY", body), "parallelize(i)", *SIZES)
    assert "pe_A" not in text


@pytest.mark.parametrize(
    ("body", "steps", "held"),
    [
        ("for j: int in [0, n) step 1 { S0: A[i][0] += B[i][j]; }", "", 1),
        ("for j: int in [n - 1, 0) step -1 { S0: A[i][0] = B[i][j] - A[i][0]; }", "", 1),
        # Where n is 1, both are the same.
        ("for j: int in [0, n) step 1 { S0: A[i][0] += B[i][j]; S1: A[i][n - 1] *= 0.5; }", "", 0),
        ("for j: int in [0, n) step 1 { S0: A[i][0] = B[i][j]; }", "", 0),  # nothing is read
        ("for j: int in [0, n) step 1 { S0: A[i][0] += B[i][j]; }", "unroll_jam(i, 3); ", 3),
    ],
)
def test_sums_are_kept_in_scalars(tmp_path: Path, body: str, steps: str, held: int) -> None:
    loop = "i_u" if steps else "i"
    text = check_same(tmp_path, HEAD.replace("BODY", body), f"{steps}parallelize({loop})", *SIZES)
    assert len(re.findall(r"double pe_A\w* = ", text)) == held, text


def test_only_where_threads_run(tmp_path: Path) -> None:
    body = "for j: int in [1, n) step 1 { S0: A[i][j] = A[i][j - 1] * B[i][j]; }"
    assert "pe_A" not in check_same(tmp_path, HEAD.replace("BODY", body), "", *SIZES)
