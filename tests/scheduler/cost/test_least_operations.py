"""The operations that cannot be left out, counted by hand."""

import pytest

from scheduler.cost.least_operations import least_operations
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model

NEST = """nest f {
  param n: int in [1, ?];
  array A: double[n][n] const;
  array B: double[n][n] const;
  array C: double[n][n];
  array a: double local const;
  for i: int in [0, n) step 1 {
    for j: int in [0, n) step 1 {
      for k: int in [0, n) step 1 {
        S0: BODY;
      }
    }
  }
}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("C[i][j] += A[i][k] * B[k][j]", 2.0),
        ("C[i][j] += a * A[i][k] * B[k][j]", 2.0),  # a * A[i][k] does not change with j
        ("C[i][j] += a * (A[i][k] * B[k][j])", 3.0),
        ("C[i][j] = C[i][j] + 1.0", 1.0),  # C is written
    ],
)
def test_of_an_instance(body: str, count: float) -> None:
    model = Model(parse_nest(NEST.replace("BODY", body)))
    assert least_operations(model, "S0") == {"double": count}
