"""Families: what is left out with an algorithm, through joined labels, too, and what of generated programs."""

from pathlib import Path

import pytest

from perfembed.retrieval.families import family, related

KERNELS = Path(__file__).parents[2] / "kernels"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("gemm", "gemm", True),
        ("2mm", "gemm", True),
        ("gemm", "2mm+3mm", True),
        ("gemm+prime-count", "mlp", True),
        ("gemm", "jacobi-2d", False),
        ("heat-3d", "jacobi-2d", True),
        ("my-solver", "my-solver", True),
        ("my-solver", "gemm", False),
        ("pairwise+triangular", "pairwise+triangular", True),
        ("pairwise+triangular", "pairwise", False),  # a combination of patterns is what generated programs are split by
    ],
)
def test_related(one: str, other: str, expected: bool) -> None:
    assert related(one, [other]) is related(other, [one]) is expected
    assert not related(one, []) and related(one, ["nothing", one])


def test_families_are_of_kernels() -> None:
    known = {path.stem for path in KERNELS.glob("*.c")}
    for name in known:
        assert name in family(name) <= known
