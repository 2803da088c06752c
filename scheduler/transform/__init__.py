"""The transformations, one a file: a record of plain values, what it does to a loop tree, what it is for another nest.

A new one is a record with `keyword`, `apply` (the new loop tree, or NotApplicable; legality is not looked at),
`transfer` (the step for a nest whose nodes are matched with this one's, `scheduler.transform.transfer`) and `words`
(one sentence; loops, arrays and statements are called as in the text form), and is listed here.
"""

from __future__ import annotations

from typing import Union

from scheduler.transform.aos_to_soa import AosToSoa
from scheduler.transform.distribute import Distribute
from scheduler.transform.forward_array import ForwardArray
from scheduler.transform.fuse import Fuse
from scheduler.transform.interchange import Interchange
from scheduler.transform.pack import Pack
from scheduler.transform.parallelize import Parallelize
from scheduler.transform.register_block import RegisterBlock
from scheduler.transform.reschedule import Reschedule
from scheduler.transform.reverse import Reverse
from scheduler.transform.shift import Shift
from scheduler.transform.sink import Sink
from scheduler.transform.skew import Skew
from scheduler.transform.split import Split
from scheduler.transform.stream import Stream
from scheduler.transform.tile import Tile
from scheduler.transform.unroll import Unroll
from scheduler.transform.unroll_jam import UnrollJam
from scheduler.transform.vectorize import Vectorize

__all__ = [
    "NEST_STEPS",
    "TRANSFORMATIONS",
    "AosToSoa",
    "Distribute",
    "ForwardArray",
    "Fuse",
    "Interchange",
    "NestStep",
    "Pack",
    "Parallelize",
    "RegisterBlock",
    "Reschedule",
    "Reverse",
    "Shift",
    "Sink",
    "Skew",
    "Split",
    "Stream",
    "Tile",
    "Transformation",
    "Unroll",
    "UnrollJam",
    "Vectorize",
]

Transformation = Union[  # noqa: UP007
    Split,
    AosToSoa,
    ForwardArray,
    Interchange,
    Skew,
    Reschedule,
    Reverse,
    Shift,
    Fuse,
    Distribute,
    Sink,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
    Parallelize,
    RegisterBlock,
    Pack,
    Stream,
]

TRANSFORMATIONS: tuple[type[Transformation], ...] = (
    Split,
    AosToSoa,
    ForwardArray,
    Interchange,
    Skew,
    Reschedule,
    Reverse,
    Shift,
    Fuse,
    Distribute,
    Sink,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
    Parallelize,
    RegisterBlock,
    Pack,
    Stream,
)

NestStep = Union[Split, AosToSoa, ForwardArray]  # noqa: UP007
NEST_STEPS = (Split, AosToSoa, ForwardArray)
"""Those that change the nest itself: they stand first, and have `cut` (the new nest) for `apply`."""
