"""Whether what a program prints is what the original prints."""

from __future__ import annotations

import re

from perfembed.comparing.rows import Output

_CLOSE = 1e-6  # relative: how far sums may be apart where a compiler contracts other products
_HASH = re.compile(rb"[0-9a-f]{16}")


def compare_outputs(expected: bytes, actual: bytes) -> Output:
    """equal: the same bytes; close: only hashes and roundings differ; else differs."""
    if expected == actual:
        return "equal"
    first, second = expected.split(), actual.split()
    if len(first) != len(second):
        return "differs"
    for a, b in zip(first, second, strict=True):
        if a == b or (_HASH.fullmatch(a) and _HASH.fullmatch(b)):
            continue
        try:
            x, y = float(a), float(b)
        except ValueError:
            return "differs"
        if not abs(x - y) <= _CLOSE * max(abs(x), abs(y)):
            return "differs"
    return "close"
