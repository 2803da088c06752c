"""Profiles: features, metrics, and the text form."""

import json
import math

import pytest

from profilers.contained.errors import ProfilersError
from profilers.counters import counters, feature_names
from profilers.profile import Profile


def made(**changes: object) -> Profile:
    given: dict[str, object] = {
        "source": "simulated",
        "machine": "0123456789abcdef",
        "threads": 2,
        "runtime_s": 0.5,
        "line_bytes": 64,
        "counts": tuple((c.name, (float(k), float(k + 2))) for k, c in enumerate(counters())),
        "sampling_error": 0.01,
        "notes": ("a note",),
    }
    return Profile(**{**given, **changes})  # type: ignore[arg-type]


def test_features() -> None:
    features = dict(zip(feature_names(), made().features(), strict=True))
    assert [features[f"instructions.{s}"] for s in ("min", "max", "mean", "std", "sum")] == [0.0, 2.0, 1.0, 1.0, 2.0]
    assert features["l1_evictions.sum"] == 38.0


def test_what_is_not_counted_is_nan() -> None:
    profile = made(counts=(("loads", (1.0, 2.0)),))
    features = dict(zip(feature_names(), profile.features(), strict=True))
    assert features["loads.sum"] == 3.0 and math.isnan(features["stores.sum"])
    assert math.isnan(profile.metrics()["load_store_ratio"])
    assert profile.metrics()["runtime"] == 0.5


def test_round_trip() -> None:
    assert Profile.from_json(made().to_json()) == made()
    assert "\n" not in made().to_json()


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": (("loads", (1.0,)),)},
        {"counts": (("loads", (1.0, math.nan)),)},
        {"counts": (("loads", (1.0, -1.0)),)},
        {"counts": (("misses", (1.0, 2.0)),)},
        {"threads": 0, "counts": ()},
        {"runtime_s": 0.0},
        {"runtime_s": math.nan},
    ],
)
def test_impossible_profiles(changes: dict[str, object]) -> None:
    with pytest.raises(ProfilersError):
        made(**changes)


@pytest.mark.parametrize("field", ["version", "source", "counts", "threads"])
def test_text_that_is_no_profile(field: str) -> None:
    document = json.loads(made().to_json())
    del document[field]
    for text in (json.dumps(document), "[]", "nonsense", "null", json.dumps({**document, field: {"a": 1}})):
        with pytest.raises(ProfilersError):
            Profile.from_json(text)
