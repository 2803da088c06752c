"""Algorithms that are one another's spellings or parts: who is left out for one of them is left out for all.

A nest that occurs in several algorithms has all their labels, joined by +.
"""

from __future__ import annotations

from collections.abc import Collection

from perfembed.learning.training_data import is_generated

_FAMILIES = (
    ("2mm", "3mm", "doitgen", "gemm", "minplus", "mlp", "symm", "syr2k", "syrk", "trmm"),  # matrix products
    ("atax", "bicg", "gemver", "gesummv", "mvt"),  # of matrices and vectors
    ("adi", "fdtd-2d", "heat-2d", "heat-3d", "horizontal-diffusion", "jacobi-1d", "jacobi-2d", "seidel-2d"),  # stencils
    ("box-blur", "conv", "conv-relu", "deriche", "harris", "unsharp-mask"),  # filters
    ("cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv"),  # factorizations and solvers
    ("correlation", "covariance"),
    ("daubechies", "haar"),  # wavelets
    ("spmm", "spmv"),
)


def family(algorithm: str) -> frozenset[str]:
    """The labels of an algorithm (joined or not) and of its relatives; of one that none is known of, its own.

    A combination of the generator's patterns, which are joined by +, too, is one label.
    """
    labels = _labels(algorithm)
    return labels.union(*(members for members in _FAMILIES if labels & set(members)))


def related(algorithm: str, others: Collection[str]) -> bool:
    """Whether an algorithm is one of the others, shares a label with one, or is in the family of one."""
    return any(_labels(algorithm) & family(other) for other in others)


def _labels(algorithm: str) -> frozenset[str]:
    return frozenset([algorithm] if is_generated(algorithm) else algorithm.split("+"))
