"""Sets of linked statements, and their order."""

from scheduler.matrices.linked import components, ordered, sequences
from scheduler.polyhedral.farkas import convex_parts
from scheduler.replay import Replayer
from tests.scheduler import nests


def test_a_circle_stays_together_and_order_is_as_given_where_it_is_free() -> None:
    before = {"a": {"c"}, "b": {"d"}, "c": {"a"}, "d": {"b", "e"}, "e": set[str](), "f": set[str]()}
    assert ordered("abcdef", before) == [("a", "c"), ("e",), ("b", "d"), ("f",)]
    assert ordered("ab", {"a": {"b"}, "b": set()}) == [("b",), ("a",)]


def test_of_dependences() -> None:
    gemm = convex_parts(Replayer(nests.nest(nests.GEMM)).dependences)
    assert components(["S0", "S1", "S2"], gemm) == [("S0", "S1"), ("S2",)]
    assert components(["S1", "S0"], ()) == [("S1",), ("S0",)]
    assert sequences(["S1", "S0"], gemm) == [("S0",), ("S1",)]
    jacobi = convex_parts(Replayer(nests.nest(nests.JACOBI)).dependences)
    assert sequences(["S0", "S1"], jacobi) == [("S0", "S1")]
