"""Guards: by the cost model relative to the best so far, by name, and asked of a genetic search alone."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from perfembed.errors import UsageError
from perfembed.learning.surrogate import load_classifier
from perfembed.tuning.guarding import guard_of
from perfembed.tuning.options import asked_options
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.scheduler import nests


class Told:
    """A model that says what it was told, one schedule after the other."""

    spread = None

    def __init__(self, *speedups: float) -> None:
        self.speedups = list(speedups)

    def predict(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        schedules: Sequence[ScheduledNest],
        seconds: float | None = None,
    ) -> npt.NDArray[np.float64]:
        return np.array([self.speedups.pop(0) for _ in schedules])


def test_guards() -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    found = replayer.replay(parse_schedule("interchange(j, k)"))
    assert isinstance(found, ScheduledNest)
    sizes, target = {"n": 50, "m": 50, "l": 50}, Target(2)
    by_model = guard_of("model", replayer, sizes, target, Told(1.0, 4.0, 2.0, 1.9, 5.0), None)
    assert by_model is not None
    assert [by_model(found) for _ in range(5)] == [True, True, True, False, True]
    by_class = guard_of("classifier", replayer, sizes, target, None, load_classifier())
    assert by_class is not None and by_class(found) in (True, False)
    assert guard_of("none", replayer, sizes, target, None, None) is None


def test_by_name() -> None:
    assert asked_options(guard="none", search="beam", evaluate="model").guard == "none"
    assert asked_options(guard="classifier", search="genetic").guard == "classifier"
    assert asked_options(search="genetic").evaluate == "model+run"
    assert asked_options(search="genetic", guard="model").evaluate == "run"
    for search, evaluate in (("beam", None), ("genetic", "model+run")):
        with pytest.raises(UsageError, match="is of --search genetic with --evaluate run"):
            asked_options(guard="model", search=search, evaluate=evaluate)
    with pytest.raises(UsageError, match="expected none, classifier, model"):
        asked_options(guard="dog", search="genetic")
