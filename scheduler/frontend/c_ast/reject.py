"""Why a loop is left alone."""

from __future__ import annotations


class Reject(Exception):
    """The nest cannot be described; `at` is a byte offset."""

    def __init__(self, at: int, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.advice = advice


RETURN = ("the loop returns from the function", "set a flag or a result and return behind the loop")
BREAK_ADVICE = "give the loop a fixed number of iterations"
ASSERT_ADVICE = "compile with -DNDEBUG, or move the assertion in front of the loop"
