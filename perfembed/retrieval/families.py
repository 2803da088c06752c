"""Algorithms that are one another's spellings or parts: who is left out for one of them is left out for all.

A nest that occurs in several algorithms has all their labels, joined by +; a generated one those of the generator's
patterns it was made of.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from perfembed.learning.training_data import is_generated


class _Family(NamedTuple):
    """Algorithms, and the generator's patterns that make such nests, too."""

    members: tuple[str, ...]
    patterns: tuple[str, ...] = ()


_FAMILIES = (
    _Family(  # matrix products
        ("2mm", "3mm", "doitgen", "gemm", "minplus", "mlp", "symm", "syr2k", "syrk", "trmm"),
        ("contraction", "triangular"),
    ),
    _Family(("atax", "bicg", "gemver", "gesummv", "mvt"), ("contraction",)),  # of matrices and vectors
    _Family(  # stencils
        ("adi", "fdtd-2d", "heat-2d", "heat-3d", "horizontal-diffusion", "jacobi-1d", "jacobi-2d", "seidel-2d"),
        ("stencil",),
    ),
    _Family(  # filters
        ("box-blur", "conv", "conv-relu", "deriche", "harris", "unsharp-mask"), ("convolution", "stencil")
    ),
    _Family(  # factorizations and solvers
        ("cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv"), ("triangular",)
    ),
    _Family(("correlation", "covariance"), ("normalization", "triangular")),
    _Family(("daubechies", "haar"), ("resample",)),  # wavelets
    _Family(("spmm", "spmv"), ("sparse",)),
    _Family(("adi", "deriche", "durbin"), ("recurrence",)),  # along lines
    _Family(("floyd-warshall", "nussinov"), ("recurrence",)),  # dynamic programming
    _Family(("cvtcolor",), ("resample",)),
    _Family(("histogram",), ("indirect",)),
    _Family(("prime-count",), ("masked",)),
    _Family(("softmax",), ("normalization",)),
)


@functools.cache
def family(algorithm: str) -> frozenset[str]:
    """The labels of an algorithm (joined or not) and of its relatives; of one that none is known of, its own.

    A combination of the generator's patterns, which are joined by +, too, is one label.
    """
    labels = _labels(algorithm)
    return labels.union(*(one.members for one in _FAMILIES if labels & set(one.members)))


def related(one: str, other: str, *, generated: bool = True) -> bool:
    """Whether two algorithms share a label, or have labels of one family.

    `generated`: also where one is a combination of patterns, any of which makes nests like the other's family.
    """
    if _labels(one) & family(other):
        return True
    return generated and bool(_patterns(one) & _imitators(other) or _patterns(other) & _imitators(one))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What donors must not be: one of these algorithms, or related to one.

    `generated`: also of the generator's patterns that make nests like theirs.
    """

    algorithms: Collection[str] = ()
    generated: bool = True

    def __contains__(self, algorithm: str) -> bool:
        return any(related(algorithm, other, generated=self.generated) for other in self.algorithms)

    def __bool__(self) -> bool:
        return bool(self.algorithms)


NOTHING_LEFT_OUT = LeftOut()


@functools.cache
def _labels(algorithm: str) -> frozenset[str]:
    return frozenset([algorithm] if is_generated(algorithm) else algorithm.split("+"))


@functools.cache
def _patterns(algorithm: str) -> frozenset[str]:
    return frozenset(algorithm.split("+")) if is_generated(algorithm) else frozenset()


@functools.cache
def _imitators(algorithm: str) -> frozenset[str]:
    """The patterns that make nests like those of an algorithm that is no combination of patterns itself."""
    labels = _labels(algorithm)
    return frozenset(pattern for one in _FAMILIES if labels & set(one.members) for pattern in one.patterns)
