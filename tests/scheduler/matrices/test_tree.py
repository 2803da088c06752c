"""Trees of matrices: by hand, for equivalent matrices the same, and proved to run instances in the same order."""

import random

import pytest

from scheduler.ir.affine import Affine, parse_affine
from scheduler.matrices.sample import Matrix, MatrixSampler
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral.farkas import Row, convex_parts
from scheduler.replay import Replayer
from scheduler.transform.reschedule import Reschedule
from tests.scheduler import nests
from tests.scheduler.matrices.order import matrix_times, same_order, tree_times

ONE = """nest one {
  param n: int in [3, ?]; param m: int in [1, ?]; array A: double[n];
  for t: int in [0, m) step 1 { for i: int in [1, n - 1) step 1 {
    S0: A[i] = A[i - 1] + A[i] + A[i + 1]; } }
}"""
TWO = """nest two {
  param n: int in [1, ?]; array A: double[n]; array B: double[n];
  for i: int in [0, n) step 1 { S0: A[i] = 2.0; }
  for j: int in [0, n) step 1 { S1: B[j] = A[j]; }
}"""


def matrix(*rows: dict[str, str]) -> Matrix:
    return tuple(Row(tuple((name, parse_affine(text)) for name, text in row.items())) for row in rows)


def simplified(nest: str, *rows: dict[str, str]) -> str:
    replayer = Replayer(nests.nest(nest))
    tree = Simplifier(replayer.model, convex_parts(replayer.dependences)).tree(matrix(*rows))
    assert same_order(replayer.model, matrix_times(replayer.model, matrix(*rows)), tree_times(replayer.model, tree))
    return "; ".join(map(str, tree.maps))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # A sequence by constants, and by shifts beyond the other's last iteration.
        ([{"S0": "0", "S1": "7"}, {"S0": "i", "S1": "j"}], "S0 -> (0, i, 0); S1 -> (1, j, 0)"),
        ([{"S0": "i", "S1": "j + n"}], "S0 -> (0, i, 0); S1 -> (1, j, 0)"),
        # Common factors and shifts go; shifts against each other stay, where they are not all less than a stride.
        ([{"S0": "3*i + n", "S1": "3*j + n + 6"}], "S0 -> (0, i, 0); S1 -> (0, j + 2, 1)"),
        ([{"S0": "2*i", "S1": "2*j + 1"}], "S0 -> (0, i, 0); S1 -> (0, j, 1)"),
        ([{"S0": "2*i + 1", "S1": "2*j + 2"}], "S0 -> (0, i, 0); S1 -> (0, j, 1)"),
        ([{"S0": "2*i", "S1": "2*j + 3"}], "S0 -> (0, i, 0); S1 -> (0, j + 1, 1)"),
        ([{"S0": "2*i", "S1": "j + n + i - i"}], "S0 -> (0, 2*i, 0); S1 -> (0, j + n, 1)"),
        # Backwards.
        ([{"S0": "0", "S1": "1"}, {"S0": "n - i", "S1": "j"}], "S0 -> (0, -i, 0); S1 -> (1, j, 0)"),
        # Rows that say nothing new.
        (
            [{"S0": "4", "S1": "4"}, {"S0": "i", "S1": "j"}, {"S0": "2*i + 1", "S1": "2*j + 1"}],
            "S0 -> (0, i, 0); S1 -> (0, j, 1)",
        ),
    ],
)
def test_by_hand(rows: list[dict[str, str]], expected: str) -> None:
    assert simplified(TWO, *rows) == expected


def test_only_rows_outside_the_band_are_subtracted() -> None:
    assert simplified(ONE, {"S0": "t"}, {"S0": "i - 5*t"}) == "S0 -> (0, t, 0, i, 0)"
    assert simplified(ONE, {"S0": "t"}, {"S0": "i + t"}) == "S0 -> (0, t, 0, i + t, 0)"
    assert simplified(ONE, {"S0": "i + 2*t"}, {"S0": "t"}) == "S0 -> (0, i + 2*t, 0, t, 0)"
    assert simplified(ONE, {"S0": "i + 2*t"}, {"S0": "-i - t"}) == "S0 -> (0, i + 2*t, 0, -i, 0)"


def test_a_loop_of_one_iteration_is_added_where_an_iterator_has_one_value() -> None:
    single = TWO.replace("for i: int in [0, n)", "for i: int in [0, 1)")
    assert simplified(single, {"S0": "0", "S1": "j + 1"}) == "S0 -> (0, i, 0); S1 -> (1, j, 0)"
    assert simplified(single, {"S0": "i", "S1": "j"}) == "S0 -> (0, i, 0); S1 -> (0, j, 1)"


@pytest.mark.parametrize("name", ["GEMM", "JACOBI", "CHOLESKY", "LU", "COVARIANCE", "SEIDEL", "PRIVATE", "BLUR"])
def test_equivalent_matrices_give_equal_trees_which_are_proved(name: str) -> None:
    replayer = Replayer(nests.nest(getattr(nests, name)))
    rng = random.Random(name)
    drawn = MatrixSampler(replayer.model, replayer.dependences, rng)
    simplifier = Simplifier(replayer.model, drawn.pairs, drawn.space)
    for number in range(12):
        sample = drawn.sample()
        tree = simplifier.tree(sample)
        if number < 6:
            assert same_order(replayer.model, matrix_times(replayer.model, sample), tree_times(replayer.model, tree))
        for _ in range(3):
            other = disguised(sample, rng, drawn.space.parameters)
            assert simplifier.tree(other) == tree, (list(map(str, sample)), list(map(str, other)))
        again = simplifier.tree(as_matrix(tree))
        assert again == tree, (str(tree), str(again))


def disguised(sample: Matrix, rng: random.Random, parameters: tuple[str, ...]) -> Matrix:
    """The same order in other words."""
    rows = list(sample)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(rows))
        row = rows[place]
        shift = Affine.build([(p, rng.randint(-2, 2)) for p in parameters], rng.randint(-3, 3))
        match rng.randrange(4):
            case 0:
                rows[place] = changed(row, lambda e: e * 3)
            case 1:
                rows[place] = changed(row, lambda e, shift=shift: e + shift)
            case 2:  # what the rows before say already
                k = rng.randint(-2, 2)
                rows.insert(place + 1, changed(row, lambda e, k=k: e * k + 1))
            case _:
                rows.insert(place, changed(row, lambda _, shift=shift: shift))
    return tuple(rows)


def changed(row: Row, how) -> Row:  # type: ignore[no-untyped-def]
    return Row(tuple((name, how(expression)) for name, expression in row.of))


def as_matrix(tree: Reschedule) -> Matrix:
    """Positions as rows of constants."""
    deepest = max(len(one.rows) for one in tree.maps)
    vectors = {}
    for one in tree.maps:
        vector = [Affine.constant(one.positions[0])]
        for row, position in zip(one.rows, one.positions[1:], strict=True):
            vector += [row, Affine.constant(position)]
        vectors[one.statement] = vector + [Affine()] * (2 * deepest + 1 - len(vector))
    return tuple(Row(tuple((name, v[k]) for name, v in vectors.items())) for k in range(2 * deepest + 1))
