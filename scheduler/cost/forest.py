"""Gradient-boosted regression trees as plain arrays, evaluated for all rows and trees at once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scheduler.cost.checkpoint import CheckpointError

if TYPE_CHECKING:
    import numpy.typing as npt

_TOGETHER = 1 << 15  # rows x trees evaluated at once: what they need fits in the cache
_FIELDS = {
    "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32, "value": np.float64,
    "roots": np.int32, "baseline": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forest:
    """The sum of the leaves that a row ends in, plus `baseline` [1].

    All trees' nodes stand in one list: a row goes from node k to `left[k]` if its feature `feature[k]` is at most
    `threshold[k]`, else to `right[k]`; a leaf is its own child. `roots` [trees] are where trees begin.
    """

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    roots: npt.NDArray[np.int32]
    baseline: npt.NDArray[np.float64]

    @staticmethod
    def of_lightgbm(booster: Any, constant: float) -> Forest:
        """A trained lightgbm.Booster of finite numbers; `constant`: what its trees were grown on top of."""
        parts: dict[str, list[Any]] = {name: [] for name in _FIELDS}
        for tree in booster.dump_model()["tree_info"]:
            parts["roots"].append(len(parts["value"]))
            waiting: list[tuple[dict[str, Any], int, str]] = [(tree["tree_structure"], -1, "")]
            while waiting:
                node, parent, side = waiting.pop()
                number = len(parts["value"])
                if parent >= 0:
                    parts[side][parent] = number
                leaf = "split_feature" not in node
                parts["feature"].append(0 if leaf else node["split_feature"])
                parts["threshold"].append(0.0 if leaf else node["threshold"])
                parts["value"].append(node["leaf_value"] if leaf else 0.0)
                parts["left"].append(number)
                parts["right"].append(number)
                if not leaf:
                    waiting += [(node["right_child"], number, "right"), (node["left_child"], number, "left")]
        parts["baseline"] = [constant]
        return Forest(**{name: np.array(found, dtype=_FIELDS[name]) for name, found in parts.items()})

    @staticmethod
    def mean(forests: Sequence[Forest]) -> Forest:
        """Predicts the mean of what one or more others do."""
        total = functools.reduce(Forest.plus, forests)
        return replace(total, value=total.value / len(forests), baseline=total.baseline / len(forests))

    @staticmethod
    def of_classifiers(models: Sequence[Any]) -> Forest:
        """The mean share of the class True in the leaves of fitted DecisionTreeClassifier models."""
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _FIELDS}
        offset = 0
        for model in models:
            tree = model.tree_
            own = np.arange(tree.node_count) + offset
            leaf = tree.children_left < 0
            votes = tree.value[:, 0, :]
            parts["feature"].append(np.where(leaf, 0, tree.feature))
            parts["threshold"].append(np.where(leaf, 0.0, tree.threshold))
            parts["left"].append(np.where(leaf, own, tree.children_left + offset))
            parts["right"].append(np.where(leaf, own, tree.children_right + offset))
            parts["value"].append(np.where(leaf, votes[:, 1] / votes.sum(1), 0.0) / len(models))
            parts["roots"].append(np.array([offset]))
            offset += tree.node_count
        parts["baseline"] = [np.zeros(1)]
        return _joined(parts)

    def plus(self, other: Forest) -> Forest:
        """The sum of both, the other one's trees last."""
        offset = np.int32(len(self.value))
        moved = {"left": other.left + offset, "right": other.right + offset, "roots": other.roots + offset}
        joined = {
            name: np.concatenate([getattr(self, name), moved.get(name, getattr(other, name))]).astype(kind)
            for name, kind in _FIELDS.items()
        }
        return Forest(**{**joined, "baseline": self.baseline + other.baseline})

    @staticmethod
    def constant(value: float) -> Forest:
        """No trees: the same for every row."""
        empty = {name: np.zeros(0, dtype=kind) for name, kind in _FIELDS.items()}
        return Forest(**{**empty, "baseline": np.array([value])})

    @staticmethod
    def of_tensors(tensors: Mapping[str, npt.NDArray[Any]], features: int) -> Forest:
        """The inverse of `tensors`. Raises CheckpointError for arrays that are no forest over so many features."""
        for name, kind in _FIELDS.items():
            if name not in tensors or tensors[name].dtype != kind or tensors[name].ndim != 1:
                raise CheckpointError(f"a forest needs a list {name} of {np.dtype(kind).name}")
        forest = Forest(**{name: tensors[name] for name in _FIELDS})
        nodes = len(forest.value)
        if any(len(tensors[name]) != nodes for name in ("feature", "threshold", "left", "right")):
            raise CheckpointError("the lists of a forest differ in length")
        bounds = ((forest.feature, features), (forest.left, nodes), (forest.right, nodes), (forest.roots, nodes))
        if any(len(x) and (x.min() < 0 or x.max() >= limit) for x, limit in bounds) or len(forest.baseline) != 1:
            raise CheckpointError("a forest refers to nodes or features that do not exist")
        here = np.arange(nodes)
        leaf = (forest.left == here) & (forest.right == here)
        if not (leaf | ((forest.left > here) & (forest.right > here))).all():  # so that every walk ends
            raise CheckpointError("a node of a forest stands before its parent")
        return forest

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What is stored."""
        return {name: getattr(self, name) for name in _FIELDS}

    def predict(self, rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
        """[rows, features] finite numbers -> [rows]."""
        parts = [leaves.sum(1) for leaves in self._leaves(rows)]
        return (np.concatenate(parts) if parts else np.zeros(0)) + float(self.baseline[0])

    def staged(self, rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
        """[rows, features] -> [rows, trees]: what the first 1, 2, … trees alone predict."""
        parts = [leaves.cumsum(1) for leaves in self._leaves(rows)]
        return (np.concatenate(parts) if parts else np.zeros((0, len(self.roots)))) + float(self.baseline[0])

    def _leaves(self, rows: npt.NDArray[np.floating[Any]]) -> Iterator[npt.NDArray[np.float64]]:
        """[some rows, trees] at a time: the value of the leaf that each row ends in."""
        children = np.stack([self.left, self.right], axis=1).ravel().astype(np.intp)
        feature = self.feature.astype(np.intp)
        step = max(1, _TOGETHER // max(len(self.roots), 1))
        for begin in range(0, len(rows), step):
            part = np.ascontiguousarray(rows[begin : begin + step], dtype=np.float64)
            flat, starts = part.ravel(), (np.arange(len(part)) * part.shape[1])[:, None]
            at = np.broadcast_to(self.roots, (len(part), len(self.roots))).astype(np.intp)
            while True:
                goes_right = flat.take(starts + feature.take(at)) > self.threshold.take(at)
                following = children.take(2 * at + goes_right)
                if np.array_equal(following, at):
                    break
                at = following
            yield self.value.take(at)


def _joined(parts: Mapping[str, Sequence[npt.NDArray[Any]]]) -> Forest:
    joined = {name: np.concatenate(found) if found else np.zeros(0) for name, found in parts.items()}
    return Forest(**{name: joined[name].astype(kind) for name, kind in _FIELDS.items()})
