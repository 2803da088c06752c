"""Structures that isl computes: those one knows of some nests, each once, and why there are none."""

import gc
import pickle
import random
import time

import pytest

from scheduler.affine.forest import forest, reschedule
from scheduler.affine.model import Answer, Band, Setting, Several, Statements
from scheduler.affine.solver import Asked, question
from scheduler.affine.structures import MOST, Computed, computed_structures, variants
from scheduler.errors import NotApplicable
from scheduler.ir.tree import Leaf, TreeLoop, find_loop, tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.moves.time_tiling import computed_time_tiled
from scheduler.polyhedral.model import Model
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.transform import Reschedule
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.generator import random_inputs
from tests.scheduler import nests

SPARSE = """nest sparse {
  param n: int in [1, ?];
  array row: int[n + 1] const; array y: double[n]; array x: double[n] const;
  for i: int in [0, n) step 1 { for p: int in [opaque(row[i]), opaque(row[i + 1])) step 1 { S0: y[i] += x[i]; } }
}"""
TRIANGLE = """nest triangle {
  param n: int in [3, ?]; array T: int[n][n];
  for i: int in [n - 1, -1) step -1 { for j: int in [i + 1, n) step 1 {
    if (j - i - 2 >= 0) { S0: T[i][j] = T[i + 1][j - 1] + T[i + 1][j] + T[i][j - 1]; }
    if (j - i - 1 == 0) { S1: T[i][j] = T[i][j] + 1; }
  } }
}"""


def structures(text: str) -> tuple[Replayer, tuple[Reschedule, ...]]:
    replayer = Replayer(nests.nest(text))
    found = computed_structures(replayer).structures()
    return replayer, tuple(step for (step,) in found if isinstance(step, Reschedule))


@pytest.mark.gcc
def test_the_band_that_tiles_a_stencil_in_time() -> None:
    replayer, found = structures(nests.JACOBI)
    fused = "reschedule([S0 -> (0, t, 0, i + 2*t, 0, j + 2*t, 0), S1 -> (0, t, 0, i2 + 2*t + 1, 0, j2 + 2*t + 1, 1)])"
    assert parse_schedule(fused)[0] in found
    space = Space(replayer, Target(2), {"T": 100, "n": 900})
    tiled = next(computed_time_tiled(space, 1))
    assert isinstance(replayer.replay(tiled), ScheduledNest)
    assert "tile(" in format_schedule(tiled) and "parallelize(" in format_schedule(tiled)


@pytest.mark.gcc
def test_what_was_sequential_has_a_parallel_loop() -> None:
    """Diagonals of a triangle: no loop as written is parallel, and guards leave a statement fewer times."""
    replayer, found = structures(TRIANGLE)
    assert not Space(replayer, Target(2), {}).parallelized(())
    space = Space(replayer, Target(2), {"n": 100})
    assert any(space.parallelized((step,)) != (step,) for step in found)


@pytest.mark.gcc
@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI, nests.CHOLESKY, nests.LU, TRIANGLE])
def test_each_is_another_legal_order_and_computes_the_same(text: str) -> None:
    replayer, found = structures(text)
    assert 1 <= len(found) <= MOST and len({replayer.tree((step,)) for step in found}) == len(found)
    parameters = dict.fromkeys((p.name for p in replayer.nest.parameters), 6)
    data = random_inputs(replayer.nest, random.Random(1), parameters)
    expected = interpret(replayer.nest, parameters, data)
    for step in found:
        scheduled = replayer.replay((step,))
        assert isinstance(scheduled, ScheduledNest) and parse_schedule(format_schedule((step,))) == (step,)
        actual = interpret_scheduled(scheduled, parameters, data)
        assert all(value.tobytes() == actual[name].tobytes() for name, value in expected.items())


@pytest.mark.gcc
def test_none_that_is_known() -> None:
    replayer, found = structures(nests.GEMM)
    known = [(found[0],)]
    rest = computed_structures(replayer).structures(known)
    assert (found[0],) not in rest and len(rest) >= len(found) - 1
    assert computed_structures(replayer) is computed_structures(replayer)


