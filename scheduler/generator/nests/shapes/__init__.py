"""The shapes random nests are made of: each a function that adds to a builder and returns adjacent loop trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.generator.nests.builder import Builder
from scheduler.generator.nests.shapes.contraction import contraction
from scheduler.generator.nests.shapes.convolution import convolution
from scheduler.generator.nests.shapes.elementwise import elementwise
from scheduler.generator.nests.shapes.guarded import guarded
from scheduler.generator.nests.shapes.locals import local_storage
from scheduler.generator.nests.shapes.recurrence import recurrence
from scheduler.generator.nests.shapes.reduction import reduction
from scheduler.generator.nests.shapes.sparse import sparse
from scheduler.generator.nests.shapes.stencil import stencil
from scheduler.generator.nests.shapes.tree import tree
from scheduler.generator.nests.shapes.triangular import triangular
from scheduler.ir.nest import Node


@dataclass(frozen=True, slots=True)
class Shape:
    """`least_depth`: how many loops inside each other it needs; `weight`: how often it is drawn."""

    name: str
    build: Callable[[Builder], tuple[Node, ...]]
    weight: float
    least_depth: int = 1


SHAPES: tuple[Shape, ...] = (
    Shape("elementwise", elementwise, 2.0),
    Shape("recurrence", recurrence, 2.0),
    Shape("reduction", reduction, 1.5),
    Shape("guarded", guarded, 2.0),
    Shape("sparse", sparse, 1.5, 2),
    Shape("stencil", stencil, 2.0, 2),
    Shape("locals", local_storage, 1.5, 2),
    Shape("tree", tree, 2.5, 2),
    Shape("contraction", contraction, 1.5, 2),
    Shape("convolution", convolution, 1.0, 2),
    Shape("triangular", triangular, 2.0, 3),
)
