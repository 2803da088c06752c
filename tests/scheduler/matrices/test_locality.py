"""Cells counted, and estimated with an error that holds."""

import islpy as isl
import pytest

from scheduler.matrices.locality import Volume, volume


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { A[i, j] : 0 <= i < n and 0 <= j <= i }",
        "[n] -> { A[i, i + 3] : 0 <= i < n }",
        "[n] -> { A[i, j] : 0 <= i < n and 0 <= j < n and (i + 2j) mod 3 = 0 }",
        "[n] -> { A[i] : 0 <= i < n and exists e: i = 3e or i = 5e }",
        "[n] -> { A[i, j] : 0 <= i < n and j = floor(i/4) }",
        "[n] -> { A[i, j] : (0 <= i < 3 and 0 <= j < n) or (0 <= i < n and 0 <= j < 3) }",
        "[n] -> { A[] : n > 3 }",
        "[n] -> { A[i] : i > n and i < 3 }",
    ],
)
@pytest.mark.parametrize("n", [5, 60])
def test_counted(text: str, n: int) -> None:
    cells = isl.Set(text)
    exact = cells.fix_val(isl.dim_type.param, 0, isl.Val(n)).count_val().to_python()
    assert volume(cells, {"n": n}) == Volume(float(exact))


def test_estimated() -> None:
    triangle = isl.Set("[n] -> { A[i, j] : 0 <= i < n and 0 <= j <= i }")
    for seed in range(5):
        found = volume(triangle, {"n": 1000}, seed)
        assert 0 < found.error < 10_000 and abs(found.cells - 500_500) < 4 * found.error
    assert volume(triangle, {"n": 1000}, 1) == volume(triangle, {"n": 1000}, 1)


def test_a_line_in_a_large_box_is_not_missed() -> None:
    assert volume(isl.Set("[n] -> { A[i, i] : 0 <= i < n }"), {"n": 10_000}) == Volume(10_000.0)


def test_not_bounded() -> None:
    with pytest.raises(ValueError, match="not bounded"):
        volume(isl.Set("{ A[i] : i >= 0 }"), {})
