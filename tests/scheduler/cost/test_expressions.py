"""Statements as sequences of operations."""

from scheduler.cost.expressions import OPERATIONS, TYPES, statement_operations
from scheduler.ir.nest import Predicate
from scheduler.ir.walk import placed_statements
from tests.scheduler import nests


def words(text: str, statement: str) -> list[str]:
    nest = nests.nest(text)
    placed = next(p for p in placed_statements(nest) if p.statement.name == statement)
    conditions = [a.condition for a in placed.ancestors if isinstance(a, Predicate)]
    found = statement_operations(nest, conditions, placed.statement.body)
    return [OPERATIONS[operation] for operation, _ in found]


def test_operands_come_before_operators() -> None:
    assert words(nests.GEMM, "S1") == ["read", "read", "*", "read", "+", "store"]
    assert words(nests.CHOLESKY, "S3") == ["read", "sqrt", "store"]
    assert words(nests.GEMM, "S0") == ["literal", "read", "*", "store"]


def test_indirect_reads_are_gathers() -> None:
    assert words(nests.SPMM, "S0") == ["read", "read", "gather", "*", "read", "+", "store"]


def test_types_follow_the_elements() -> None:
    nest = nests.nest(nests.GEMM.replace("double", "float").replace("2.0", "2.0f"))
    placed = next(iter(placed_statements(nest)))
    assert {TYPES[kind] for _, kind in statement_operations(nest, [], placed.statement.body)} == {"floating32"}


def test_conditions_and_functions() -> None:
    text = """nest masked { param n: int in [1, ?]; array a: double[n]; array b: int[n];
      for i: int in [0, n) step 1 { S0: if (b[i] > 0) { a[i] = b[i] > 2 ? expf(a[i]) : fmax(a[i], -1.0); } } }"""
    found = words(text, "S0")
    assert found[:4] == ["read", "literal", ">", "if"]
    assert found[-1] == "store"
    assert {"elementary", "minmax", "neg", "?:"} <= set(found)
