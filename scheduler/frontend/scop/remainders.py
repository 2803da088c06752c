"""How many rounds a loop over rounds has (`passes.rotate_buffers`), and what it leaves of the loop that was written."""

from __future__ import annotations

import re

from scheduler.frontend.c_ast.csyntax import ForStmt, Lit
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.model import Remainder
from scheduler.frontend.passes.rotate_buffers import Rounds
from scheduler.frontend.scop import headers
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.strides import affine_text, fits
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Constraint

_ADVICE = "let the loop count to a number that is computed in front of it"


_GOES_ON = re.compile(rb"while\b|for\s*\(\s*;")
_BODY = re.compile(rb"\{|for\b")


def written_again(content: bytes, kept: ForStmt) -> tuple[tuple[int, int], bool] | None:
    """As the `body` and `whole` of a remainder, of a loop of the file; None where there is no such text."""
    whole = kept.body.begin == kept.begin
    begin, end = kept.body.begin, kept.body.end
    pattern = _GOES_ON if whole else _BODY
    return ((begin, end), whole) if pattern.match(content, begin) and content[end - 1 : end] in b";}" else None


def remainder(ctx: Context, rounds: Rounds, kept: ForStmt) -> Remainder:
    """Sets the number of rounds, of which there must be one at least; what runs as written behind them. Raises Reject.

    `kept`: the loop of the file.
    """
    again = written_again(ctx.unit.source.content, kept)
    if again is None:
        raise Reject(kept.begin, "the body of the loop is no block of the file", "write { and } around it")
    found = headers.header(ctx, rounds.loop)
    per, count = rounds.factor * abs(found.step), rounds.count
    if not isinstance(found.start, tuple) or not isinstance(found.stop, tuple):
        raise Reject(kept.begin, "how often the loop exchanges its buffers depends on data", _ADVICE)
    if len(found.start) > 1 or len(found.stop) > 1:
        raise Reject(kept.begin, "how often the loop exchanges its buffers is a minimum of several", _ADVICE)
    start, stop = found.start[0], found.stop[0]
    way = stop - start if found.step > 0 else start - stop
    texts = [affine_text(ctx, affine) for affine in (way, start, stop)]
    if None in texts:
        raise Reject(kept.begin, "how often the loop exchanges its buffers is no sum of integers", _ADVICE)
    _, begin, end = (text for text in texts if text is not None)
    number = rounds.number
    if way.is_constant:
        known = max(0, way.const + abs(found.step) - 1) // per
        number.base, number.init = f"{known}L", Lit(str(known), known, number.ctype, kept.begin)
    else:
        more = abs(found.step) - 1  # iterations are counted upwards
        number.base = f"({texts[0]} + {more}L) / {per}L" if more else f"{texts[0]} / {per}L"
        names = way.names() | start.names() | stop.names()
        ctx.assumed.conditions[number] = " && ".join(dict.fromkeys((*fits(ctx, names, True), f"{texts[0]} >= 1L")))
    name = ctx.parameter(number)
    ctx.assumed.facts.assumptions.append(Constraint(Affine.of(name) - 1))
    own = count.variable
    tested = " + 1L" if again[1] and rounds.loop.increment is None else ""  # `while (t-- > 0)`, which takes it off
    return Remainder(
        f"{begin} + {rounds.factor * found.step}L * {name}{tested}",
        end,
        own.name,
        own.ctype.name,
        found.step,
        *again,
    )
