"""The patterns random nests are made of: each a function that adds to a builder and returns adjacent loop trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.generator.nests.builder import Builder
from scheduler.generator.nests.patterns.contraction import contraction
from scheduler.generator.nests.patterns.convolution import convolution
from scheduler.generator.nests.patterns.elementwise import elementwise
from scheduler.generator.nests.patterns.guarded import guarded
from scheduler.generator.nests.patterns.locals import local_storage
from scheduler.generator.nests.patterns.recurrence import recurrence
from scheduler.generator.nests.patterns.reduction import reduction
from scheduler.generator.nests.patterns.sparse import sparse
from scheduler.generator.nests.patterns.stencil import stencil
from scheduler.generator.nests.patterns.tree import tree
from scheduler.generator.nests.patterns.triangular import triangular
from scheduler.ir.nest import Node


@dataclass(frozen=True, slots=True)
class Pattern:
    """`least_depth`: how many loops inside each other it needs; `weight`: how often it is drawn."""

    name: str
    build: Callable[[Builder], tuple[Node, ...]]
    weight: float
    least_depth: int = 1


PATTERNS: tuple[Pattern, ...] = (
    Pattern("elementwise", elementwise, 2.0),
    Pattern("recurrence", recurrence, 2.0),
    Pattern("reduction", reduction, 1.5),
    Pattern("guarded", guarded, 2.0),
    Pattern("sparse", sparse, 1.5, 2),
    Pattern("stencil", stencil, 2.0, 2),
    Pattern("locals", local_storage, 1.5, 2),
    Pattern("tree", tree, 2.5, 2),
    Pattern("contraction", contraction, 1.5, 2),
    Pattern("convolution", convolution, 1.0, 2),
    Pattern("triangular", triangular, 2.0, 3),
)
