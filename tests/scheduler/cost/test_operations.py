"""Operations counted by hand."""

from __future__ import annotations

import pytest

from scheduler.cost.operations import Operations, count_operations, least_operations
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model
from tests.scheduler import nests

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


def count(action: str, extra: str = "") -> Operations:
    text = f"""nest n {{
      param n: int in [1, ?];
      array a: double[n];
      array f: float[n];
      array k: int[n];
      {extra}
      for i: int in [0, n) step 1 {{ S0: {action} }}
    }}"""
    return count_operations(Model(nests.nest(text)).placed["S0"].statement)


def test_kinds() -> None:
    found = count("a[i] = sqrt(a[i]) / 3.0 + exp(a[i]) * fabs(a[i]) - 1.0;")
    assert (found.add, found.mul, found.div, found.sqrt, found.call, found.simple) == (2, 1, 1, 1, 1, 1)
    assert found.flops == 6 and found.narrow == 0 and found.branch == 0


def test_updates_count_their_operation() -> None:
    assert count("a[i] += a[i] * 2.0;").flops == 2
    assert count("a[i] /= 3.0;").div == 1
    assert count("k[i] += 1;").integer == 1 and count("k[i] += 1;").flops == 0


def test_single_precision_and_conversions() -> None:
    found = count("f[i] = f[i] * 2.0f + (float)k[i];")
    assert found.narrow == found.flops == 2 and found.convert == 1


def test_conditions_count_both_sides_half() -> None:
    found = count("a[i] = a[i] > 0.0 ? a[i] * 2.0 : 1.0;")
    assert found.branch == 1 and found.mul == 0.5


def test_chains_are_as_long_as_the_deepest_expression() -> None:
    flat = count("a[i] = (a[i] + 1.0) * (a[i] + 2.0);").chain_cycles
    deep = count("a[i] = ((a[i] + 1.0) * 2.0 + 3.0) / 4.0;").chain_cycles
    assert flat == pytest.approx(8) and deep == pytest.approx(4 + 4 + 4 + 13)
