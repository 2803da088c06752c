"""The network and its predictions: what they depend on, what they do not, and how they are stored."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from scheduler.cost.checkpoint import CheckpointError, card_path
from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
from scheduler.cost.problem import CostModel
from scheduler.cost.recursive_lstm import LstmSettings, RecursiveLstm, last_states
from scheduler.cost.tree_batch import nest_batch, schedule_batch, sequences
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from tests.scheduler import nests
from tests.scheduler.cost.lstm_support import (
    GEMM_SCHEDULES,
    SIZES,
    STENCIL_SCHEDULES,
    TARGET,
    encoded,
    renamed,
    scheduled,
)

SMALL = LstmSettings(width=32, dropout=0.0)
REGION = """nest region { array a: double[40]; array s: double; S0: s = 0.0;
  for i: int in [0, 40) step 1 { S1: a[i] = s; } for j: int in [0, 40) step 1 { S2: a[j] *= 2.0; } }"""
VARIANTS = {
    "full": SMALL,
    "absolute": LstmSettings(width=32, dropout=0.0, relative=False),
    "no expressions": LstmSettings(width=32, dropout=0.0, expressions=False),
    "boxes": LstmSettings(width=32, dropout=0.0, matrices=False),
    "schedule only": LstmSettings(width=32, dropout=0.0, program=False),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take longer than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def model(settings: LstmSettings = SMALL, seed: int = 0) -> RecursiveLstmCostModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return RecursiveLstmCostModel(RecursiveLstm(settings), {})


def predicted(
    found: CostModel, text: str, *schedules: str, sizes: dict[str, int] = SIZES, target: Target = TARGET
) -> list[float]:
    replayer = Replayer(nests.nest(text))
    values = found.predict(replayer, sizes, target, scheduled(replayer, *schedules))
    assert values.shape == (len(schedules),) and values.dtype == np.float64
    return [float(v) for v in values]


def test_last_states_are_those_of_single_runs() -> None:
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(3, 5)
    rows = torch.randn(12, 3)
    counts = np.array([2, 0, 4, 1, 0, 4])
    index = np.array([3, 3, 0, 1, 2, 11, 7, 5, 4, 5, 6])
    found = last_states(lstm, rows, sequences(index, counts))
    for number, part in enumerate(np.split(index, np.cumsum(counts)[:-1])):
        expected = lstm(rows[torch.from_numpy(part)])[0][-1] if len(part) else torch.zeros(5)
        torch.testing.assert_close(found[number], expected)
    assert last_states(lstm, rows, sequences(index[:0], np.zeros(2, np.int64))).tolist() == [[0.0] * 5] * 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_reach_every_parameter(variant: str) -> None:
    settings = VARIANTS[variant]
    torch.manual_seed(0)
    network = RecursiveLstm(settings)
    parts = [
        encoded(nests.nest(nests.GEMM), *GEMM_SCHEDULES),
        encoded(nests.nest(nests.JACOBI), *STENCIL_SCHEDULES),
        encoded(nests.nest(nests.SPMM), "parallelize(i)", "vectorize(j)"),
        encoded(nests.nest(REGION), "fuse(i, j)"),
    ]
    arrays = [nest for nest, _ in parts]
    found = network(nest_batch(arrays), schedule_batch(arrays, [schedules for _, schedules in parts]))
    ((found - torch.linspace(-1, 1, len(found))) ** 2).sum().backward()
    dead = {n for n, p in network.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}
    assert not dead


def test_the_nest_as_written_has_speedup_one() -> None:
    found = predicted(model(), nests.GEMM, *GEMM_SCHEDULES)
    assert found[0] == 1.0
    assert len(set(found)) == len(found)
    assert predicted(model(VARIANTS["absolute"]), nests.GEMM, "")[0] != 1.0


def test_names_do_not_count() -> None:
    one = predicted(model(), nests.GEMM, *GEMM_SCHEDULES)
    sizes = {"len": 100, "n": 200, "m": 300}
    assert predicted(model(), renamed(nests.GEMM), *map(renamed, GEMM_SCHEDULES), sizes=sizes) == one


def test_neither_company_nor_order_counts() -> None:
    found = model()
    together = predicted(found, nests.GEMM, *GEMM_SCHEDULES)
    alone = [predicted(found, nests.GEMM, text)[0] for text in GEMM_SCHEDULES]
    backwards = predicted(found, nests.GEMM, *reversed(GEMM_SCHEDULES))[::-1]
    np.testing.assert_allclose(alone, together, rtol=1e-5)
    np.testing.assert_allclose(backwards, together, rtol=1e-5)
    # Nests in one training batch, either way round, as in a batch of their own.
    parts = {text: encoded(nests.nest(text), *s) for text, s in ((nests.GEMM, GEMM_SCHEDULES), (nests.LU, ("",)))}
    for order in ((nests.GEMM, nests.LU), (nests.LU, nests.GEMM)):
        arrays = [parts[text][0] for text in order]
        batch = schedule_batch(arrays, [parts[text][1] for text in order])
        with torch.no_grad():
            values = found.network(nest_batch(arrays), batch).exp()
        mine = (batch.row_nests == order.index(nests.GEMM)).nonzero().flatten()[1:]
        np.testing.assert_allclose(values[mine], together, rtol=1e-5)


def test_sizes_machine_and_program_count() -> None:
    found = model()
    schedule = GEMM_SCHEDULES[4]
    (usual,) = predicted(found, nests.GEMM, schedule)
    others = [
        predicted(found, nests.GEMM, schedule, sizes={**SIZES, "l": 30})[0],
        predicted(found, nests.GEMM, schedule, target=Target(64))[0],
        predicted(found, nests.GEMM, schedule, target=Target(2, l2_bytes=1 << 21))[0],
        predicted(found, nests.GEMM.replace("B[k][j]", "B[j][k]"), schedule)[0],
        predicted(found, nests.GEMM.replace("* B", "/ B"), schedule)[0],
    ]
    assert len({usual, *others}) == 1 + len(others)


def test_what_ablated_models_do_not_see() -> None:
    schedule = GEMM_SCHEDULES[4]
    swapped = nests.GEMM.replace("A[i][k] * B[k][j]", "A[i][k] / B[k][j]")
    ordered = nests.JACOBI.replace("A[i][j] + A[i - 1][j]", "A[i - 1][j] + A[i][j]").replace(" + A[i][j - 1]", "")
    counted = VARIANTS["no expressions"]
    assert predicted(model(counted), nests.GEMM, schedule) != predicted(model(counted), swapped, schedule)
    assert predicted(model(counted), nests.JACOBI, *STENCIL_SCHEDULES) != predicted(
        model(counted), ordered, *STENCIL_SCHEDULES
    )
    mixed = [nests.GEMM.replace("A[i][k] * B[k][j]", e) for e in ("A[i][k] * 2.0 + B[k][j]", "2.0 + A[i][k] * B[k][j]")]
    one, other = (predicted(model(counted), text, schedule) for text in mixed)
    assert one == other  # the same operations in another order
    one, other = (predicted(model(), text, schedule) for text in mixed)
    assert one != other
    blind = VARIANTS["schedule only"]
    assert predicted(model(blind), nests.GEMM, schedule) == predicted(model(blind), swapped, schedule)
    # The step counts through the size it divides only where the extent is known: not in a blind model's axes.
    assert len(set(predicted(model(blind), nests.GEMM, *GEMM_SCHEDULES))) == len(GEMM_SCHEDULES)
    box = VARIANTS["boxes"]
    square = nests.CHOLESKY.replace("[0, i)", "[0, n - 1)").replace("[0, j)", "[0, n - 2)")
    assert predicted(model(box), nests.CHOLESKY, "reverse(k2)") == predicted(model(box), square, "reverse(k2)")
    assert predicted(model(), nests.CHOLESKY, "reverse(k2)") != predicted(model(), square, "reverse(k2)")


def test_any_shape() -> None:
    depth = 10
    head = "".join(f"for i{k}: int in [0, 3) step 1 {{ " for k in range(depth))
    index = "".join(f"[i{k}]" for k in range(depth))
    deep = f"nest deep {{ array a: double{'[3]' * depth}; {head} S0: a{index} = 1.0; {'}' * (depth + 1)}"
    for text, schedule in ((deep, "unroll(i9, 3)"), (REGION, "fuse(i, j); vectorize(i)")):
        (value,) = predicted(model(), text, schedule)
        assert np.isfinite(value) and value > 0 and value != 1.0


def test_what_is_remembered_belongs_to_its_nest_and_sizes() -> None:
    found = model()
    replayers = [Replayer(nests.nest(text)) for text in (nests.GEMM, nests.LU, nests.JACOBI)]
    cases = [(r, s) for r in replayers for s in (SIZES, {**SIZES, "n": 40})]
    fresh = [model().predict(r, s, TARGET, scheduled(r, "unroll(j, 2)")) for r, s in cases]
    again = [found.predict(r, s, TARGET, scheduled(r, "unroll(j, 2)")) for r, s in (*cases, *cases)][len(cases) :]
    assert len({float(value[0]) for value in fresh}) == len(cases)
    np.testing.assert_allclose(fresh, again, rtol=1e-5)
    gemm = replayers[0]
    many = scheduled(gemm, *GEMM_SCHEDULES) * 60  # more than one chunk
    values = found.predict(gemm, SIZES, TARGET, many).reshape(60, -1)
    np.testing.assert_allclose(values, np.tile(values[0], (60, 1)), rtol=1e-5)
    assert found.predict(gemm, SIZES, TARGET, []).shape == (0,)


@pytest.mark.parametrize("variant", VARIANTS)
def test_stored_models_predict_the_same(tmp_path: Path, variant: str) -> None:
    found = model(VARIANTS[variant])
    found.card["seed"] = 7
    path = tmp_path / "lstm.safetensors"
    found.save(path)
    loaded = RecursiveLstmCostModel.load(path)
    assert loaded.network.settings == VARIANTS[variant] and loaded.card["seed"] == 7
    expected = predicted(found, nests.GEMM, *GEMM_SCHEDULES)
    assert predicted(loaded, nests.GEMM, *GEMM_SCHEDULES) == expected
    size = path.stat().st_size
    found.save(path, half=True)
    assert path.stat().st_size < 0.6 * size
    half = predicted(RecursiveLstmCostModel.load(path), nests.GEMM, *GEMM_SCHEDULES)
    np.testing.assert_allclose(half, expected, rtol=0.02)


def test_models_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lstm.safetensors"
    model().save(path)
    card = json.loads(card_path(path).read_text())
    for changed, message in (
        ({"features": 0}, "made for version 0 of the features, this program has .*; train it again"),
        ({"settings": {"width": 64}}, "does not fit its card"),
        ({"settings": {"wide": 64}}, "does not fit its card"),
        ({"settings": None}, "does not fit its card"),
        ({"kind": "boosted"}, "a model of kind 'boosted', expected 'recursive-lstm'"),
    ):
        card_path(path).write_text(json.dumps({**card, **changed}))
        with pytest.raises(CheckpointError, match=message):
            RecursiveLstmCostModel.load(path)


def test_size() -> None:
    parameters = sum(p.numel() for p in RecursiveLstm(LstmSettings()).parameters())
    assert 0.3e6 < parameters < 3e6


@pytest.mark.slow
def test_throughput(capsys: pytest.CaptureFixture[str]) -> None:
    """Candidates of a search: batches of schedules of one nest that the model has not seen, on one core."""
    found = model(LstmSettings())
    replayer = Replayer(nests.nest(nests.GEMM))
    texts = [
        f"distribute(i, 1); tile([i_d, j, k], [{a}, {b}, {c}]); parallelize(i_d_t); unroll(k, {u})"
        for a in (8, 16, 32) for b in (8, 16, 32, 64) for c in (16, 32, 48, 64) for u in (2, 4, 8, 16)
    ]  # fmt: skip
    candidates = scheduled(replayer, *texts)
    found.predict(replayer, SIZES, TARGET, candidates[:1])
    rates = {}
    for batch in (8, 32, len(candidates)):
        found = model(LstmSettings())
        before = time.process_time()
        for first in range(0, len(candidates), batch):
            found.predict(replayer, SIZES, TARGET, candidates[first : first + batch])
        rates[batch] = len(candidates) / (time.process_time() - before)
    with capsys.disabled():
        for batch, rate in rates.items():
            print(f"recursive LSTM, batches of {batch}: {rate:.0f} predictions/s of one core")
    assert max(rates.values()) > 500
