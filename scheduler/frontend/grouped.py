"""Long bodies of loops as few statements: what is computed step by step in scalars of one iteration moves as a whole.

Functions that are inlined leave dozens of assignments to temporary scalars. As statements of their own each would have
a schedule, and the polyhedral library would have to solve for all of them together.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Assign, Loop, LoopNest, Node, Statement, Storage
from scheduler.ir.walk import assignments, reads

_LEAST = 6  # assignments to temporaries: fewer can be moved by themselves


def grouped(nest: LoopNest) -> LoopNest:
    """The same nest, with statements that stand beside each other put together where many of them set temporaries."""
    temporaries = {
        array.name: array.scope for array in nest.arrays if array.storage is Storage.PRIVATE and not array.shape
    }
    if len(temporaries) < _LEAST:
        return nest
    body = _nodes(nest.body, temporaries, "")
    return nest if body == nest.body else replace(nest, body=_numbered(body, [0]))


def _nodes(nodes: tuple[Node, ...], temporaries: dict[str, str | None], inside: str) -> tuple[Node, ...]:
    result: list[Node] = []
    run: list[Statement] = []

    def end() -> None:
        while run and not _is_temporary(run[-1], temporaries, inside):
            behind.append(run.pop())
        many = sum(_is_temporary(s, temporaries, inside) for s in run) >= _LEAST
        result.extend([_together(run)] if many else run)
        result.extend(reversed(behind))
        run.clear()
        behind.clear()

    behind: list[Statement] = []
    for node in nodes:
        if isinstance(node, Statement) and _may_join(node, temporaries, inside):
            run.append(node)
            continue
        end()
        if isinstance(node, Statement):
            result.append(node)
        else:
            loop = node.name if isinstance(node, Loop) else inside
            result.append(replace(node, body=_nodes(node.body, temporaries, loop)))
    end()
    return tuple(result)


def _is_temporary(statement: Statement, temporaries: dict[str, str | None], inside: str) -> bool:
    """It only sets scalars of one iteration of the loop around."""
    return all(temporaries.get(a.target.array, "") == inside for a in assignments(statement.body))


def _may_join(statement: Statement, temporaries: dict[str, str | None], inside: str) -> bool:
    """It sets temporaries, or stores an element that it does not read, and that is another one in each iteration."""
    if not inside:
        return False
    if _is_temporary(statement, temporaries, inside):
        return True
    (action, *more) = statement.body
    if more or not isinstance(action, Assign) or action.op != "=" or not action.target.subscripts:
        return False
    target = action.target
    moves = any(isinstance(s, Affine) and inside in s.names() for s in target.subscripts)
    return moves and all(use.access.array != target.array for use in reads(action.value))


def _together(run: list[Statement]) -> Statement:
    first, last = run[0].span, run[-1].span
    span = first
    if first is not None and last is not None:
        span = replace(first, begin=min(first.begin, last.begin), end=max(first.end, last.end))
    return Statement(run[0].name, tuple(action for statement in run for action in statement.body), span)


def _numbered(nodes: tuple[Node, ...], count: list[int]) -> tuple[Node, ...]:
    """With statements named S0, S1, … in textual order."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            result.append(replace(node, name=f"S{count[0]}"))
            count[0] += 1
        else:
            result.append(replace(node, body=_numbered(node.body, count)))
    return tuple(result)
