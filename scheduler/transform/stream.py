"""Stream: an array that an innermost loop runs along is written past the caches.

The mark changes when elements reach the memory, not what is computed: code is made of it only where nothing else in
the loop touches the array (`scheduler.codegen.streamed`).
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.schedule import Stream
from scheduler.transform.common import Tree, the_loop


def apply(tree: Tree, step: Stream) -> Tree:
    loop = the_loop(tree, step.loop)
    if any(isinstance(child, TreeLoop) for child in loop.children):
        raise NotApplicable(f"loop {step.loop} is not innermost")
    if loop.opaque or loop.tile:
        raise NotApplicable(f"loop {step.loop} runs over data or blocks")
    if step.array in loop.streams:
        raise NotApplicable(f"array {step.array} is streamed in loop {step.loop} already")
    return replace_loop(tree, step.loop, (replace(loop, streams=(*loop.streams, step.array)),))
