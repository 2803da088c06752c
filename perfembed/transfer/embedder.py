"""What matching asks of an embedding: a vector for every loop, array and statement of a nest as scheduled so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from scheduler.ir.tree import TreeNode, tree_loops
from scheduler.replay import Replayer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

Tree = tuple[TreeNode, ...]
Vectors = Mapping[str, "Vector"]


class NodeEmbedder(Protocol):
    """Node embeddings of a nest under a loop tree, for sizes `parameters`; vectors of one kind have one length.

    Distances are taken between nodes of one kind only. Same input, same vectors.
    """

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every loop of the tree."""
        ...

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every array of the nest."""
        ...

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every statement of the nest."""
        ...


class OnceEmbedder:
    """Embeds each nest as written, once; a loop that a step made has the vector of the loop it came from.

    For embeddings that are too dear to be made again after every step. What a step changes (tile loops, order) then
    shows only in what matching itself looks at: kinds of loops, their order, and which loops were matched before.
    """

    def __init__(self, base: NodeEmbedder) -> None:
        self._base = base
        self._known: dict[tuple[int, tuple[tuple[str, int], ...]], tuple[Replayer, Vectors, Vectors, Vectors]] = {}

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        known = self._of(replayer, parameters)[1]
        return {loop.name: known[loop.origin] for loop in tree_loops(tree)}

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return self._of(replayer, parameters)[2]

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return self._of(replayer, parameters)[3]

    def _of(self, replayer: Replayer, parameters: Mapping[str, int]) -> tuple[Replayer, Vectors, Vectors, Vectors]:
        key = (id(replayer), tuple(sorted(parameters.items())))
        if key not in self._known:
            given = (replayer, replayer.tree(()), parameters)
            vectors = self._base.loops(*given), self._base.arrays(*given), self._base.statements(*given)
            self._known[key] = (replayer, *vectors)  # the replayer is kept, so that its id stays its own
        return self._known[key]


class JoinedEmbedder:
    """Two embeddings side by side, each scaled to length one: what a model learned, and what is certain."""

    def __init__(self, first: NodeEmbedder, second: NodeEmbedder) -> None:
        self._pair = (first, second)

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.loops(replayer, tree, parameters) for e in self._pair))

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.arrays(replayer, tree, parameters) for e in self._pair))

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.statements(replayer, tree, parameters) for e in self._pair))


def _joined(first: Vectors, second: Vectors) -> Vectors:
    import numpy as np

    if not first:
        return {}
    stacked = [np.stack([vectors[name] for name in first]) for vectors in (first, second)]
    units = [rows / (np.linalg.norm(rows, axis=1, keepdims=True) + np.float32(1e-12)) for rows in stacked]
    return dict(zip(first, np.concatenate(units, axis=1), strict=True))
