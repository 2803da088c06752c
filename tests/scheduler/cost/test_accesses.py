"""Accesses as matrices, and which of them move together."""

import math

import numpy as np

from scheduler.cost.accesses import StatementFacts, array_bytes, statement_facts
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.model import Model
from tests.scheduler import nests

STEPS = """nest steps {
  param n: int in [1, ?];
  array A: float[n][n];
  array k: int[n];
  array B: double[?];
  array s: double;
  for i: int in [0, n) step 2 {
    for j: int in [0, n) step 1 {
      S0: if (A[i][j] > 0.0f) { B[opaque(k[j])] = A[i][j + 1] + s; }
    }
  }
}"""


def facts(text: str, statement: str, contracted: frozenset[str] = frozenset(), **parameters: int) -> StatementFacts:
    model = Model(expand_privates(nests.nest(text)))
    numbers = {array.name: k for k, array in enumerate(model.nest.arrays)}
    return statement_facts(model, statement, parameters, contracted, numbers)


def test_matrices_count_iterations() -> None:
    found = facts(STEPS, "S0", n=100)
    (first, second) = (a for a in found.accesses if a.array == 0)
    assert first.matrix.tolist() == [[2, 0], [0, 1]]  # i moves two rows at a time
    assert first.flat.tolist() == [200, 1] and first.element_bytes == 4
    assert (first.constants.tolist(), second.constants.tolist()) == ([0, 0], [0, 1])
    write = next(a for a in found.accesses if a.is_write)
    assert write.indirect and write.varies.tolist() == [False, True] and write.weight == 0.5
    assert first.weight == 1.0 and second.weight == 0.5  # the second is behind the condition
    assert found.widest_bytes == 8 and found.update_cycles == 0


def test_equal_coefficients_are_one_group_and_scalars_none() -> None:
    groups = facts(STEPS, "S0", n=100).groups
    assert sorted(groups.arrays.tolist()) == [0, 1, 2]  # A once, k, B
    a = groups.arrays.tolist().index(0)
    assert groups.members[a] == 2 and groups.spread[groups.last[a]] == 1 and not groups.indirect[a]
    assert groups.indirect.tolist() == [array == 2 for array in groups.arrays.tolist()]
    assert groups.extents[groups.starts[a]] == 100
    stencil = facts(nests.SEIDEL, "S0", n=50, T=3).groups
    assert stencil.members.tolist() == [9] and stencil.spread.tolist() == [2, 2]


def test_contracted_arrays_lose_their_added_dimensions() -> None:
    stored = facts(nests.PRIVATE, "S1", n=10, m=10)
    kept = facts(nests.PRIVATE, "S1", frozenset(["t"]), n=10, m=10)
    assert len(stored.groups.arrays) == 2 and len(kept.groups.arrays) == 1


def test_reductions_and_exposed_reads() -> None:
    update = facts(nests.GEMM, "S1", n=9, m=9, l=9)
    assert update.update_cycles == 4.0 and not update.reorderable
    assert all(a.exposed for a in update.accesses if not a.is_write)
    text = STEPS.replace("if (A[i][j] > 0.0f) { B[opaque(k[j])] = A[i][j + 1] + s; }", "{ s = 1.0; B[i] = s; }")
    assert not any(a.exposed for a in facts(text, "S0", n=9).accesses)


def test_sizes() -> None:
    nest = nests.nest(STEPS)
    assert array_bytes(nest.array("A"), {"n": 100}) == 40_000 and array_bytes(nest.array("s"), {}) == 8
    assert math.isinf(array_bytes(nest.array("B"), {})) and np.isfinite(array_bytes(nest.array("k"), {}))
