import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from scheduler.ir.affine import Affine
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.ir.tree import Parallel, RegisterMark, TreeLoop, TreeNode, find_loop, replace_loop
from scheduler.transform.initial import initial_tree
from tests.doubles.interpret import InterpreterError, execution_order, interpret, interpret_scheduled
from tests.generator import SHAPES, Size, random_inputs, random_nest, random_parameters
from tests.scheduler.ir.c_snippets import call, compile_c, same

pytestmark = pytest.mark.gcc


@dataclass(frozen=True)
class Tree:
    nest: LoopNest
    tree: tuple[TreeNode, ...]


def identity(nest: LoopNest) -> Tree:
    return Tree(nest, initial_tree(nest))


def marked(nest: LoopNest, loop: str, **changes) -> Tree:
    tree = initial_tree(nest)
    found = find_loop(tree, loop)
    assert found is not None
    return Tree(nest, replace_loop(tree, loop, (replace(found, **changes),)))


def with_row(nest: LoopNest, loop: str, statement: str, row: Affine) -> Tree:
    """The identity with one row changed."""
    found = find_loop(initial_tree(nest), loop)
    assert found is not None
    return marked(nest, loop, rows=tuple((s, row if s == statement else r) for s, r in found.rows))


# ------------------------------------------------------------------------------------- against C

