"""Why a loop is left alone."""

from __future__ import annotations

from scheduler.frontend.c_ast.csyntax import RECORD_COPY, RECORD_VALUE, TOO_DEEP


class Reject(Exception):
    """The nest cannot be described; `at` is a byte offset."""

    def __init__(self, at: int, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.advice = advice


class LeftAround(Reject):
    """A loop that stays as it is around others, or calls of functions with others, that are read by themselves: nothing
    is missed by that, and nothing needs to be done."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(at, reason, "")


RETURN = "the loop returns from the function"
RETURN_ADVICE = "set a flag or a result and return behind the loop"
BREAK_ADVICE = "give the loop a fixed number of iterations"
ASSERT_ADVICE = "compile with -DNDEBUG, or move the assertion in front of the loop"
INDEX_ADVICE = "index arrays with integers instead"
MEMBERS_ADVICE = "assign the members one by one"
_NAMED_CALL = "call the function by its name"
_NEW_ADVICE = {  # on what has no model, where another manner of writing it has one
    TOO_DEEP: "compute it in several statements",
    RECORD_VALUE: MEMBERS_ADVICE,
    RECORD_COPY: MEMBERS_ADVICE,
    "a bit-field": "use a member that is a whole integer",
    "a union": "use a variable or array for each member of the union",
    "a call through a pointer": _NAMED_CALL,
    "a function as a value": _NAMED_CALL,
    "sizeof of a variable length array": "multiply its dimensions with the size of an element",
    "a thread-local variable": "copy it to an ordinary variable outside the loop",
}


def unmodelled(what: str, at: int) -> Reject:
    """An expression without a model."""
    return Reject(at, f"uses {what}", _NEW_ADVICE.get(what, "write it in plain C"))
