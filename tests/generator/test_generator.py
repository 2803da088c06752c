import random
from collections import Counter

import numpy as np
import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.nest import Guard, LoopNest, Predicate, Storage
from scheduler.ir.text import format_nest, nest_id, parse_nest
from scheduler.ir.walk import loops, placed_statements
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.transform import TRANSFORMATIONS
from scheduler.transform.initial import initial_tree
from tests.doubles.interpret import interpret
from tests.generator import SHAPES, Size, random_inputs, random_nest, random_parameters, random_schedule


def check(nest: LoopNest, rng: random.Random, high: int = 5) -> dict[str, np.ndarray]:
    """The nest is well formed, in bounds and finite on random data."""
    assert parse_nest(format_nest(nest)) == nest
    parameters = random_parameters(nest, rng, high=high)
    result = interpret(nest, parameters, random_inputs(nest, rng, parameters))
    assert all(np.isfinite(np.asarray(values, float)).all() for values in result.values())
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_every_shape_gives_valid_nests(shape) -> None:
    changed = 0
    for seed in range(25):
        rng = random.Random(seed)
        nest = random_nest(rng, Size(depth=rng.choice((3, 4)), nests=1), [shape])
        for high in (1, 3, 6):
            check(nest, random.Random(seed), high)
        parameters = random_parameters(nest, rng, low=4, high=6)
        arrays = random_inputs(nest, rng, parameters)
        result = interpret(nest, parameters, arrays)
        changed += any(not np.array_equal(result[k], arrays[k]) for k in result)
    assert changed >= 15, "most nests compute something"


def test_whole_nests_are_valid() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        check(
            random_nest(rng, Size(depth=rng.randint(1, 4), nests=rng.randint(1, 3), statements=rng.randint(1, 4))), rng
        )


def test_the_seed_decides() -> None:
    for seed in range(20):
        first, second = random_nest(random.Random(seed)), random_nest(random.Random(seed))
        assert first == second
        assert random_parameters(first, random.Random(1)) == random_parameters(first, random.Random(1))
        parameters = random_parameters(first, random.Random(1))
        left, right = (random_inputs(first, random.Random(2), parameters) for _ in range(2))
        assert all(np.array_equal(left[k], right[k]) for k in left)


def test_sizes_are_kept() -> None:
    for seed in range(60):
        nest = random_nest(random.Random(seed), Size(depth=2, nests=1))
        assert max(len(p.loops) for p in placed_statements(nest)) <= 3
    with pytest.raises(ValueError):
        random_nest(random.Random(1), Size(depth=1), [s for s in SHAPES if s.least_depth > 1])


def test_variety() -> None:
    """What tests of the compiler rely on being drawn."""
    seen: Counter[str] = Counter()
    identities = set()
    for seed in range(300):
        nest = random_nest(random.Random(seed), Size(depth=4, nests=2))
        identities.add(nest_id(nest))
        all_loops = list(loops(nest))
        seen.update({f"type {a.ctype}" for a in nest.arrays} | {f"storage {a.storage.value}" for a in nest.arrays})
        seen.update({f"step {loop.step}" for loop in all_loops})
        seen["opaque"] += any(loop.is_opaque for loop in all_loops)
        seen["minimum"] += any(isinstance(loop.stop, tuple) and len(loop.stop) > 1 for loop in all_loops)
        seen["region"] += len(nest.body) > 1
        seen["flat"] += any(a.flat for a in nest.arrays)
        seen["unknown extent"] += any(None in a.shape for a in nest.arrays)
        around = [a for p in placed_statements(nest) for a in p.ancestors]
        seen["guard"] += any(isinstance(a, Guard) for a in around)
        seen["predicate"] += any(isinstance(a, Predicate) for a in around)
        seen["private array"] += any(a.storage is Storage.PRIVATE and bool(a.shape) for a in nest.arrays)
        seen["four deep"] += any(len(p.loops) >= 4 for p in placed_statements(nest))
        text = format_nest(nest)
        for word in ("floor(", "opaque(", "if (", "else", " ? ", "sqrt", "fmax", "* ", "(double)", "% ", "& "):
            seen[word] += word in text
    assert len(identities) > 280
    expected = [
        *("type double", "type float", "type int", "type long", "step -1", "step 2", "step -2", "opaque", "minimum"),
        *("region", "flat", "unknown extent", "guard", "predicate", "private array", "four deep", "floor(", "if ("),
        *(
            "else",
            " ? ",
            "sqrt",
            "fmax",
            "(double)",
            "% ",
            "& ",
            "storage global",
            "storage pointer",
            "storage private",
        ),
        *("storage restrict", "storage local"),
    ]
    assert [word for word in expected if seen[word] < 3] == []


