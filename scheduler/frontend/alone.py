"""Nests that must have no threads, or not be rewritten, for what the program does with signals and processes."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.model import Rejection, Sharing, SourceFile
from scheduler.frontend.processes import Processes
from scheduler.ir.nest import LoopNest


def without_threads(source: SourceFile, program: Processes) -> SourceFile:
    """The file with what its nests must not have: threads, or that they are rewritten. `program`: all its files."""
    alone, handling = program.alone(), program.handling()
    sharing = dict(source.sharing)
    if alone:
        for nest in source.nests:
            known = sharing.get(nest.name, Sharing())
            if not (known.context or known.shared or known.protected):  # else the program has threads there itself
                sharing[nest.name] = replace(known, context="thread", reason=alone)
    nests = tuple(nest for nest in source.nests if nest.function not in handling)
    gone = tuple(_interrupting(nest) for nest in source.nests if nest.function in handling and nest.span is not None)
    if program.allocates:
        gone += tuple(_allocating(nest, min(program.allocates)) for nest in nests if nest.span is not None)
        nests = ()
    return replace(source, nests=nests, sharing=sharing, rejections=(*source.rejections, *gone))


def _allocating(nest: LoopNest, name: str) -> Rejection:
    assert nest.span is not None
    reason = f"the program has a '{name}' of its own, which tuned loops would call, and threads"
    return Rejection(nest.span, reason, "give it another name, and call it by that", nest.function, nest.span)


def _interrupting(nest: LoopNest) -> Rejection:
    assert nest.span is not None
    reason = "a signal handler runs it, which may interrupt what tuned loops call"
    return Rejection(
        nest.span, reason, "let the handler set a flag, and do the work elsewhere", nest.function, nest.span
    )
