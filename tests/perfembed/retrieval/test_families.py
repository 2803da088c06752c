"""Families: what is left out with an algorithm, through joined labels, too, and what of generated programs."""

from pathlib import Path

import pytest

from perfembed.retrieval.families import LeftOut, family, related
from scheduler.generator.programs import PATTERNS

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
    assert related(one, other) is related(other, one) is related(one, other, generated=False) is expected
    assert (one in LeftOut(["nothing", other])) is expected
    assert one not in LeftOut() and not LeftOut()


@pytest.mark.parametrize(
    ("one", "generated", "expected"),
    [
        ("gemm", "contraction", True),  # a generated product of matrices
        ("gemm", "contraction+expression", True),
        ("trmm+softmax", "triangular", True),
        ("jacobi-2d", "stencil", True),
        ("unsharp-mask", "convolution", True),
        ("haar", "resample", True),
        ("spmv", "masked+sparse", True),
        ("gemm", "stencil", False),
        ("my-solver", "contraction", False),
        ("contraction", "contraction+expression", False),
    ],
)
def test_generated_programs_that_do_the_like(one: str, generated: str, expected: bool) -> None:
    assert related(one, generated) is related(generated, one) is expected
    assert not related(one, generated, generated=False)
    assert (generated in LeftOut([one])) is expected
    assert generated not in LeftOut([one], generated=False)


def test_families_are_of_kernels_and_patterns() -> None:
    known, patterns = {path.stem for path in KERNELS.glob("*.c")}, {pattern.name for pattern in PATTERNS}
    for name in known:
        assert name in family(name) <= known
        assert any(related(name, pattern) for pattern in patterns)  # none is without relatives among generated ones
