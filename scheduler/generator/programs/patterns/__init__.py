"""The patterns programs are made of, and how often each is drawn. A new one is a line in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.assignment import assignment, broadcast, transposition
from scheduler.generator.programs.patterns.contraction import contraction, pairwise
from scheduler.generator.programs.patterns.convolution import convolution
from scheduler.generator.programs.patterns.expression import expression
from scheduler.generator.programs.patterns.masked import masked
from scheduler.generator.programs.patterns.recurrence import recurrence
from scheduler.generator.programs.patterns.reduction import normalization, reduction
from scheduler.generator.programs.patterns.sparse import indirect, sparse
from scheduler.generator.programs.patterns.stencil import resample, stencil
from scheduler.generator.programs.patterns.tree import tree
from scheduler.generator.programs.patterns.triangular import triangular


@dataclass(frozen=True, slots=True)
class Pattern:
    """`build` writes one instance into a kernel."""

    name: str
    build: Callable[[Kernel], None]
    weight: float
    why: str


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "stencil", stencil, 15, "grids and image filters: the largest family in scientific code, and in tuning suites"
    ),
    Pattern("contraction", contraction, 14, "dense linear algebra and tensor code: where most of the time to win is"),
    Pattern("expression", expression, 11, "element-wise code surrounds every other kernel"),
    Pattern("reduction", reduction, 9, "sums, norms and statistics are in nearly every program"),
    Pattern("convolution", convolution, 8, "layers of networks and signal processing"),
    Pattern("triangular", triangular, 7, "factorizations, solves and symmetric updates: a third of the dense suites"),
    Pattern("tree", tree, 6, "fused, imperfect loops as hand-written physics has them; every depth"),
    Pattern("broadcast", broadcast, 5, "biases, scalings and outer products between larger operations"),
    Pattern("masked", masked, 5, "conditions on data: limits, masks, borders"),
    Pattern(
        "recurrence",
        recurrence,
        5,
        "scans, filters and dynamic programming: little is legal here, which has to be learnt",
    ),
    Pattern("assignment", assignment, 4, "fills and copies: cheap, frequent, bound by memory"),
    Pattern("sparse", sparse, 4, "CSR and its relatives: opaque bounds and subscripts"),
    Pattern("transposition", transposition, 4, "changes of layout: all about strides"),
    Pattern("resample", resample, 3, "multigrid, pyramids and wavelets: subscripts with coefficients"),
    Pattern("normalization", normalization, 3, "several passes over the same rows"),
    Pattern("indirect", indirect, 3, "tables, histograms, unstructured grids"),
    Pattern("pairwise", pairwise, 3, "all pairs: much arithmetic on little data"),
)
