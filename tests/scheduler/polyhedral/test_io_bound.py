"""Lower bounds of traffic: compulsory by hand, and the known ones for products and stencils."""

import math

import pytest

from scheduler.ir.text import parse_nest
from scheduler.polyhedral.io_bound import io_lower_bound, statement_instances
from scheduler.polyhedral.model import Model
from tests.scheduler import nests

HUGE = 1 << 40


def bound(text: str, cache: int = HUGE, **parameters: int) -> tuple[float, str, bool]:
    found = io_lower_bound(Model(parse_nest(text)), parameters, cache)
    return found.bytes, found.kind, found.exact


def test_what_is_only_read_or_only_written() -> None:
    text = """nest copy {
      param n: int in [1, ?];
      array A: double[n];
      array B: float[n];
      for i: int in [2, n) step 1 { S0: A[i] = B[i - 2] + B[i]; }
    }"""
    assert bound(text, n=100) == (98 * 8 + 100 * 4, "compulsory", True)


def test_what_the_nest_makes_itself_does_not_come_in() -> None:
    text = """nest chain {
      param n: int in [1, ?];
      array A: double[n];
      array B: double[n];
      for i: int in [0, n) step 1 { S0: A[i] = 1.0; }
      for j: int in [0, n) step 1 { S1: B[j] = A[j]; }
    }"""
    assert bound(text, n=50) == (2 * 50 * 8, "compulsory", True)


def test_in_place() -> None:
    text = """nest scan {
      param n: int in [1, ?];
      array A: double[n];
      for i: int in [1, n) step 1 { S0: A[i] = A[i - 1] + A[i]; }
    }"""
    # A[0] comes in and A[1..] too, since each is read before it is written; A[1..] goes out.
    assert bound(text, n=10) == (10 * 8 + 9 * 8, "compulsory", True)


def test_triangle() -> None:
    text = """nest triangle {
      param n: int in [1, ?];
      array A: double[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, i) step 1 { S0: A[i][j] *= 2.0; } }
    }"""
    assert bound(text, n=100) == (2 * 8 * 100 * 99 / 2, "compulsory", True)


def test_data_dependent_accesses_count_for_nothing() -> None:
    text = """nest gather {
      param n: int in [1, ?];
      array A: double[n];
      array B: double[n];
      array at: int[n];
      for i: int in [0, n) step 1 { S0: A[i] = B[opaque(at[i])]; }
    }"""
    assert bound(text, n=10) == (10 * 8 + 10 * 4, "compulsory", False)


def test_matrix_product() -> None:
    text = """nest product {
      param n: int in [1, ?];
      array A: double[n][n];
      array B: double[n][n];
      array C: double[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
        S0: C[i][j] += A[i][k] * B[k][j]; } } }
    }"""
    assert bound(text, n=100) == (4 * 8 * 100**2, "compulsory", True)
    found, kind, _ = bound(text, cache=32 << 10, n=1000)
    room = (32 << 10) / 8
    assert kind == "matrix product"
    assert found == pytest.approx(8 * (2 * 1000**3 / math.sqrt(room) - 2 * room))


def test_stencil() -> None:
    found, kind, _ = bound(nests.JACOBI, cache=32 << 10, T=10000, n=1000)
    assert kind == "stencil"
    room = (32 << 10) / 8
    assert found == pytest.approx(8 * 10000 * 998**2 / (4 * math.sqrt(2 * room)))


def test_large_triangles_are_counted_row_by_row() -> None:
    text = """nest lu {
      param n: int in [1, ?];
      array A: double[n][n];
      for k: int in [0, n) step 1 { for i: int in [k + 1, n) step 1 { for j: int in [k + 1, n) step 1 {
        S0: A[i][j] -= A[i][k] * A[k][j]; } } }
    }"""
    n = 1500
    instances = statement_instances(Model(parse_nest(text)), {"n": n})
    assert instances == {"S0": n * (n - 1) * (2 * n - 1) / 6}
    nest = parse_nest(text.replace("k + 1, n) step 1 { for j", "k + 1, n) step 3 { for j"))
    assert statement_instances(Model(nest), {"n": 20})["S0"] == sum(-(-(19 - k) // 3) * (19 - k) for k in range(20))
