"""A loop nest, as written or as a schedule leaves it, as a graph with typed nodes and edges.

Arrays are access nodes, loops a pair of nodes (entry and exit), statements bodies, and every distinct reference of a
statement a memlet between the array and the body. Names, the order of declarations and operands, and the spelling of
updates leave no trace; depth, dimensions and numbers of references are unlimited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfembed.embedding.encoding.memlets import Layout, Memlet, layout_of, memlets_of
from perfembed.embedding.encoding.operations import (
    is_conditional,
    operations,
    reductions,
    single_precision,
)
from perfembed.embedding.encoding.rows import PlacedLeaf, PlacedLoop, place_tree
from perfembed.embedding.encoding.schema import (
    EdgeKind,
    GraphNode,
    NestGraph,
    NodeKind,
    columns,
    edge_columns,
    edge_features,
    node_features,
    scaled,
)
from scheduler.cost.ranges import loop_range, parameter_values
from scheduler.ir.nest import Guard, LoopNest, Predicate, Storage
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, concurrent_loops, statements_below, tree_loops
from scheduler.ir.types import is_floating, scalar_type
from scheduler.ir.walk import assignments, bound_reads, loops, placed_statements
from scheduler.transform.initial import initial_tree

if TYPE_CHECKING:
    from scheduler.replay import Replayer


def encode(
    nest: LoopNest,
    parameters: Mapping[str, int],
    tree: tuple[TreeNode, ...] | None = None,
    replayer: Replayer | None = None,
) -> NestGraph:
    """The graph of a nest at these sizes; `tree` is its scheduled loop tree (default: as written).

    With a `replayer` of the nest and a legal tree, loops also know whether they carry a dependence, which takes a few
    milliseconds more. Parameters without a value count as 1000.
    """
    return _Builder(nest, parameters, initial_tree(nest) if tree is None else tree, replayer).graph()


class _Builder:
    def __init__(
        self, nest: LoopNest, parameters: Mapping[str, int], tree: tuple[TreeNode, ...], replayer: Replayer | None
    ) -> None:
        self.nest, self.tree = nest, tree
        self.values = parameter_values(nest, parameters)
        self.placed = place_tree(nest, tree, self.values)
        self.statements = {placed.statement.name: placed for placed in placed_statements(nest)}
        self.sequential = replayer.checker.sequential_loops(tree) if replayer is not None else None
        ranges = {name: (value, value) for name, value in self.values.items()}
        self.sources = {loop.name: loop for loop in loops(nest)}
        for loop in self.sources.values():
            ranges[loop.name] = loop_range(loop, ranges)
        self.ranges = ranges
        self.layouts: dict[str, Layout] = {a.name: layout_of(a, self.values) for a in nest.arrays}
        self.memlets: dict[str, tuple[Memlet, ...]] = {
            leaf.statement: memlets_of(self.statements[leaf.statement], leaf, self.layouts, ranges, self.placed.trips)
            for leaf in self.placed.leaves
        }
        self.nodes: list[GraphNode] = []
        self.raw: list[tuple[NodeKind, dict[str, float]]] = []
        self.edges: list[tuple[int, int, dict[str, float]]] = []
        self.entries: dict[str, int] = {}
        self.accesses: dict[str, int] = {}

    def graph(self) -> NestGraph:
        for leaf in self.placed.leaves:  # first, so that arrays are in the order of their use
            for memlet in self.memlets[leaf.statement]:
                self.access(memlet.access.array)
        for loop in self.placed.loops:
            for use in bound_reads(self.sources[loop.node.origin]) if loop.node.opaque else ():
                self.access(use.access.array)
        concurrent = concurrent_loops(self.tree)
        placed = {loop.node.name: loop for loop in self.placed.loops}
        leaves = {leaf.statement: leaf for leaf in self.placed.leaves}
        self.visit(self.tree, None, placed, leaves, concurrent)
        place, matrix = columns(), np.zeros((len(self.raw), len(node_features())))
        for row, (kind, values) in enumerate(self.raw):
            matrix[row, place[kind, kind]] = 1.0
            for name, value in values.items():
                matrix[row, place[kind, name]] = value if value != math.inf else 0.0
        at, attributes = edge_columns(), np.zeros((2 * len(self.edges), len(edge_features())))
        ends = np.zeros((2, 2 * len(self.edges)), dtype=np.int64)
        for k, (source, target, values) in enumerate(self.edges):
            ends[:, 2 * k], ends[:, 2 * k + 1] = (source, target), (target, source)
            for name, value in values.items():
                attributes[2 * k : 2 * k + 2, at[name]] = value
            attributes[2 * k + 1, at["backward"]] = 1.0
        return NestGraph(tuple(self.nodes), scaled(matrix, node_features()), ends, scaled(attributes, edge_features()))

    def node(self, node: GraphNode, values: dict[str, float]) -> int:
        self.nodes.append(node)
        self.raw.append((node.kind, values))
        return len(self.nodes) - 1

    def edge(self, source: int, target: int, kind: EdgeKind, **values: float) -> None:
        self.edges.append((source, target, {kind: 1.0, **values}))

    # ------------------------------------------------------------------------------------ nodes

    def access(self, name: str) -> None:
        if name in self.accesses:
            return
        array, layout = self.nest.array(name), self.layouts[name]
        known = scalar_type(array.ctype)
        pitch = layout.strides[-2] * layout.element_bytes if len(layout.strides) > 1 else 0.0
        self.accesses[name] = self.node(
            GraphNode("access", name, 0),
            {
                "floating": is_floating(array.ctype),
                "signed": known is not None and known.signed,
                "scalar": not layout.extents,
                "unknown_extent": any(e is None for e in layout.extents),
                "transient": array.storage is Storage.PRIVATE,
                "constant": array.const,
                "may_overlap": array.storage is Storage.POINTER,
                "element_bytes": layout.element_bytes,
                "total_bytes": layout.size * layout.element_bytes,
                "row_bytes": pitch,
                "alignment": math.gcd(int(pitch), 4096) if pitch else layout.element_bytes,
                "total_size": layout.size,
                "largest_extent": max((e for e in layout.extents if e is not None), default=1.0),
                "innermost_extent": (layout.extents[-1] or 0.0) if layout.extents else 1.0,
                "largest_stride": layout.strides[0] if layout.strides else 0.0,
                "dimensions": len(layout.extents),
                "offset": math.inf,  # of the first element that a memlet touches: see `body`
                "reads": 0.0,
                "writes": 0.0,
            },
        )

    def loop(self, loop: PlacedLoop, concurrent: Mapping[str, str]) -> dict[str, float]:
        node = loop.node
        mark = node.parallel
        inner = list(tree_loops(node.children))
        return {
            "dynamic": node.opaque,
            "uneven": loop.uneven or node.opaque,
            "reversed": loop.row.sign < 0,
            "skewed": len(loop.row.base.terms) > 1,
            "tile_loop": node.tile > 0,
            "point_loop": loop.is_point,
            "innermost": not inner,
            "parallel": mark is not None or concurrent.get(node.name) == "parallel",
            "dynamic_schedule": mark is not None and mark.schedule == "dynamic",
            "vector": node.vector,
            "unrolled_completely": node.unroll == 0,
            "register_block": concurrent.get(node.name) == "block",
            "legality_known": self.sequential is not None,
            "sequential": self.sequential is not None and node.name in self.sequential,
            "level": loop.level,
            "height": _height(node),
            "children": len(node.children),
            "statements": len(statements_below(node)),
            "extent": loop.extent,
            "iterations_around": loop.around,
            "step": loop.row.grain,
            "tile": node.tile,
            "unroll": node.unroll - 1 if node.unroll > 1 else 0,
            "chunk": mark.chunk if mark is not None else 0,
            "collapse": mark.collapse - 1 if mark is not None else 0,
            "packs": len(node.packs),
            "register_size": math.prod(node.register.sizes) if node.register is not None else 0,
        }

    # ------------------------------------------------------------------------------------ edges

    def visit(
        self,
        nodes: tuple[TreeNode, ...],
        parent: tuple[int, int] | None,
        placed: Mapping[str, PlacedLoop],
        leaves: Mapping[str, PlacedLeaf],
        concurrent: Mapping[str, str],
    ) -> None:
        """Adds what stands next to each other; `parent`: entry and exit of the loop around."""
        before: list[int] = []  # what each sibling ends with
        for node in nodes:
            if isinstance(node, Leaf):
                begin = end = self.body(leaves[node.statement])
            else:
                loop = placed[node.name]
                values = self.loop(loop, concurrent)
                begin = self.node(GraphNode("loop_entry", node.name, loop.level), values)
                end = self.node(GraphNode("loop_exit", node.name, loop.level), values)
                self.entries[node.name] = begin
                self.edge(begin, end, "pairs")
                for array in self.bounding(node):
                    self.edge(self.accesses[array], begin, "bounds")
                self.visit(node.children, (begin, end), placed, leaves, concurrent)
            if parent is not None:
                self.edge(parent[0], begin, "contains")
                self.edge(end, parent[1], "leaves")
            if before:
                self.edge(before[-1], begin, "follows", distance=1.0)
            before.append(end)

    def bounding(self, node: TreeLoop) -> tuple[str, ...]:
        """The arrays that hold the bounds of a loop."""
        if not node.opaque:
            return ()
        return tuple(dict.fromkeys(use.access.array for use in bound_reads(self.sources[node.origin])))

    def body(self, leaf: PlacedLeaf) -> int:
        placed = self.statements[leaf.statement]
        actions, level = placed.statement.body, len(leaf.path)
        memlets = self.memlets[leaf.statement]
        updated = set(reductions(actions).values())
        counts = operations(self.nest, actions)
        body = self.node(
            GraphNode("body", leaf.statement, level, leaf.statement),
            counts
            | {f"reduction_{kind}": 1.0 for kind in updated}
            | {
                "conditional": is_conditional(actions) or any(isinstance(a, Predicate) for a in placed.ancestors),
                "single_precision": single_precision(self.nest, actions),
                "level": level,
                "reads": sum(not m.is_write for m in memlets),
                "writes": sum(m.is_write for m in memlets),
                "assignments": sum(1 for _ in assignments(actions)),
                "guards": sum(isinstance(a, Guard | Predicate) for a in placed.ancestors),
                "instances": math.prod(float(self.placed.trips[loop.name]) for loop in placed.loops),
            },
        )
        positions: dict[object, int] = {}
        for memlet in memlets:
            array = memlet.access.array
            at = self.accesses[array]
            here = self.node(GraphNode("memlet", array, level, leaf.statement), memlet.features())
            values = self.raw[at][1]
            values["writes" if memlet.is_write else "reads"] += 1.0
            values["offset"] = min(values["offset"], max(0.0, memlet.first_element))
            if memlet.is_write:
                self.edge(body, here, "writes")
                self.edge(here, at, "writes")
            else:
                positions[memlet.access] = here
                self.edge(at, here, "reads")
                self.edge(here, body, "reads")
            for k, (loop, stride) in enumerate(zip(leaf.path, memlet.strides, strict=True)):
                opaque = memlet.opaque_in[k]
                self.edge(
                    self.entries[loop.node.name],
                    here,
                    "indexes",
                    still=stride == 0 and not opaque,
                    unit=abs(stride) == 1,
                    opaque=opaque,
                    stride=stride,
                    stride_bytes=stride * self.layouts[array].element_bytes,
                    distance=level - 1 - k,
                )
            for inner in memlet.inside:
                if inner in positions:
                    self.edge(positions[inner], here, "indirect")
        return body


def _height(node: TreeLoop) -> int:
    return 1 + max((_height(child) for child in node.children if isinstance(child, TreeLoop)), default=0)
