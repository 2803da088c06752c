"""The graph of a nest as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfembed.embedding.encoding.schema import (
    NodeKind,
)

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`name`: of the array, tree loop or statement; a memlet's is its array's. `level`: loops around it (arrays: 0).

    `statement`: of bodies and memlets.
    """

    kind: NodeKind
    name: str
    level: int
    statement: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NestGraph:
    """`features` float32 [n, F] and `edge_features` float32 [m, E] after `schema`; `edges` int64 [2, m]: from, to."""

    nodes: tuple[GraphNode, ...]
    features: npt.NDArray[np.float32]
    edges: npt.NDArray[np.int64]
    edge_features: npt.NDArray[np.float32]

    def find(self, kind: NodeKind, name: str) -> int:
        """The node of that kind and name (of memlets the first). Raises KeyError."""
        for position, node in enumerate(self.nodes):
            if node.kind == kind and node.name == name:
                return position
        raise KeyError(name)