def test_bounds_that_depend_on_data() -> None:
    replayer = Replayer(nests.nest(SPARSE))
    with pytest.raises(NotApplicable, match="data-dependent"):
        question(replayer)
    computed = Computed(replayer)
    assert computed.structures() == () and "data-dependent" in computed.reason


@pytest.mark.gcc
def test_a_setting_that_takes_for_ever_does_not_keep_the_others_from_their_answers() -> None:
    replayer = Replayer(nests.nest(nests.CHOLESKY))
    asked = question(replayer, (Setting("default"), Setting("no such", (("no_such_option", 1),)), Setting("again")))
    answers = Asked(asked).answers(20.0)
    assert [bool(a.tree) for a in answers] == [True, False, True] and "failed" in answers[1].reason
    assert pickle.loads(pickle.dumps(answers[0])) == answers[0]


@pytest.mark.gcc
def test_what_is_quick_comes_first_and_harder_questions_are_not_asked_in_vain() -> None:
    never = (("no_such_option", 1),)
    settings = (Setting("a", never), Setting("b", after="a"), Setting("c", quick=True), Setting("d", after="c"))
    answers = Asked(question(Replayer(nests.nest(nests.LU)), settings)).answers(20.0)
    assert [a.setting for a in answers if a.tree] == ["c", "d"] and "b" not in {a.setting for a in answers}


@pytest.mark.gcc
def test_no_longer_than_it_may_take() -> None:
    before = time.monotonic()
    assert Asked(question(Replayer(nests.nest(nests.CHOLESKY)))).answers(0.0) == ()
    assert time.monotonic() - before < 5.0


@pytest.mark.gcc
def test_a_question_that_nobody_waits_for_is_dropped() -> None:
    asked = Asked(question(Replayer(nests.nest(nests.CHOLESKY))))
    process = asked._process
    del asked
    gc.collect()
    assert process is not None and process.poll() is not None


def test_loops_of_one_iteration_go_and_times_get_small() -> None:
    model = Model(nests.nest(nests.GEMM))
    band = Band(
        (
            {"S0": ({}, {}, 0), "S1": ({}, {}, 4)},
            {"S0": ({0: 2}, {"n": 3}, 7), "S1": ({0: 2}, {"n": 3}, 5)},
            {"S0": ({1: 1}, {}, 0), "S1": ({1: 1}, {}, 1)},
        ),
        (True, True, True),
        True,
        Statements(("S1", "S0")),
    )
    step = reschedule(forest(band, model), ("S0", "S1"))
    assert str(step.maps[0]) == "S0 -> (0, i, 0, j0, 0)"
    assert str(step.maps[1]) == "S1 -> (1, i, 0, j, 0, k, 0)"  # the loop that isl left out stands inside


def test_variants_split_the_last_loops_and_put_small_strides_inside() -> None:
    replayer = Replayer(nests.nest(nests.LU))
    band = Band(
        (
            {"S0": ({0: 1}, {}, 0), "S1": ({0: 1}, {}, 0)},
            {"S0": ({0: 1}, {}, 1), "S1": ({2: 1}, {}, 0)},
            {"S0": ({1: 1}, {}, 0), "S1": ({1: 1}, {}, 0)},
        ),
        (False, False, False),
        True,
        Several((Statements(("S0",)), Statements(("S1",))), True),
    )
    made = [reschedule(forest(v, replayer.model), ("S0", "S1")) for v in variants(band, replayer)]
    assert str(made[0].maps[1]) == "S1 -> (0, k, 0, j, 0, i, 1)"
    assert str(made[1].maps[1]) == "S1 -> (0, k, 0, i, 0, j, 1)"  # rows of A lie along j
    assert str(made[2].maps[1]) == "S1 -> (0, k, 0, i, 1, j, 0)"
    assert str(made[3].maps[1]) == "S1 -> (0, k, 1, i, 0, j, 0)"
    tree = replayer.tree((made[3],))
    assert isinstance(tree[0], TreeLoop) and len(tree[0].children) == 2
    assert find_loop(tree, "k") is not None and not any(isinstance(node, Leaf) for node in tree)
    assert len(list(tree_loops(tree))) >= 4


def test_an_answer_without_a_tree_says_why() -> None:
    assert Answer("default", None, "too hard").reason == "too hard"
