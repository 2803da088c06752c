"""The feature table."""

import hashlib

import numpy as np
import pytest

from perfembed.embedding.encoding.schema import (
    FEATURE_VERSION,
    NODE_KINDS,
    columns,
    edge_columns,
    edge_features,
    node_features,
    scaled,
)

# Changing the table means: raise FEATURE_VERSION and write its new fingerprint here; old models are then refused.
FINGERPRINTS = {1: "c645f72d3090acd1"}


def test_version_goes_with_the_table() -> None:
    table = hashlib.sha256(repr((node_features(), edge_features())).encode()).hexdigest()[:16]
    assert FINGERPRINTS.get(FEATURE_VERSION) == table


def test_names_are_unique_for_each_kind() -> None:
    names = [(f.node, f.name) for f in node_features()]
    assert len(set(names)) == len(names)
    assert len(edge_columns()) == len(edge_features())
    assert set(columns().values()) == set(range(len(node_features())))
    assert tuple(f.name for f in node_features()[: len(NODE_KINDS)]) == NODE_KINDS  # the network counts on it
    assert all(columns()[kind, kind] == position for position, kind in enumerate(NODE_KINDS))


@pytest.mark.parametrize("table", [node_features(), edge_features()])
def test_limits(table: tuple[object, ...]) -> None:
    features = node_features() if len(table) == len(node_features()) else edge_features()
    for feature in features:
        assert feature.low < feature.high and feature.unit and feature.name
        assert feature.scale == "log" or (feature.low, feature.high) == (0, 1)


def test_scaling_clips_and_keeps_the_sign() -> None:
    place, count = columns(), len(node_features())
    raw = np.zeros((3, count))
    stride, flag = place["memlet", "innermost_stride"], place["memlet", "write"]
    raw[0, stride], raw[1, stride], raw[2, stride] = 255, -255, 1e300
    raw[0, flag] = 7
    found = scaled(raw, node_features())
    assert found.dtype == np.float32 and found.shape == (3, count)
    assert found[0, stride] == 1.0 and found[1, stride] == -1.0
    assert np.isfinite(found).all() and found[2, stride] < 8
    assert found[0, flag] == 1.0
