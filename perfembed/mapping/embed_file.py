"""The static embedding of a file's nests: nothing is compiled or run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.graph import encode
from perfembed.files import read_input
from perfembed.learning.cost_models import SHIPPED
from perfembed.measuring.target import target_of
from perfembed.retrieval.nest_space import NestSpace
from perfembed.retrieval.space_training import usable_embedding_model
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from profilers.machine import describe_machine
from scheduler.ir.text import nest_id
from scheduler.replay import Replayer

if TYPE_CHECKING:
    from perfembed.embedding.network.interface import EmbedsNests


@dataclass(frozen=True, slots=True)
class NestEmbedding:
    """`vector` float32 [128]; `nodes` float32 [n, 128] with the kind ("access", "loop_entry", …) and name of each.

    `nest_id` is the same for the same nest in any file; vectors of different `model_id`s must not be compared.
    """

    name: str
    function: str | None
    line: int
    nest_id: str
    model_id: str
    vector: npt.NDArray[np.float32]
    nodes: npt.NDArray[np.float32]
    kinds: tuple[str, ...]
    names: tuple[str, ...]


def embed_file(path: str, options: TuneOptions, weights: Path | None = None) -> tuple[NestEmbedding, ...]:
    """Of every nest that can be read. Raises SourceRejected, UsageError, EnvironmentMissing without weights."""
    source = parse(path, read_input(path), options)
    model: EmbedsNests = usable_embedding_model(weights or SHIPPED)
    target = target_of(describe_machine(), options.threads)
    graphs = [encode(nest, dict(options.parameters)) for nest in source.nests]
    found = model.embed(graphs, None, target) if graphs else []
    return tuple(
        NestEmbedding(
            name=nest.name,
            function=nest.function,
            line=nest.span.line if nest.span else 0,
            nest_id=nest_id(nest),
            model_id=model.model_id,
            vector=one.vector,
            nodes=one.nodes,
            kinds=tuple(node.kind for node in graph.nodes),
            names=tuple(node.name for node in graph.nodes),
        )
        for nest, graph, one in zip(source.nests, graphs, found, strict=True)
    )


@dataclass(frozen=True, slots=True)
class PlacedNest:
    """A nest in the space donors are looked for in; `vector` None where its loops cannot be analysed."""

    name: str
    line: int
    nest_id: str
    vector: npt.NDArray[np.float32] | None


def place_source(path: str, content: bytes, options: TuneOptions, space: NestSpace) -> tuple[PlacedNest, ...]:
    """Every nest that can be read. Raises SourceRejected, UsageError."""
    nests = parse(path, content, options).nests
    target = target_of(describe_machine(), options.threads)
    vectors = space.vectors([(Replayer(nest), dict(options.parameters)) for nest in nests], target)
    return tuple(
        PlacedNest(nest.name, nest.span.line if nest.span else 0, nest_id(nest), vector)
        for nest, vector in zip(nests, vectors, strict=True)
    )
