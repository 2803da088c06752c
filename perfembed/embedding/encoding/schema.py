"""The features of graph nodes and edges: one table, one version; models say which version they were trained on.

Source: Trümper et al. 2023 (Performance Embeddings), table 4: static features of access nodes, map entries and exits,
tasklets and memlets. Beyond the paper: marks of scheduled loops, reuse and strides of memlets, strides on edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from typing import Literal as OneOf

import numpy as np

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


FEATURE_VERSION = 1  # raised by every change of this file or of what graph.py puts into the columns

NodeKind = OneOf["access", "loop_entry", "loop_exit", "body", "memlet"]
EdgeKind = OneOf["contains", "leaves", "pairs", "follows", "reads", "writes", "indexes", "bounds", "indirect"]
NODE_KINDS: tuple[NodeKind, ...] = ("access", "loop_entry", "loop_exit", "body", "memlet")
EDGE_KINDS: tuple[EdgeKind, ...] = (
    "contains",  # loop_entry -> what stands directly below: loop_entry or body
    "leaves",  # loop_exit or body -> the loop_exit around it
    "pairs",  # loop_entry -> its loop_exit
    "follows",  # what stands in a loop -> what stands behind it in the same loop
    "reads",  # access -> memlet -> body
    "writes",  # body -> memlet -> access
    "indexes",  # loop_entry -> a memlet that moves, or stays, as the loop goes on: with strides
    "bounds",  # access -> a loop_entry whose bounds it holds
    "indirect",  # a memlet that is read -> the memlet whose subscript it is in
)
REDUCTIONS = ("sum", "product", "extreme", "bitwise")
OPERATIONS = (
    *("add", "multiply", "divide", "root", "call", "simple"),  # floating
    *("integer_add", "integer_multiply", "integer_divide", "bits"),
    *("compare", "logic", "select", "convert"),
)

_FAR = 1e18
_GROUPS: dict[str, tuple[NodeKind, ...]] = {
    "access": ("access",),
    "loop": ("loop_entry", "loop_exit"),
    "body": ("body",),
    "memlet": ("memlet",),
}


@dataclass(frozen=True, slots=True)
class Feature:
    """One column. `node` is "any", "access", "loop" (entries and exits), "body", "memlet" or "edge".

    Raw values are clipped to [low, high]; `scale` "log" then takes sign(x) * log2(1 + |x|) / 8, "plain" nothing.
    Columns of other kinds of nodes are zero.
    """

    name: str
    node: str
    unit: str
    low: float
    high: float
    scale: OneOf["plain", "log"]


def _flags(node: str, *names: str) -> tuple[Feature, ...]:
    return tuple(Feature(name, node, "flag", 0, 1, "plain") for name in names)


def _logs(node: str, unit: str, *names: str, low: float = 0) -> tuple[Feature, ...]:
    return tuple(Feature(name, node, unit, low, _FAR, "log") for name in names)


@cache
def node_features() -> tuple[Feature, ...]:
    """Every column of `NestGraph.features`, in order."""
    return (
        *_flags("any", *NODE_KINDS),
        *_flags("access", "floating", "signed", "scalar", "unknown_extent", "transient", "constant", "may_overlap"),
        *_logs("access", "bytes", "element_bytes", "total_bytes", "row_bytes", "alignment"),
        *_logs("access", "elements", "total_size", "largest_extent", "innermost_extent", "largest_stride", "offset"),
        *_logs("access", "1", "dimensions", "reads", "writes"),
        *_flags("loop", "dynamic", "uneven", "reversed", "skewed", "tile_loop", "point_loop", "innermost"),
        *_flags("loop", "parallel", "dynamic_schedule", "vector", "unrolled_completely", "register_block"),
        *_flags("loop", "legality_known", "sequential"),
        *_logs("loop", "1", "level", "height", "children", "statements"),
        *_logs("loop", "iterations", "extent", "iterations_around", "step", "tile", "unroll", "chunk", "collapse"),
        *_logs("loop", "1", "packs", "register_size"),
        *_logs("body", "operations", *OPERATIONS),
        *_flags("body", *(f"reduction_{kind}" for kind in REDUCTIONS), "conditional", "single_precision"),
        *_logs("body", "1", "level", "reads", "writes", "assignments", "guards", "instances"),
        *_flags("memlet", "write", "may", "dynamic", "indirection", *(f"reduction_{kind}" for kind in REDUCTIONS)),
        *_flags("memlet", "innermost_unit", "innermost_still"),
        *_logs("memlet", "1", "dimensions", "times", "loops_still", "level"),
        *_logs("memlet", "elements", "volume"),
        *_logs("memlet", "elements", "innermost_stride", "offset", low=-_FAR),
        *(
            Feature(f"{which}_{what}", "memlet", "index", -_FAR, _FAR, "log")
            for which in ("last", "first", "largest")
            for what in ("start", "stop", "step")
        ),
    )


@cache
def edge_features() -> tuple[Feature, ...]:
    """Every column of `NestGraph.edge_features`, in order."""
    return (
        *_flags("edge", *EDGE_KINDS),
        *_flags("edge", "backward"),  # the same edge the other way round, so that messages pass both ways
        *_flags("edge", "still", "unit", "opaque"),  # of "indexes"
        Feature("stride", "edge", "elements", -_FAR, _FAR, "log"),
        Feature("stride_bytes", "edge", "bytes", -_FAR, _FAR, "log"),
        Feature("distance", "edge", "loops", 0, _FAR, "log"),  # loops between, of "indexes"; siblings of "follows"
    )


@cache
def columns() -> dict[tuple[str, str], int]:
    """(kind of node, name) -> column; loop features are found under both kinds of loop nodes."""
    found: dict[tuple[str, str], int] = {}
    for position, feature in enumerate(node_features()):
        for kind in NODE_KINDS if feature.node == "any" else _GROUPS[feature.node]:
            found[kind, feature.name] = position
    return found


@cache
def edge_columns() -> dict[str, int]:
    return {feature.name: position for position, feature in enumerate(edge_features())}


def scaled(raw: npt.NDArray[np.float64], features: tuple[Feature, ...]) -> npt.NDArray[np.float32]:
    """Raw values [n, len(features)] as a model gets them."""
    import numpy as np

    lows, highs, logs = _limits(features)
    clipped = np.clip(raw, lows, highs)
    return np.where(logs, np.sign(clipped) * np.log2(1 + np.abs(clipped)) / 8, clipped).astype(np.float32)


@cache
def _limits(
    features: tuple[Feature, ...],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    import numpy as np

    table = [(f.low, f.high, f.scale == "log") for f in features]
    lows, highs, logs = zip(*table, strict=True)
    return np.array(lows, dtype=np.float64), np.array(highs, dtype=np.float64), np.array(logs, dtype=np.bool_)


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