# ---------------------------------------------------------------------------------------- inputs

CSR = """nest csr { param n: int; param m: int; param z: int;
  array rowptr: long[n + 1]; array col: int[z]; array val: float[z]; array x: float[m]; array y: float[n];
  array lo: long private(i);
  for i: int in [0, n) step 1 {
    S0: lo = rowptr[i];
    for p: int in [opaque(lo), opaque(rowptr[i + 1])) step 1 {
      S1: y[i] += val[p] * x[opaque((long)col[p] + 2)];
    }
  } }"""


def test_index_arrays() -> None:
    nest = parse_nest(CSR)
    for seed in range(20):
        arrays = random_inputs(nest, random.Random(seed), {"n": 5, "m": 7, "z": 9})
        assert (np.diff(arrays["rowptr"]) >= 0).all() and arrays["rowptr"].max() <= 9
        assert arrays["rowptr"].dtype == np.int64 and arrays["rowptr"].shape == (6,)
        assert arrays["col"].min() >= 0 and arrays["col"].max() <= 4
        assert "lo" not in arrays
        interpret(nest, {"n": 5, "m": 7, "z": 9}, arrays)


def test_unknown_extents_are_large_enough() -> None:
    nest = parse_nest(
        """nest u { param n: int; array A: double[?][n]; array B: double[?]; array s: unsigned char;
        for i: int in [0, n) step 1 { for j: int in [0, i + 1) step 1 {
          S0: A[2*i + 3][j] = B[i + j] + B[opaque(i * j % n)]; S1: s = 1; } } }"""
    )
    arrays = random_inputs(nest, random.Random(1), {"n": 4})
    assert (arrays["A"].shape == (10, 4) and arrays["B"].shape == (8,)) or arrays["B"].shape == (7,)
    assert arrays["s"].dtype == np.uint8 and arrays["s"].shape == ()
    interpret(nest, {"n": 4}, arrays)


def test_parameters_fulfil_ranges_and_assumptions() -> None:
    nest = parse_nest(
        "nest p { param n: int in [2, 6]; param m: long in [?, 5]; assume n - m - 1 >= 0; assume (n) % 2 == 0; }"
    )
    for seed in range(30):
        values = random_parameters(nest, random.Random(seed))
        assert 2 <= values["n"] <= 6 and 1 <= values["m"] < values["n"] and values["n"] % 2 == 0
    with pytest.raises(ValueError):
        random_parameters(parse_nest("nest p { param n: int; assume -n >= 0; }"), random.Random(0))


# ------------------------------------------------------------------------------------- schedules


def test_schedules_apply_step_by_step() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(250):
        rng = random.Random(seed)
        nest = random_nest(rng, Size(depth=4, nests=2))
        tree = initial_tree(nest)
        schedule = random_schedule(nest, rng, 4, tree)
        assert len(schedule) <= 4
        assert parse_schedule(format_schedule(schedule)) == schedule
        for step in schedule:
            tree = step.apply(tree)
            kinds[type(step).__name__] += 1
    assert {t.__name__ for t in TRANSFORMATIONS} - {"Split", "AosToSoa", "ForwardArray", "Reschedule"} == set(kinds), (
        kinds
    )  # drawn by `random_first_steps`, and by its test


def test_refused_steps_can_be_kept() -> None:
    refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        nest = random_nest(rng)
        tree = initial_tree(nest)
        for step in random_schedule(nest, rng, 5, tree, refused=1.0):
            try:
                tree = step.apply(tree)
            except NotApplicable:
                refused += 1
    assert refused > 20


def test_schedules_of_nests_without_loops_are_empty() -> None:
    nest = parse_nest("nest e { array s: int; S0: s = 1; }")
    assert random_schedule(nest, random.Random(1), 3, initial_tree(nest)) == ()
