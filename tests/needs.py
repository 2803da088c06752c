"""What tests need. A unit test starts no process and does not wait, and fails where it does. Its parser runs in its
process, as do those of tests that only need a compiler.

Tests that need more have one of the marks `gcc`, `machine` and `campaign` (see pyproject.toml).
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, SourceFile
from scheduler.frontend.child import parse
from scheduler.frontend.model import Failure, Request

NEEDS = ("gcc", "machine", "campaign")
"""Marks: processes (compilers, parsers, solvers); a machine's clock, limits and signals; many random programs."""
ROOT = Path(__file__).parent
FOLDERS = {"profilers": "machine", "campaigns": "campaign", "differential": "campaign"}
OWN_PARSER = "own_parser"  # a fixture: tests of the parser's process, its limits and its time
_STACK_BYTES = 256 << 20
_STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
_LONGEST_S = 0.05  # that a unit test may sleep


def is_unit(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(name) for name in NEEDS)


def parses_here(item: pytest.Function) -> bool:
    """A parser process of its own for each file would take longer than most tests of what it finds."""
    return is_unit(item) or (item.get_closest_marker("gcc") is not None and OWN_PARSER not in item.fixturenames)


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


class Watch:
    """Notes what the unit test that runs does that it may not."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._on = False
        self._process = os.getpid()
        sys.addaudithook(self._note)

    def begin(self, unit: bool) -> None:
        self.seen, self._on = [], unit

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._on or os.getpid() != self._process:
            return
        if event in _STARTS:
            self.seen.append(f"starts a process ({event}: {str(arguments[:2])[:200]})")
        elif event == "time.sleep" and isinstance(arguments[0], int | float) and arguments[0] > _LONGEST_S:
            self.seen.append(f"sleeps for {arguments[0]} s")
