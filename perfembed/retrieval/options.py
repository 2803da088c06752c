"""What a search for donors can be asked for; light, for the command line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from perfembed.errors import UsageError

Same = Literal["machine", "type", "assumptions"]
SAME: tuple[Same, ...] = get_args(Same)


def same_things(asked: Collection[str]) -> tuple[Same, ...]:
    """What donors are to have in common with a nest. Raises UsageError."""
    for text in asked:
        if text not in SAME:
            raise UsageError(f"--same {text!r}: expected {', '.join(SAME)}")
    return tuple(thing for thing in SAME if thing in asked)
