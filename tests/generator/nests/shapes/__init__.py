"""The shapes random nests are made of: each a function that adds to a builder and returns adjacent loop trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.ir.nest import Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.shapes.contraction import contraction
from tests.generator.nests.shapes.convolution import convolution
from tests.generator.nests.shapes.elementwise import elementwise
from tests.generator.nests.shapes.guarded import guarded
from tests.generator.nests.shapes.locals import local_storage
from tests.generator.nests.shapes.recurrence import recurrence
from tests.generator.nests.shapes.reduction import reduction
from tests.generator.nests.shapes.sparse import sparse
from tests.generator.nests.shapes.stencil import stencil
from tests.generator.nests.shapes.tree import tree
from tests.generator.nests.shapes.triangular import triangular


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
