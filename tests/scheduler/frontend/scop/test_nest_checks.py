"""What a nest as a whole is asked: that `long` can count with all its numbers."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import nest, refusal

HEAD = "#include <stdint.h>\n#include <stddef.h>\n"


@pytest.mark.parametrize(
    "loop",
    [
        "for (uint64_t i = (t - 3) - t; i < n * n; ++i) A[i] += 1;",  # -3, as the type has it: none at all
        "for (size_t i = (size_t)1 - 4; i < n; i = i + 1) A[i & 63] += 1;",
        "for (long i = 0; i < n; i++) if (i != 9223372036854775807) A[i] += 1;",
    ],
)
def test_numbers_that_long_does_not_count_with(loop: str) -> None:
    source = HEAD + f"double A[64]; void f(unsigned short t, size_t n, int k) {{ {loop} }}"
    assert "counts with the number" in refusal(source).reason


def test_numbers_that_it_does() -> None:
    assert nest(HEAD + "double A[64]; void f(long n) { for (long i = -3; i < n; i++) A[i + 3] += 1; }")
