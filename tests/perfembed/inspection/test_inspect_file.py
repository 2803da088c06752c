"""What inspect says of loops and dependences, on nests where the answer is known."""

from perfembed.inspection.inspect_file import LoopFacts, NestFacts, inspect_nest
from perfembed.report.inspection import distance_text
from scheduler.ir.text import parse_nest

GEMM = """nest gemm of f {
  param n: int in [1, ?];
  array A: double[n][n];
  array B: double[n][n];
  array C: double[n][n];
  for i: int in [0, n) step 1 {
    for j: int in [0, n) step 1 {
      for k: int in [0, n) step 1 {
        S0: C[i][j] += A[i][k] * B[k][j];
      }
    }
  }
}"""

SEIDEL = """nest seidel of f {
  param n: int in [1, ?];
  array A: double[n][n];
  for t: int in [0, n) step 1 {
    for i: int in [1, n - 1) step 1 {
      for j: int in [1, n - 1) step 1 {
        S0: A[i][j] = A[i - 1][j + 1] + A[i][j] + A[i + 1][j];
      }
    }
  }
}"""

SPMV = """nest spmv of f {
  param n: int in [1, ?];
  array rowptr: int[n + 1];
  array col: int[n];
  array val: double[n];
  array x: double[n];
  array y: double[n];
  for i: int in [0, n) step 1 {
    S0: y[i] = 0.0;
    for p: int in [opaque(rowptr[i]), opaque(rowptr[i + 1])) step 1 {
      S1: y[i] += val[p] * x[opaque(col[p])];
    }
  }
}"""

BACKWARD = """nest backward of f {
  array A: int[100];
  for i: int in [98, -1) step -1 {
    S0: A[i] = A[i + 1];
  }
}"""


def facts(text: str) -> NestFacts:
    found = inspect_nest(parse_nest(text))
    assert not found.problem
    return found


def loop(nest: NestFacts, name: str) -> LoopFacts:
    return next(x for x in nest.loops if x.name == name)


def distances(nest: NestFacts) -> set[tuple[str, str]]:
    return {(d.kind, distance_text(d)) for d in nest.dependences}


def test_gemm() -> None:
    nest = facts(GEMM)
    i, j, k = nest.loops
    assert (i.parallel, j.parallel, k.parallel) == (True, True, False)
    assert (i.permutable, j.permutable, k.permutable) == (("j", "k"), ("i", "k"), ("i", "j"))
    assert (i.vectorizable, j.vectorizable, k.vectorizable) == ("as innermost", "as innermost", "no")
    assert k.reductions == ("C",)
    assert [x.depth for x in nest.loops] == [0, 1, 2]
    assert distances(nest) == {(kind, "(0, 0, >=1)") for kind in ("flow", "anti", "output")}
    smallest = nest.dependences[0]
    assert smallest.source_at == (("i", 0), ("j", 0), ("k", 0))
    assert smallest.sink_at == (("i", 0), ("j", 0), ("k", 1))
    assert smallest.parameters == (("n", 2),)


def test_seidel() -> None:
    nest = facts(SEIDEL)
    assert [x.parallel for x in nest.loops] == [False, False, True]
    assert loop(nest, "i").permutable == ()
    assert "no longer runs before" in dict(loop(nest, "i").fixed)["j"]
    assert not any(x.reductions for x in nest.loops)


def test_opaque() -> None:
    nest = facts(SPMV)
    i, p = nest.loops
    assert i.parallel is True and p.parallel is False
    assert p.opaque and p.reductions == ("y",)
    assert "not perfectly nested" in dict(i.fixed)["p"]
    assert any(not d.exact for d in nest.dependences)


def test_decreasing_loop() -> None:
    nest = facts(BACKWARD)
    assert loop(nest, "i").parallel is False
    assert distances(nest) == {("flow", "(-1)")}
    assert nest.dependences[0].source_at == (("i", 1),)
