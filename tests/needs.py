"""What tests need: a unit test starts no process and does not wait; what it reads is parsed in this process."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scheduler.frontend import ParseOptions, SourceFile
from scheduler.frontend.child import parse
from scheduler.frontend.model import Failure, Request

NEEDS = ("gcc", "machine", "campaign")
"""Marks: processes (compilers, parsers, solvers); a machine's clock, limits and signals; many random programs."""
_STACK_BYTES = 256 << 20


def is_unit(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(name) for name in NEEDS)


def parsed_here(request: Request, options: ParseOptions) -> SourceFile | Failure:
    """What a parser process would answer, without its limits."""
    del options
    before, recursion = threading.stack_size(_STACK_BYTES), sys.getrecursionlimit()
    sys.setrecursionlimit(max(recursion, 20_000))
    try:
        with ThreadPoolExecutor(1) as worker:
            return worker.submit(parse, request).result()
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(recursion)
