"""The surrogate classifier: what it learns, that our evaluation is scikit-learn's, files, and its guard."""

from pathlib import Path

import numpy as np
import pytest

from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.surrogate import NAMES, Guard, SurrogateClassifier, fit_classifier, profitable
from scheduler.matrices.features import Features, ScheduleFeatures
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.scheduler import nests

RNG = np.random.default_rng(1)
FEATURES = RNG.random((600, 9))
GOOD = FEATURES[:, 5] + 0.2 * FEATURES[:, 6] > 0.6  # parallelism, and a little locality


@pytest.mark.parametrize("kind", ["cart", "forest"])
def test_it_learns_and_names_what_matters(kind: str, tmp_path: Path) -> None:
    made = fit_classifier(kind, FEATURES[:400], GOOD[:400], 0)  # type: ignore[arg-type]
    said = made.probability(FEATURES[400:]) >= 0.5
    assert (said == GOOD[400:]).mean() > 0.85
    importance = dict(zip(NAMES, made.importance, strict=True))
    assert max(importance, key=lambda name: importance[name]) == "parallelism"
    assert sum(importance.values()) == pytest.approx(1.0)
    path = tmp_path / "s.safetensors"
    made.save(path)
    again = SurrogateClassifier.load(path)
    assert np.array_equal(again.probability(FEATURES), made.probability(FEATURES))
    assert again.importance == pytest.approx(made.importance)


def test_it_votes_as_scikit_learn_does() -> None:
    from sklearn.ensemble import RandomForestClassifier

    from scheduler.cost.forest import Forest

    model = RandomForestClassifier(n_estimators=9, random_state=3).fit(FEATURES.astype(np.float32), GOOD)
    ours = Forest.of_classifiers(list(model.estimators_)).predict(FEATURES.astype(np.float32))
    np.testing.assert_allclose(ours, model.predict_proba(FEATURES.astype(np.float32))[:, 1], atol=1e-12)


def test_one_class_and_none() -> None:
    sure = fit_classifier("forest", FEATURES[:5], np.ones(5, dtype=bool), 0)
    assert sure.probability(FEATURES[:2]).tolist() == [1.0, 1.0] and set(sure.importance) == {0.0}
    with pytest.raises(ValueError, match="no schedules"):
        fit_classifier("cart", FEATURES[:0], GOOD[:0], 0)


def test_what_counts_as_profitable() -> None:
    assert profitable((4.0, 2.0, 1.9, 0.5)) == [True, True, False, False]
    assert profitable(()) == []


def test_other_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.safetensors"
    with pytest.raises(CheckpointError):
        SurrogateClassifier.load(path)
    made = fit_classifier("cart", FEATURES, GOOD, 0)
    made.save(path)
    card = path.with_suffix(".json")
    card.write_text(card.read_text().replace('"tilability"', '"tiles"'))
    with pytest.raises(CheckpointError, match="other features"):
        SurrogateClassifier.load(path)


def test_the_guard_asks_about_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    parameters = {"n": 100, "m": 100, "l": 100}
    features = Features(replayer, parameters)
    found = [replayer.replay(parse_schedule(text)) for text in ("", "interchange(j, k)", "interchange(i, k)")]
    legal = [one for one in found if isinstance(one, ScheduledNest)]
    values = np.array([features.of(one.tree).values for one in legal])
    limit = sorted(values[:, 6])[0]  # of locality
    rows = np.repeat(values, 40, axis=0)
    classifier = fit_classifier("cart", rows, rows[:, 6] > limit, 0)
    guard = Guard(classifier, replayer, parameters)
    assert [guard(one) for one in legal] == [bool(v > limit) for v in values[:, 6]]

    def too_much(self: Features, tree: object) -> ScheduleFeatures:
        raise QuotaExceeded("too much")

    monkeypatch.setattr(Features, "of", too_much)
    assert all(guard(one) for one in legal)
