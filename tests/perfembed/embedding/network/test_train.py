"""Training on graphs of real nests: it learns, repeats itself, resumes, stops, and pulls like nests together."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.network.checkpoint import ModelUnusable
from perfembed.embedding.network.examples import Example, data_hash, learned
from perfembed.embedding.network.interface import NetworkSettings, machine_numbers, profile_numbers
from perfembed.embedding.network.losses import stress_loss
from perfembed.embedding.network.targets import metric_row, scale_metrics, targets
from perfembed.embedding.network.train import EpochDone, TrainSettings, train_embedding
from profilers.profile import Profile
from scheduler.machine.target import Target
from scheduler.polyhedral.io_bound import io_lower_bound
from scheduler.polyhedral.model import Model
from tests.perfembed.embedding_support import MATMUL, STENCIL, nest
from tests.scheduler.nests import CHOLESKY

torch.set_num_threads(1)
HERE = Target(2)
SMALL = TrainSettings(epochs=4, batch=8, network=NetworkSettings(layers=1, fusion=64))


def profile(instances: float, lines: float, vector: bool) -> Profile:
    """Counts as two threads would make them that run so many instances and move so many cache lines."""
    counts = {
        "instructions": 6 * instances,
        "fp64_scalar": 0.0 if vector else 2 * instances,
        "fp64_256": instances / 2 if vector else 0.0,
        **dict.fromkeys(("fp32_scalar", "fp32_128", "fp32_256", "fp32_512", "fp64_128", "fp64_512"), 0.0),
        "branches": instances,
        "branch_misses": instances / 1000,
        "loads": 2 * instances,
        "stores": instances / 2,
        "memory_reads": lines,
        "memory_writes": lines / 3,
        "l1_replacements": 4 * lines,
        "l2_lines_in": 2 * lines,
        "l2_write_backs": lines / 2,
    }
    pairs = tuple((name, (0.4 * value, 0.6 * value)) for name, value in counts.items())
    return Profile("simulated", "0" * 16, 2, 1e-9 * instances + 2e-9 * lines, 64, pairs)


def example(text: str, size: int) -> Example:
    """A nest at a size with a profile its size and kind explain; counters it lacks stay unknown."""
    one, sizes = nest(text), {"n": size, "m": size, "l": size, "T": 10}
    cubic = text != STENCIL
    found = profile(float(size) ** (3 if cubic else 2) + 1, size * size / 8 + 1, vector=text == STENCIL)
    least = io_lower_bound(Model(one), sizes, 1 << 20).bytes
    metrics = metric_row(found.metrics(least))
    group = f"{one.name}{size}"
    return Example(encode(one, sizes), profile_numbers(found), metrics, machine_numbers(HERE), group, least_bytes=least)


@pytest.fixture(scope="module")
def examples() -> tuple[Example, ...]:
    return tuple(example(text, size) for text in (MATMUL, STENCIL, CHOLESKY) for size in (40, 80, 160, 320))


def test_profiles_have_unknown_counters(examples: tuple[Example, ...]) -> None:
    assert any(math.isnan(v) for v in examples[0].profile or ())
    assert any(math.isnan(v) for v in examples[0].metrics) and not all(math.isnan(v) for v in examples[0].metrics)


@pytest.mark.campaign
@pytest.mark.parametrize("dropout", [0.0, 1.0])
def test_learns_what_it_sees(examples: tuple[Example, ...], dropout: float) -> None:
    seen: list[EpochDone] = []
    settings = TrainSettings(epochs=60, batch=4, rate=2e-3, profile_dropout=dropout, network=NetworkSettings(layers=1))
    model = train_embedding(examples, (), settings, seen.append)
    assert [d.epoch for d in seen] == list(range(1, 61)) and seen[-1].static is None
    assert seen[-1].loss < 0.2 * seen[0].loss
    profiles = None if dropout else [e.profile for e in examples]
    predicted = scale_metrics(model.predict([e.graph for e in examples], profiles, HERE))
    measured = scale_metrics(np.array([e.metrics for e in examples]))
    names = [t.name for t in targets()]
    for name in ("memory_volume", "l3_volume", "l1_miss_ratio", "vectorization_ratio"):
        column = names.index(name)
        assert np.corrcoef(predicted[:, column], measured[:, column])[0, 1] > 0.95, name


def test_same_seed_same_weights(examples: tuple[Example, ...]) -> None:
    one, same = (train_embedding(examples, (), SMALL) for _ in range(2))
    assert one.model_id == same.model_id
    assert train_embedding(examples, (), replace(SMALL, seed=1)).model_id != one.model_id


def test_resumes_where_it_was(examples: tuple[Example, ...], tmp_path: Path) -> None:
    training, validation = examples[:8], examples[8:]
    path = tmp_path / "state.safetensors"

    class Stopped(Exception):
        pass

    def stop(done: EpochDone) -> None:
        if done.epoch == 3:
            raise Stopped

    whole = train_embedding(training, validation, SMALL)
    with pytest.raises(Stopped):
        train_embedding(training, validation, SMALL, stop, checkpoint=path)
    epochs: list[int] = []
    resumed = train_embedding(training, validation, SMALL, lambda d: epochs.append(d.epoch), checkpoint=path)
    assert epochs == [3, 4]
    assert resumed.model_id == whole.model_id and resumed.card["metrics"] == whole.card["metrics"]
    with pytest.raises(ModelUnusable, match="of another training"):
        train_embedding(training, validation, replace(SMALL, seed=9), checkpoint=path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(ModelUnusable, match="damaged"):
        train_embedding(training, validation, SMALL, checkpoint=path)


def test_stops_early_and_keeps_the_best(examples: tuple[Example, ...]) -> None:
    seen: list[EpochDone] = []
    # what is validated on contradicts what is trained on, so that more training makes it worse
    wrong = tuple(
        replace(e, metrics=tuple(m * 1e4 for m in examples[-1 - n].metrics), group="x") for n, e in enumerate(examples)
    )
    settings = replace(SMALL, epochs=80, patience=4, rate=3e-3)
    model = train_embedding(examples, wrong, settings, seen.append)
    assert len(seen) < 80 and len(seen) == seen[-1].best_epoch + 4
    errors = [((d.static or 0) + (d.profiled or 0)) / 2 for d in seen]
    assert min(range(len(errors)), key=errors.__getitem__) + 1 == model.card["metrics"]["best_epoch"]


def test_groups_are_kept_apart(examples: tuple[Example, ...]) -> None:
    with pytest.raises(ValueError, match=r"group 'matmul40' is both"):
        train_embedding(examples, examples[:1], SMALL)
    with pytest.raises(ValueError, match="no examples"):
        train_embedding((), (), SMALL)


def test_unknown_metrics_teach_nothing(examples: tuple[Example, ...]) -> None:
    """An example without any metric changes no gradient, only the order of the others; nothing becomes NaN."""
    unknown = replace(examples[0], metrics=(math.nan,) * 20, profile=None)
    model = train_embedding((*examples, unknown), (), replace(SMALL, batch=16))
    assert all(t.isfinite().all() for t in model.network.state_dict().values())
    alone = train_embedding((unknown,), (), SMALL)
    assert all(t.isfinite().all() for t in alone.network.state_dict().values())


def test_data_hash(examples: tuple[Example, ...]) -> None:
    assert data_hash(examples) == data_hash(tuple(examples))
    assert data_hash(examples[1:]) != data_hash(examples)
    assert data_hash((replace(examples[0], group="other"), *examples[1:])) != data_hash(examples)


def test_stress_loss() -> None:
    nan = math.nan
    vectors = torch.tensor([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])  # distances: 1, 3, 2 in some unit
    metrics = torch.tensor([[0.0, nan, 5.0], [1.0, 4.0, nan], [3.0, nan, nan]])  # of what is known of both: 1, 2, 3
    assert stress_loss(vectors, metrics).item() == pytest.approx(0, abs=1e-6)
    assert stress_loss(vectors * 2, metrics).item() == pytest.approx(0, abs=1e-6)
    even = torch.tensor([[0.0], [1.0], [2.0]])  # 1, 2, 1, which fit 1, 3, 2 best when stretched by 1.5
    assert stress_loss(even, metrics).item() == pytest.approx((0.25 + 0 + 0.25) / 3, rel=1e-4)
    assert stress_loss(vectors, torch.full((3, 3), nan)).item() == 0
    twins = torch.zeros((2, 2), requires_grad=True)
    stress_loss(twins, torch.tensor([[0.0], [1.0]])).backward()
    assert twins.grad is not None and twins.grad.isfinite().all()


def test_distances_become_those_of_the_metrics(examples: tuple[Example, ...]) -> None:
    metrics = learned(examples)
    metrics = metrics[:, np.isfinite(metrics).any(axis=0)]
    metrics = (metrics - np.nanmean(metrics, axis=0)) / np.maximum(np.nanstd(metrics, axis=0), 1e-3)
    wanted = np.sqrt(np.nanmean((metrics[:, None] - metrics[None]) ** 2, axis=2))

    def off(weight: float) -> float:
        model = train_embedding(examples, (), replace(SMALL, epochs=30, batch=12, stress=weight, rate=3e-3))
        vectors = np.array([e.vector for e in model.embed([e.graph for e in examples], None, HERE)])
        apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
        above = np.triu_indices(len(apart), 1)
        stretch = (apart[above] * wanted[above]).sum() / (apart[above] ** 2).sum()
        return float(np.abs(stretch * apart[above] - wanted[above]).mean())

    assert off(1.0) < 0.8 * off(0.0)


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"threads": 0}, {"rate": 0.0}, {"profile_dropout": 1.5}, {"graph_dropout": -0.5}],
)
def test_refused_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"positive|expected 0"):
        replace(SMALL, **wrong)  # type: ignore[arg-type]
