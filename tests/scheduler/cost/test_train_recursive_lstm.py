"""Training: it learns, and it is the same every time, interrupted or not."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
from scheduler.cost.problem import Problem
from scheduler.cost.recursive_lstm import LstmSettings
from scheduler.cost.train_recursive_lstm import EpochDone, TrainSettings, data_hash, train_recursive_lstm
from scheduler.errors import NotApplicable
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from tests.scheduler import nests
from tests.scheduler.cost.lstm_support import GEMM_SCHEDULES, SIZES, STENCIL_SCHEDULES, TARGET, problem, scheduled

GEMM = problem(nests.GEMM, GEMM_SCHEDULES, (1.0, 3.0, 6.0, 1.9, 11.0, 2.5, 2.4, 1.1, 1.2, 0.4), "gemm")
JACOBI = problem(nests.JACOBI, STENCIL_SCHEDULES, (1.0, 1.8, 0.2, 3.5, 0.9), "jacobi")
LU = problem(nests.LU, ("parallelize(i)", "interchange(i, j)"), (1.7, 0.5), "lu")
SMALL = LstmSettings(width=32, dropout=0.1)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(
    epochs: int,
    *,
    seed: int = 1,
    settings: LstmSettings = SMALL,
    progress: Callable[[EpochDone], None] = lambda _: None,
    checkpoint: Path | None = None,
    validation: tuple[Problem, ...] = (LU,),
) -> RecursiveLstmCostModel:
    return train_recursive_lstm(
        [GEMM, JACOBI], validation, seed, epochs, progress, settings=settings, checkpoint=checkpoint, device="cpu"
    )


def same(one: RecursiveLstmCostModel, other: RecursiveLstmCostModel) -> bool:
    weights = one.network.state_dict(), other.network.state_dict()
    return all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.campaign
def test_it_learns_what_it_is_shown() -> None:
    done: list[EpochDone] = []
    settings, training = replace(SMALL, dropout=0.0), TrainSettings(rate=2e-3)
    model = train_recursive_lstm([GEMM], [], 1, 45, done.append, settings=settings, training=training, device="cpu")
    assert [d.epoch for d in done] == list(range(1, 46)) and done[-1].validation is None
    replayer = Replayer(nests.nest(nests.GEMM))
    found = model.predict(replayer, SIZES, TARGET, scheduled(replayer, *GEMM_SCHEDULES))
    assert np.abs(found / GEMM.speedups - 1).mean() < 0.35  # 0.58 of speedup 1 for all
    assert found.argmax() == 4


def test_the_same_seed_gives_the_same_weights_and_leaves_other_randomness_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one = trained(2)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    assert same(one, trained(2))
    assert not same(one, trained(2, seed=2))
    assert one.card["seed"] == 1 and one.card["problems"] == 2 and one.card["labels"] == 15
    assert one.card["data"] == data_hash([GEMM, JACOBI])


def test_a_run_that_was_given_up_counts_only_where_it_is_predicted_faster() -> None:
    rows = (0, 1, 5)  # with speedups far above what an untrained network predicts
    limits = replace(GEMM, speedups=tuple(1e-2 if n in rows else s for n, s in enumerate(GEMM.speedups)))
    high = replace(GEMM, speedups=tuple(1e3 if n in rows else s for n, s in enumerate(GEMM.speedups)))
    settings, training = replace(SMALL, dropout=0.0), TrainSettings(rate=1e-9)

    def loss(p: Problem) -> float:
        done: list[EpochDone] = []
        train_recursive_lstm([p], [], 1, 1, done.append, settings=settings, training=training, device="cpu")
        return done[0].loss

    given_up = loss(replace(high, given_up=frozenset(rows)))
    assert loss(high) > given_up and loss(replace(limits, given_up=frozenset(rows))) == pytest.approx(loss(limits))
    others = [n for n in range(len(GEMM.speedups)) if n not in rows]
    rest = replace(
        GEMM,
        schedules=tuple(GEMM.schedules[n] for n in others),
        speedups=tuple(GEMM.speedups[n] for n in others),
    )
    assert given_up == pytest.approx(loss(rest) * len(others) / len(GEMM.speedups), rel=1e-4)
    assert data_hash([high]) != data_hash([replace(high, given_up=frozenset(rows))])


class Interrupted(Exception):
    pass


def test_resumed_training_gives_the_same_weights(tmp_path: Path) -> None:
    path = tmp_path / "training.safetensors"

    def interrupt(done: EpochDone) -> None:
        if done.epoch == 3:
            raise Interrupted

    whole = trained(4)
    with pytest.raises(Interrupted):
        trained(4, progress=interrupt, checkpoint=path)
    seen: list[EpochDone] = []
    resumed = trained(4, progress=seen.append, checkpoint=path)
    assert [d.epoch for d in seen] == [3, 4]  # the third was interrupted before it was stored
    assert same(whole, resumed)
    assert resumed.card == whole.card
    assert same(whole, trained(4, checkpoint=path))  # complete: nothing is left to do
    with pytest.raises(CheckpointError, match="of another training"):
        trained(4, seed=9, checkpoint=path)


def test_the_best_epoch_is_kept(tmp_path: Path) -> None:
    done: list[EpochDone] = []
    model = trained(4, progress=done.append)
    errors = [d.validation for d in done if d.validation is not None]
    assert len(errors) == 4
    assert model.card["metrics"]["best_epoch"] == done[-1].best_epoch == 1 + int(np.argmin(errors))  # type: ignore[index]
    replayer = Replayer(nests.nest(nests.LU))
    found = model.predict(replayer, SIZES, TARGET, scheduled(replayer, "parallelize(i)", "interchange(i, j)"))
    assert np.abs(found / LU.speedups - 1).mean() == pytest.approx(min(errors), rel=1e-4)


def test_going_on_from_a_model(tmp_path: Path) -> None:
    first = trained(1)
    path = tmp_path / "first.safetensors"
    first.save(path)
    again = RecursiveLstmCostModel.load(path)
    tuned = train_recursive_lstm([LU], [], 3, 1, lambda _: None, start=again, training=TrainSettings(rate=1e-9))
    assert not same(first, tuned)
    for name, weight in first.network.state_dict().items():
        torch.testing.assert_close(tuned.network.state_dict()[name], weight, atol=1e-6, rtol=1e-6)
    assert tuned.network.settings == SMALL


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="nothing to train on"):
        train_recursive_lstm([replace(LU, schedules=(), speedups=())], [], 0, 1, lambda _: None)
    with pytest.raises(NotApplicable):
        train_recursive_lstm([replace(LU, schedules=(parse_schedule("unroll(x, 2)"),) * 2)], [], 0, 1, lambda _: None)


def test_the_hash_of_data() -> None:
    assert data_hash([GEMM]) == data_hash([replace(GEMM, name="other", group="other")])
    changed = [replace(GEMM, speedups=(2.0, *GEMM.speedups[1:])), replace(GEMM, parameters={**SIZES, "n": 7}), LU]
    assert len({data_hash([p]) for p in (GEMM, *changed)}) == 1 + len(changed)


@pytest.mark.slow
def test_a_hundred_labels_of_no_sense_can_be_learnt() -> None:
    """Every schedule is told from every other: random labels of four nests."""
    orders = (
        "",
        "interchange({0}, {1}); ",
        "tile([{0}, {1}], [8, 64]); ",
        "tile([{1}], [16]); ",
        "skew({0}, {1}, 1); ",
        "reverse({1}); ",
    )
    marks = ("", "parallelize({0})", "unroll({0}, 2)", "parallelize({0}); unroll({1}, 8)", "unroll({1}, 0)")
    loops = {nests.GEMM: ("j", "k"), nests.JACOBI: ("i", "j"), nests.LU: ("i", "j"), nests.SEIDEL: ("i", "j")}
    rng = random.Random(0)
    problems = []
    for text, names in loops.items():
        schedules = tuple((order + mark).format(*names) for order in orders for mark in marks)
        problems.append(problem(text, schedules[1:], tuple(2.0 ** rng.uniform(-2, 2) for _ in schedules[1:])))
    assert sum(len(p.speedups) for p in problems) >= 100
    losses: list[float] = []
    train_recursive_lstm(
        problems,
        [],
        0,
        200,
        lambda done: losses.append(done.loss),
        settings=LstmSettings(width=64, dropout=0.0),
        training=TrainSettings(groups=4, rate=1e-3),
    )
    assert losses[-1] < 0.1, losses[::10]
