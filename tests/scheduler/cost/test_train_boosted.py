"""The boosted model: learns from problems, ranks schedules of programs it has not seen, survives odd labels."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scheduler.cost.boosted import BoostedCostModel
from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.feature_table import NAMES
from scheduler.cost.problem import CostModel, Problem
from scheduler.cost.train_boosted import (
    BoostedSettings,
    finetune_boosted,
    fit_boosted,
    make_examples,
    train_boosted,
)
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, parse_schedule
from tests.evaluation.metrics import spearman
from tests.scheduler import nests

TARGET = Target(threads=2)
QUICK = BoostedSettings(most_trees=16, members=2, smallest_leaf=3, rate=0.3, folds=2)
ORDERS = ("", "interchange(i, j)", "interchange(j, k)", "interchange(i, j); interchange(j, k)")
MARKS = ("", "parallelize({0})", "tile([{0}, {1}], [{size}, {size}])", "unroll({1}, 4)")


def copy(dimensions: str, right: str) -> str:
    """A nest of three loops that reads an array with its indices in another order."""
    return f"""nest n {{
      param n: int in [1, ?];
      array A: double{dimensions};
      array B: double{dimensions};
      for i: int in [0, n) step 1 {{
        for j: int in [0, n) step 1 {{
          for k: int in [0, n) step 1 {{ S0: A[i][j][k] = B{right} * 2.0; }}
        }}
      }}
    }}"""


def schedules() -> tuple[Schedule, ...]:
    found = []
    for order in ORDERS:
        names = ["i", "j", "k"]
        for step in parse_schedule(order):
            a, b = names.index(step.outer), names.index(step.inner)  # type: ignore[union-attr]
            names[a], names[b] = names[b], names[a]
        for mark in MARKS:
            text = mark.format(*names, size=16)
            found.append(parse_schedule("; ".join(filter(None, (order, text)))))
    return tuple(found)


def labelled(right: str, n: int, threads: float = 2.0) -> Problem:
    """Labels of an invented machine: how far the innermost loop strides, and what threads gain."""
    replayer = Replayer(nests.nest(copy("[n][n][n]", right)))
    speedups = []
    cost = {}
    for schedule in schedules():
        tree = replayer.tree(schedule)
        node, parallel = tree[0], False
        while True:
            parallel |= node.parallel is not None  # type: ignore[union-attr]
            below = node.children[0]  # type: ignore[union-attr]
            if not hasattr(below, "children"):
                break
            node = below
        inner = node.origin  # type: ignore[union-attr]
        strides = [0 if inner == "k" else 1, 0 if right.endswith(f"[{inner}]") else 1]
        cost[schedule] = (1.0 + 3.0 * sum(strides)) / (threads if parallel else 1.0)
    for schedule in schedules():
        speedups.append(cost[()] / cost[schedule])
    nest = nests.nest(copy("[n][n][n]", right))
    return Problem(nest, {"n": n}, TARGET, schedules(), tuple(speedups), right, right)


ALL = [labelled(right, n) for right in ("[i][j][k]", "[k][j][i]", "[i][k][j]", "[j][i][k]") for n in (60, 90)]
EXAMPLES = make_examples(ALL)


def test_examples_have_features_of_every_label() -> None:
    assert EXAMPLES.features.shape == (len(EXAMPLES.logs), len(NAMES)) and len(EXAMPLES.logs) > 80
    assert len(set(EXAMPLES.nests.tolist())) == 8 and len(set(EXAMPLES.groups.tolist())) == 4
    assert np.isfinite(EXAMPLES.features).all()
    weights = EXAMPLES.weights
    assert weights.mean() == pytest.approx(1.0)
    assert np.bincount(EXAMPLES.nests, weights) == pytest.approx(np.full(8, len(weights) / 8))


def test_every_nest_stands_there_with_its_time_and_without() -> None:
    problem = replace(ALL[0], seconds=0.02)
    examples = make_examples([problem])
    timed = examples.features[:, NAMES.index("timed")] > 0
    assert timed.sum() == (~timed).sum() == len(make_examples([ALL[0]]).logs)
    np.testing.assert_allclose(examples.features[~timed], make_examples([ALL[0]]).features, atol=1e-5)
    assert np.array_equal(examples.logs[timed], examples.logs[~timed])
    assert examples.weights[timed].sum() > 2 * examples.weights[~timed].sum()
    measured = examples.features[timed, NAMES.index("measured")]
    assert measured == pytest.approx(np.full(len(measured), math.log2(0.02e9 / 60**3)), abs=1e-4)


def test_the_time_of_the_original_is_an_input() -> None:
    """Whatever is done to nests that are slow for what they do doubles their speed here, and halves that of others."""
    problems = []
    for number, one in enumerate(ALL):
        seconds, speedup = (1e-4, 0.5) if number % 2 else (1e-2, 2.0)
        speedups = (speedup,) * len(one.schedules)
        problems.append(replace(one, speedups=speedups, seconds=seconds, parameters={"n": 60}))
    model = train_boosted(problems[:6], 1, replace(QUICK, most_trees=60, feature_share=1.0))
    for held in problems[6:]:
        told, untold = (predictions(model, held, seconds) / np.array(held.speedups) for seconds in (held.seconds, None))
        assert np.abs(np.log(told)).mean() < 0.1 < np.abs(np.log(untold)).mean()


def test_a_run_that_was_given_up_is_only_a_limit() -> None:
    """All schedules of two nests were given up at 8x: what the others teach decides. As labels they say 8x."""
    everything = frozenset(range(len(ALL[0].speedups)))
    labelled_so = [replace(one, speedups=(8.0,) * len(everything)) for one in ALL[:2]]
    limited = [replace(one, given_up=everything) for one in labelled_so]
    exact, free = (
        float(np.log(predictions(train_boosted([*some, *ALL[2:]], 1, QUICK), ALL[0])).mean())
        for some in (labelled_so, limited)
    )
    assert free < exact - 0.2


def test_a_card_says_how_far_predictions_of_held_out_groups_are_off() -> None:
    model = train_boosted(ALL, 1, QUICK)
    assert model.spread is not None
    low, high = model.spread
    assert 0.1 < low < 1 < high < 10
    assert train_boosted(ALL[:2], 1, QUICK).spread is None  # one group


def test_ranks_schedules_of_programs_it_has_not_seen() -> None:
    held = ALL[6]
    model = train_boosted([p for p in ALL if p.group != held.group], 1, QUICK)
    predicted = predictions(model, held)
    assert predicted.shape == (len(held.schedules),) and (predicted > 0).all()
    assert spearman(np.array(held.speedups), predicted) > 0.7


def predictions(model: CostModel, problem: Problem, seconds: float | None = None) -> np.ndarray:  # type: ignore[type-arg]
    replayer = Replayer(problem.nest)
    replayed = [replayer.replay(s) for s in problem.schedules]
    legal = [r for r in replayed if isinstance(r, ScheduledNest)]
    assert len(legal) == len(replayed)
    return model.predict(replayer, problem.parameters, problem.target, legal, seconds)


def test_a_few_labels_of_another_machine_correct_the_model() -> None:
    start = train_boosted(ALL, 1, QUICK)
    there = [labelled(right, 60, threads=0.25) for right in ("[i][j][k]", "[k][j][i]", "[j][i][k]")]
    held = labelled("[i][k][j]", 90, threads=0.25)
    tuned = finetune_boosted(start, there, 1, QUICK)

    def error(model: CostModel) -> float:
        return float(np.abs(np.log(predictions(model, held) / np.array(held.speedups))).mean())

    assert error(tuned) < 0.65 * error(start)
    assert tuned.card["start"] == start.card and len(tuned.forest.roots) > len(start.forest.roots)
    with pytest.raises(ValueError, match="no labels"):
        finetune_boosted(start, [], 1)


def test_same_seed_same_model_and_a_file_keeps_it(tmp_path: Path) -> None:
    first, second, other = (fit_boosted(EXAMPLES, seed, QUICK) for seed in (5, 5, 6))
    rows = EXAMPLES.features
    assert np.array_equal(first.forest.predict(rows), second.forest.predict(rows))
    assert not np.array_equal(first.forest.predict(rows), other.forest.predict(rows))
    path = tmp_path / "boosted.safetensors"
    first.save(path)
    loaded = BoostedCostModel.load(path)
    assert np.array_equal(predictions(loaded, ALL[0]), predictions(first, ALL[0]))
    assert loaded.card["labels"] == len(EXAMPLES.logs) and loaded.card["groups"] == 4
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="damaged"):
        BoostedCostModel.load(path)


def test_a_model_of_other_features_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "boosted.safetensors"
    fit_boosted(EXAMPLES, 0, QUICK).save(path)
    card = path.with_suffix(".json")
    card.write_text(card.read_text().replace(f'"{NAMES[3]}"', '"something_else"'))
    with pytest.raises(CheckpointError, match="train it again"):
        BoostedCostModel.load(path)


def test_duplicates_count_once_with_their_mean() -> None:
    first = ALL[0]
    doubled = Problem(first.nest, first.parameters, TARGET, first.schedules[:2] * 2, (1.0, 4.0, 1.0, 1.0), first.group)
    assert make_examples([doubled]).logs == pytest.approx([0.0, math.log(4) / 2])


def test_labels_nobody_can_learn_from() -> None:
    first = ALL[0]

    def problem(*speedups: float) -> Problem:
        return Problem(first.nest, first.parameters, TARGET, first.schedules[: len(speedups)], speedups, "g")

    constant = train_boosted([problem(2.0, 2.0, 2.0)], 0, QUICK)
    assert predictions(constant, ALL[1]) == pytest.approx(np.full(len(ALL[1].schedules), 2.0))
    assert train_boosted([problem(3.0)], 0, QUICK).card["trees"] == 0
    assert make_examples([problem(math.nan, 0.0, -1.0, math.inf, 5.0)]).logs == pytest.approx([math.log(5.0)])
    two = train_boosted([problem(1.0, 8.0)], 0, QUICK)
    assert (predictions(two, ALL[1]) > 0).all()
    with pytest.raises(ValueError, match="no labels"):
        train_boosted([problem(math.nan)], 0, QUICK)


def test_a_schedule_that_does_not_apply_is_left_out() -> None:
    first = ALL[0]
    schedules_ = (parse_schedule("parallelize(nowhere)"), first.schedules[0])
    problem = Problem(first.nest, first.parameters, TARGET, schedules_, (9.0, 1.0), "g")
    assert make_examples([problem]).logs.tolist() == [0.0]
