"""Node embeddings of a nest as scheduled so far: what recipe matching compares (`perfembed.transfer.embedders`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.encoding.schema import NestGraph
from perfembed.embedding.network.interface import EmbedsNests
from scheduler.ir.tree import TreeNode
from scheduler.machine.target import Target
from scheduler.replay import Replayer

Vectors = Mapping[str, npt.NDArray[np.float32]]
_KEPT = 256  # embedded trees


class GraphNodeEmbedder:
    """Embeds the graph of each tree it is asked about, once; without profile, which nodes do not depend on.

    `legality`: loops know whether they carry a dependence; must be as in the examples the model was trained on.
    """

    def __init__(self, model: EmbedsNests, target: Target, *, legality: bool = False) -> None:
        self._model, self._target, self._legality = model, target, legality
        self._known: OrderedDict[object, tuple[Replayer, NestGraph, npt.NDArray[np.float32]]] = OrderedDict()

    def loops(self, replayer: Replayer, tree: tuple[TreeNode, ...], parameters: Mapping[str, int]) -> Vectors:
        """By name, for every loop of the tree: float32 [256], its entry's vector before its exit's."""
        graph, nodes = self._embedded(replayer, tree, parameters)
        exits = {node.name: nodes[n] for n, node in enumerate(graph.nodes) if node.kind == "loop_exit"}
        entries = {node.name: nodes[n] for n, node in enumerate(graph.nodes) if node.kind == "loop_entry"}
        return {name: np.concatenate((vector, exits[name])) for name, vector in entries.items()}

    def arrays(self, replayer: Replayer, tree: tuple[TreeNode, ...], parameters: Mapping[str, int]) -> Vectors:
        """By name, for every array of the nest: float32 [128]; zero for one that is never used."""
        graph, nodes = self._embedded(replayer, tree, parameters)
        used = {node.name: nodes[n] for n, node in enumerate(graph.nodes) if node.kind == "access"}
        unused = np.zeros(nodes.shape[1], dtype=np.float32)
        return {array.name: used.get(array.name, unused) for array in replayer.nest.arrays}

    def statements(self, replayer: Replayer, tree: tuple[TreeNode, ...], parameters: Mapping[str, int]) -> Vectors:
        """By name, for every statement of the nest: float32 [128]."""
        graph, nodes = self._embedded(replayer, tree, parameters)
        return {node.name: nodes[n] for n, node in enumerate(graph.nodes) if node.kind == "body"}

    def _embedded(
        self, replayer: Replayer, tree: tuple[TreeNode, ...], parameters: Mapping[str, int]
    ) -> tuple[NestGraph, npt.NDArray[np.float32]]:
        key = (id(replayer), tree, tuple(sorted(parameters.items())))
        known = self._known.get(key)
        if known is None:
            graph = encode(replayer.nest, parameters, tree, replayer if self._legality else None)
            (embedding,) = self._model.embed([graph], None, self._target)
            known = (replayer, graph, embedding.nodes)  # the replayer is kept, so that its id stays its own
            self._known[key] = known
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known[1], known[2]
