"""`break` out of a loop inside a statement: an action of its own only together with its condition."""

from __future__ import annotations

from dataclasses import replace

from scheduler.ir.nest import Action, If, Literal, Unary

BREAK = If(Literal("1", "int"), (), (), "break")


def leaving(actions: list[Action]) -> list[Action]:
    """With `if (c) { …; break; }` as one action that leaves the loop."""
    result: list[Action] = []
    for action in actions:
        if isinstance(action, If) and not action.flow:
            then, orelse = leaving(list(action.then)), leaving(list(action.orelse))
            if _is_break(then[-1:]):
                result.append(If(action.condition, tuple(then[:-1]), (), "break"))
                result += orelse
                continue
            if _is_break(orelse[-1:]):
                result.append(If(Unary("!", action.condition, "int"), tuple(orelse[:-1]), (), "break"))
                result += then
                continue
            action = replace(action, then=tuple(then), orelse=tuple(orelse))
        result.append(action)
        if _is_break([action]):
            break
    return result


def _is_break(actions: list[Action]) -> bool:
    """`break` on its own."""
    return bool(actions) and actions[0] == BREAK
