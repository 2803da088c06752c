"""The size macros of a program, and other values for them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from tests.campaigns.written.model import Sizes

_MACRO = re.compile(
    r"^#ifndef (?P<name>\w+)\n"
    r"#define (?P=name) (?:SIZE\((?P<small>\d+), *\d+(?:, *\d+)?\)|(?P<value>\d+))\n#endif$",
    re.MULTILINE,
)
_WORK = 400_000  # instances of the innermost statement, roughly
_MOST = 41


def size_macros(text: str) -> dict[str, int]:
    """Those that a -D may set, with their value under -DSMALL."""
    return {m["name"]: int(m["small"] or m["value"]) for m in _MACRO.finditer(text)}


def drawn_sizes(small: Mapping[str, int], depth: int, rng: random.Random) -> dict[str, int]:
    """Values to tune a random program with: as large as its `depth` allows, so that blocks are filled."""
    most = max(4, min(_MOST, int(_WORK ** (1 / max(depth, 1)))))
    return {name: rng.randint(max(4, most // 2), most) if value > 4 else value for name, value in small.items()}


def defines(tuned: Mapping[str, int], sizes: Sizes, rng: random.Random) -> tuple[str, ...]:
    """As -D flags; `tuned`: what the macros were when the nests were read."""
    return tuple(f"-D{name}={value}" for name, value in other_sizes(tuned, sizes, rng).items())


def other_sizes(tuned: Mapping[str, int], sizes: Sizes, rng: random.Random) -> dict[str, int]:
    match sizes:
        case "tuned":
            return dict(tuned)
        case "plus":
            return {name: value + 3 for name, value in tuned.items()}
        case "smaller":
            return {name: rng.choice((1, max(1, value // 2), max(1, value - 1))) for name, value in tuned.items()}
        case "mixed":
            return {name: rng.choice((1, 2, value, value + 1, value + 9)) for name, value in tuned.items()}