SNIPPETS = {
    "cholesky": (
        """nest cholesky { param n: int; array A: double[n][n];
        for i: int in [0, n) step 1 {
          for j: int in [0, i) step 1 {
            for k: int in [0, j) step 1 { S0: A[i][j] -= A[i][k] * A[j][k]; }
            S1: A[i][j] /= A[j][j] + 3.0;
          }
          for k_2: int in [0, i) step 1 { S2: A[i][i] -= A[i][k_2] * A[i][k_2]; }
          S3: A[i][i] = sqrt(fabs(A[i][i]));
        } }""",
        """void cholesky(double (*A)[9], int n) {
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j] + 3.0;
          }
          for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];
          A[i][i] = sqrt(fabs(A[i][i]));
        } }""",
    ),
    "backwards": (
        """nest backwards { param n: int;
        array X: float[n]; array Y: float[n]; array acc: int; array t: float private(i);
        for i: int in [n - 1, 0) step -2 {
          S0: t = X[i] > 0.0f ? X[i] * 2 : -X[i - 1];
          S1: if (t > 0.5f && i / 2 != 1) { Y[i] = t + 0.1 * i; acc += i; } else { Y[i - 1] -= t; acc ^= i << 1; }
        } }""",
        """void backwards(float *X, float *Y, int *acc, int n) {
        for (int i = n - 1; i > 0; i -= 2) {
          float t = X[i] > 0.0f ? X[i] * 2 : -X[i - 1];
          if (t > 0.5f && i / 2 != 1) { Y[i] = t + 0.1 * i; *acc += i; } else { Y[i - 1] -= t; *acc ^= i << 1; }
        } }""",
    ),
    "band": (
        """nest band { param n: int; array H: short[n]; array W: unsigned char[n][n];
        for i: int in [0, n) step 1 {
          for j: int in [max(0, i - 2), min(n, i + 3, 8)) step 1 {
            if (i - j - 1 >= 0) or ((i + j) % 3 == 0 and j - 2 >= 0) {
              S0: H[i] = H[i] * 3 + W[i][j] / (j + 1) - (short)(H[j] >> 1);
              S1: W[j][i] = W[j][i] + 200;
            }
          }
        } }""",
        """void band(short *H, unsigned char (*W)[9], int n) {
        for (int i = 0; i < n; i++)
          for (int j = i - 2 > 0 ? i - 2 : 0; j < n && j < i + 3 && j < 8; j++)
            if (i > j || ((i + j) % 3 == 0 && j >= 2)) {
              H[i] = H[i] * 3 + W[i][j] / (j + 1) - (short)(H[j] >> 1);
              W[j][i] = W[j][i] + 200;
            }
        }""",
    ),
    "guards": (
        """nest guards { param n: int; array m: int[n]; array X: double[n]; array s: double;
        for i: int in [0, n) step 1 {
          when (m[i] > 0 || s < -1.0) {
            for j: int in [0, i + 1) step 1 { S0: X[j] = fmin(X[j], s) + 1.0 / (j + 2); }
            S1: s = X[i] - s;
          }
          S2: X[i] *= s != 0.0 ? 0.5 : 2;
        } }""",
        """void guards(int *m, double *X, double *s, int n) {
        for (int i = 0; i < n; i++) {
          if (m[i] > 0 || *s < -1.0) {
            for (int j = 0; j <= i; j++) X[j] = fmin(X[j], *s) + 1.0 / (j + 2);
            *s = X[i] - *s;
          }
          X[i] *= *s != 0.0 ? 0.5 : 2;
        } }""",
    ),
    "searches": (
        """nest searches { param n: int; array K: int[n]; array R: int[n]; array X: double[n];
        array t: int private(i); array j: int private(i);
        for i: int in [0, n) step 1 {
          S0: t = K[i]; S1: j = 0;
          S2: while (j < n && t > -40) {
            if (K[opaque(j)] == t) { R[i] = j; if (j > 3) { t = 7; } break; } break;
            while (1) { t -= 3; if (t % 2 == 0 || t < -30) {} break; }
            j += 1;
          }
          S3: X[i] = t + j;
        } }""",
        """void searches(int *K, int *R, double *X, int n) {
        for (int i = 0; i < n; i++) {
          int t = K[i], j = 0;
          while (j < n && t > -40) {
            if (K[j] == t) { R[i] = j; if (j > 3) { t = 7; break; } break; }
            while (1) { t -= 3; if (t % 2 == 0 || t < -30) break; }
            j += 1;
          }
          X[i] = t + j;
        } }""",
    ),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_equal_c(name: str, tmp_path) -> None:
    text, c = SNIPPETS[name]
    nest = parse_nest(text)
    library = compile_c(tmp_path, [c])
    rng = random.Random(name)
    for n in (9, 9, 9):
        arrays = random_inputs(nest, rng, {"n": n})
        before = {key: value.copy() for key, value in arrays.items()}
        result = interpret(nest, {"n": n}, arrays)
        assert same(result, call(library, name, arrays, n))
        assert same(arrays, before)
        assert same(interpret_scheduled(identity(nest), {"n": n}, arrays), result)


# -------------------------------------------------------------------------------- random nests


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_the_identity_tree_is_the_source_order(shape) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        nest = random_nest(rng, Size(depth=4, nests=2), [shape])
        parameters = random_parameters(nest, rng, high=5)
        arrays = random_inputs(nest, rng, parameters)
        expected = interpret(nest, parameters, arrays)
        assert same(interpret_scheduled(identity(nest), parameters, arrays), expected)


# ---------------------------------------------------------------------------------- what is checked

PRIVATE = """nest private { param n: int; array A: int[n]; array t: int private(i);
  for i: int in [0, n) step 1 {
    if (i - 2 >= 0) { S0: t = i; }
    S1: A[i] = t;
  } }"""


def test_private_values_end_with_the_iteration_of_their_scope() -> None:
    with pytest.raises(InterpreterError, match="read before it is written"):
        interpret(parse_nest(PRIVATE), {"n": 4}, {"A": np.zeros(4, np.int32)})
    whole = parse_nest(PRIVATE.replace("private(i)", "private").replace("i - 2 >= 0", "i == 0"))
    assert interpret(whole, {"n": 4}, {"A": np.ones(4, np.int32)})["A"].tolist() == [0, 0, 0, 0]
    stale = parse_nest(PRIVATE.replace("i - 2 >= 0", "i == 0"))
    with pytest.raises(InterpreterError, match="read before it is written"):
        interpret(stale, {"n": 4}, {"A": np.zeros(4, np.int32)})


def test_unwritten_private_values_are_garbage_in_a_schedule() -> None:
    nest = parse_nest(PRIVATE)
    result = interpret_scheduled(identity(nest), {"n": 4}, {"A": np.zeros(4, np.int32)})["A"].tolist()
    assert result[0] == result[1] not in range(4) and result[2:] == [2, 3]
    floating = parse_nest(PRIVATE.replace("int[n]", "double[n]").replace("t: int", "t: double"))
    result = interpret_scheduled(identity(floating), {"n": 4}, {"A": np.zeros(4)})["A"]
    assert np.isnan(result[:2]).all() and result[2:].tolist() == [2, 3]


def test_expanded_private_arrays_are_ordinary_storage() -> None:
    text = """nest expanded { param n: int; array A: double[n]; array t: double[?][2] private(i) expanded 1;
      for i: int in [0, n) step 1 { S0: t[i][1] = A[i]; }
      for j: int in [0, n) step 1 { S1: A[j] = t[n - 1 - j][1]; } }"""
    nest = parse_nest(text)
    assert interpret(nest, {"n": 3}, {"A": np.arange(3.0)})["A"].tolist() == [2, 1, 0]
    assert set(interpret(nest, {"n": 3}, {"A": np.arange(3.0)})) == {"A"}
    with pytest.raises(InterpreterError, match="out of bounds"):
        interpret(parse_nest(text.replace("t[i][1]", "t[i][2]")), {"n": 3}, {"A": np.arange(3.0)})


@pytest.mark.parametrize(
    ("access", "message"),
    [("A[i + 1]", "out of bounds"), ("A[i - 1]", "out of bounds"), ("A[opaque(c[i])]", "out of bounds"),
     ("B[i]", "subscripts"), ("A[opaque(1.0)]", "index")],
)  # fmt: skip
def test_bad_accesses(access: str, message: str) -> None:
    nest = parse_nest(
        "nest e { param n: int; array A: double[n]; array B: double[n]; array c: int[n];"
        f"for i: int in [0, n) step 1 {{ S0: B[i] = {access if access != 'B[i]' else 'A[i]'}; }} }}"
    )
    if access == "B[i]":
        nest = replace(nest, arrays=(replace(nest.arrays[0], shape=()), *nest.arrays[1:]))
    arrays = {"A": np.zeros(() if access == "B[i]" else 3), "B": np.zeros(3), "c": np.array([0, 7, 1], np.int32)}
    for run in (
        lambda: interpret(nest, {"n": 3}, arrays),
        lambda: interpret_scheduled(identity(nest), {"n": 3}, arrays),
    ):
        with pytest.raises(InterpreterError, match=message):
            run()


def test_bad_inputs() -> None:
    nest = parse_nest("nest e { param n: int; array A: double[n]; for i: int in [0, n) step 1 { S0: A[i] = 1; } }")
    for parameters, arrays in (
        ({}, {"A": np.zeros(3)}),
        ({"n": 3}, {}),
        ({"n": 3}, {"A": np.zeros(4)}),
        ({"n": 3}, {"A": np.zeros((3, 1))}),
        ({"n": 3}, {"A": np.zeros(3, np.float32)}),
    ):
        with pytest.raises(InterpreterError):
            interpret(nest, parameters, arrays)


def test_a_loop_without_end() -> None:
    nest = parse_nest("""nest endless { param n: int; array X: int[n];
        for i: int in [0, n) step 1 { S0: while (X[i] < 9) { X[i] *= 1; } } }""")
    with pytest.raises(InterpreterError, match="goes round more than"):
        interpret(nest, {"n": 1}, {"X": np.zeros(1, np.int32)})


def test_functions_unknown_to_the_interpreter() -> None:
    nest = parse_nest("nest e { array s: double; S0: s = mystery(s)@double; }")
    with pytest.raises(InterpreterError, match="mystery"):
        interpret(nest, {}, {"s": np.zeros(())})


# ------------------------------------------------------------------------------------- schedules

SCAN = parse_nest(
    "nest scan { param n: int; array A: double[n]; for i: int in [1, n) step 1 { S0: A[i] += A[i - 1]; } }"
)
COPY = parse_nest(
    """nest copy { param n: int; array A: double[n]; array B: double[n];
    for i: int in [0, n) step 1 { S0: A[i] = i; S1: B[i] = A[i] + 1; } }"""
)


def test_rows_decide_the_order() -> None:
    reverse = with_row(SCAN, "i", "S0", -Affine.of("i"))
    assert [values["i"] for _, values in execution_order(reverse, {"n": 4}, {"A": np.ones(4)})] == [3, 2, 1]
    assert interpret(SCAN, {"n": 4}, {"A": np.ones(4)})["A"].tolist() == [1, 2, 3, 4]
    assert interpret_scheduled(reverse, {"n": 4}, {"A": np.ones(4)})["A"].tolist() == [1, 2, 2, 2]
    shifted = with_row(COPY, "i", "S1", Affine.of("i") + 2)
    order = execution_order(shifted, {"n": 3}, {"A": np.zeros(3), "B": np.zeros(3)})
    assert order == [("S0", {"i": 0}), ("S0", {"i": 1}), ("S0", {"i": 2}), ("S1", {"i": 0}), ("S1", {"i": 1}),
                     ("S1", {"i": 2})]  # fmt: skip


def test_two_instances_at_one_time_are_an_error() -> None:
    with pytest.raises(InterpreterError, match="same time"):
        execution_order(with_row(SCAN, "i", "S0", Affine()), {"n": 4}, {"A": np.ones(4)})


def test_tiles_and_floors() -> None:
    (loop,) = initial_tree(SCAN)
    assert isinstance(loop, TreeLoop)
    tile = TreeLoop("i_t", (("S0", Affine.of("i").floordiv(3)),), (loop,), "i", tile=3)
    tiled = Tree(SCAN, (tile,))
    assert [v["i"] for _, v in execution_order(tiled, {"n": 9}, {"A": np.ones(9)})] == list(range(1, 9))


def test_predicates_are_evaluated_when_the_instance_runs() -> None:
    nest = parse_nest(
        """nest late { param n: int; array m: int[n]; array A: int[n];
        for i: int in [0, n) step 1 { S0: m[i] = 1; }
        for j: int in [0, n) step 1 { when (m[j]) { S1: A[j] = 1; } } }"""
    )
    arrays = {"m": np.zeros(3, np.int32), "A": np.zeros(3, np.int32)}
    assert interpret_scheduled(identity(nest), {"n": 3}, arrays)["A"].tolist() == [1, 1, 1]
    swapped = Tree(nest, tuple(reversed(initial_tree(nest))))
    assert interpret_scheduled(swapped, {"n": 3}, arrays)["A"].tolist() == [0, 0, 0]


def test_bounds_the_nest_computes_itself() -> None:
    nest = parse_nest(
        """nest computed { param n: int; array len: int[n]; array A: int[n][4]; array t: int private(j);
        for i: int in [0, n) step 1 { S0: len[i] = i % 4; }
        for j: int in [0, n) step 1 { S1: t = len[j]; for k: int in [0, opaque(t)) step 1 { S2: A[j][k] = 1; } } }"""
    )
    arrays = {"len": np.full(5, 9, np.int32), "A": np.zeros((5, 4), np.int32)}
    expected = interpret(nest, {"n": 5}, arrays)
    assert expected["A"].sum(axis=1).tolist() == [0, 1, 2, 3, 0]
    assert same(interpret_scheduled(identity(nest), {"n": 5}, arrays), expected)


def test_bounds_behind_a_false_predicate_do_not_matter() -> None:
    nest = parse_nest(
        """nest masked { param n: int; array m: int[n]; array len: int[2]; array A: int[n];
        for i: int in [0, n) step 1 { when (m[i] < 2) {
          for k: int in [0, opaque(len[opaque(m[i])])) step 1 { S0: A[i] += k; } } } }"""
    )
    arrays = {"m": np.array([1, 5, 0], np.int32), "len": np.array([2, 3], np.int32), "A": np.zeros(3, np.int32)}
    assert interpret(nest, {"n": 3}, arrays)["A"].tolist() == [3, 0, 1]
    assert same(interpret_scheduled(identity(nest), {"n": 3}, arrays), interpret(nest, {"n": 3}, arrays))


# ----------------------------------------------------------------------------------------- races

SUM = parse_nest("nest sum { param n: int; array s: int; for i: int in [0, n) step 1 { S0: s += 1; } }")
SHIFT = parse_nest(
    """nest shift { param n: int; array A: double[n + 1]; array B: double[n + 1];
    for i: int in [1, n) step 1 { S0: A[i] = i; S1: B[i] = A[i - 1]; } }"""
)
SAXPY = parse_nest(
    """nest saxpy { param n: int; array A: double[n][n]; for i: int in [0, n) step 1 {
    for j: int in [0, n) step 1 { S0: A[i][j] = A[i][j] * 2 + j; } } }"""
)


def outcomes(tree: Tree, arrays: dict[str, np.ndarray], n: int = 8) -> int:
    """How many different results 30 random orders give."""
    results = [interpret_scheduled(tree, {"n": n}, arrays, parallel_order=random.Random(s)) for s in range(30)]
    return len({tuple(np.asarray(r[k]).tobytes() for k in sorted(r)) for r in results})


def test_a_race_shows_even_when_iterations_commute() -> None:
    arrays = {"s": np.array(0, np.int32)}
    assert outcomes(marked(SUM, "i", parallel=Parallel()), arrays) > 2
    assert outcomes(marked(SUM, "i", vector=True), arrays) > 1
    assert outcomes(identity(SUM), arrays) == 1


@pytest.mark.parametrize("marks", [{"parallel": Parallel()}, {"vector": True}])
def test_dependences_between_iterations_show(marks) -> None:
    assert outcomes(marked(SCAN, "i", **marks), {"A": np.arange(8.0)}) > 2
    assert outcomes(marked(SHIFT, "i", **marks), {"A": -np.arange(9.0), "B": np.zeros(9)}) > 1
    assert outcomes(marked(COPY, "i", **marks), {"A": np.ones(8), "B": np.ones(8)}) == 1


def test_collapsed_loops() -> None:
    arrays = {"A": np.ones((4, 4))}
    assert outcomes(marked(SAXPY, "i", parallel=Parallel(collapse=2)), arrays, 4) == 1
    nest = parse_nest(
        """nest rows { param n: int; array A: double[n][n]; for i: int in [0, n) step 1 {
        for j: int in [1, n) step 1 { S0: A[i][j] = A[i][j - 1] + 1; } } }"""
    )
    arrays = {"A": np.arange(16.0).reshape(4, 4) * 2}
    assert outcomes(marked(nest, "i", parallel=Parallel()), arrays, 4) == 1
    assert outcomes(marked(nest, "i", parallel=Parallel(collapse=2)), arrays, 4) > 2


def test_register_blocks_are_vectors() -> None:
    assert outcomes(marked(SAXPY, "j", register=RegisterMark(("j",), (4,))), {"A": np.ones((8, 8))}) == 1
    assert outcomes(marked(SCAN, "i", register=RegisterMark(("i",), (4,))), {"A": np.arange(8.0)}) > 1
