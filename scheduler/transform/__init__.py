"""The transformations: `apply_step(tree, step)` gives the new loop tree or raises NotApplicable."""

from __future__ import annotations

from scheduler.errors import NotApplicable
from scheduler.schedule import (
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reverse,
    Shift,
    Sink,
    Skew,
    Split,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
    Vectorize,
)
from scheduler.transform import (
    distribute,
    fuse,
    interchange,
    pack,
    parallelize,
    register_block,
    reverse,
    shift,
    sink,
    skew,
    stream,
    tile,
    unroll,
    unroll_jam,
    vectorize,
)
from scheduler.transform.common import Tree
from scheduler.transform.initial import initial_tree

__all__ = ["NotApplicable", "Tree", "apply_step", "initial_tree"]


def apply_step(tree: Tree, step: Transformation) -> Tree:
    """The tree after one transformation; legality is not looked at here. Raises NotApplicable."""
    match step:
        case Split():
            raise NotApplicable("a split stands before all other steps")
        case Interchange():
            return interchange.apply(tree, step)
        case Skew():
            return skew.apply(tree, step)
        case Reverse():
            return reverse.apply(tree, step)
        case Shift():
            return shift.apply(tree, step)
        case Fuse():
            return fuse.apply(tree, step)
        case Distribute():
            return distribute.apply(tree, step)
        case Sink():
            return sink.apply(tree, step)
        case Tile():
            return tile.apply(tree, step)
        case Unroll():
            return unroll.apply(tree, step)
        case UnrollJam():
            return unroll_jam.apply(tree, step)
        case Vectorize():
            return vectorize.apply(tree, step)
        case Parallelize():
            return parallelize.apply(tree, step)
        case RegisterBlock():
            return register_block.apply(tree, step)
        case Pack():
            return pack.apply(tree, step)
        case Stream():
            return stream.apply(tree, step)
