"""The abstract domain of the run-time checks: intervals as expressions, which the written code evaluates.

Moore, Interval Analysis, 1966; Cousot & Cousot, Abstract interpretation, POPL 1977. What overflows or is not known is
any number, of which no test succeeds. Intervals of unsigned numbers of 64 bits hold a number that is congruent to the
value. The functions are those of `intervals_text`; C text is made of the whole at the end (`Intervals.declarations`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduler.codegen.emit.integer_text import OR, IntegerPrinter, wrap
from scheduler.codegen.runtime_checks.integers import PLAIN, limits
from scheduler.codegen.tree.nodes import IntExpr, IntOp
from scheduler.ir.affine import Affine
from scheduler.ir.types import ScalarType

_WIDEST = 90  # characters of a value that stands where it is used


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A function of C and its operands. Those that one maker gives for equal operands are the same object.

    `open_low`, `open_high`: the end is known to be open, whatever the program's values.
    """

    function: str
    operands: tuple[Operand, ...]
    open_low: bool = False
    open_high: bool = False

    @property
    def is_vague(self) -> bool:
        return self.open_low or self.open_high


@dataclass(frozen=True, slots=True)
class End:
    """The least or the greatest number of an interval."""

    interval: Interval
    side: str  # "low" or "high"


Operand = Interval | End | IntExpr | str
"""A string is a constant or a value of the program's, as C text."""

ANY = Interval("between", ("pe_lo", "pe_hi"), True, True)
NONE = Interval("between", ("0", "-1"))


class Intervals:
    """Makes intervals, and the C text of those that are needed."""

    def __init__(self, printer: IntegerPrinter) -> None:
        self.printer = printer
        self._made: dict[tuple[str, tuple[Operand, ...]], tuple[Interval, int]] = {}  # with their numbers
        self._spans: dict[Interval, None] = {}

    def _make(self, function: str, *operands: Operand, opened: tuple[bool, bool] = (False, False)) -> Interval:
        operands = tuple(str(o.const) if isinstance(o, Affine) and o.is_constant else o for o in operands)
        made = self._made.setdefault((function, operands), (Interval(function, operands, *opened), len(self._made)))
        return made[0]

    # ------------------------------------------------------------------------------------------ leaves

    def between(self, low: Operand, high: Operand, opened: tuple[bool, bool] = (False, False)) -> Interval:
        """All numbers from one to another; `opened` says which of the two are known to be no bounds."""
        return self._make("between", low, high, opened=opened)

    def constant(self, value: int) -> Interval:
        return self.exactly(str(value))

    def exactly(self, value: Operand) -> Interval:
        return self.between(value, value)

    def truth(self) -> Interval:
        return self.between("0", "1")

    def of_type(self, ctype: ScalarType) -> Interval:
        """All numbers of a type of less than 64 bits."""
        return self.between(*limits(ctype.name), (ctype.signed and ctype.bits >= 32, ctype.bits >= 32))

    def between_if(self, condition: IntExpr | None, low: Operand, high: Operand, otherwise: Interval) -> Interval:
        """All numbers from one to another where a condition (None: always) holds."""
        return self.between(low, high) if condition is None else self._make("?:", condition, low, high, otherwise)

    def elements(self, function: str, base: str, places: Interval, width: int) -> Interval:
        """Of elements of an array of integers of some bytes (negative: without a sign).

        `function`: "found", all they may be, or "rising", the numbers from each to its next, if they rise.
        """
        return self._make(function, base, places, str(width))

    # -------------------------------------------------------------------------------------- arithmetic

    def combined(self, function: str, left: Interval, right: Interval) -> Interval:
        """A function of two intervals, of which both have to be known."""
        return ANY if left.is_vague or right.is_vague else self._make(function, left, right)

    def remainder(self, left: Interval, right: Interval) -> Interval:
        return self._make("rest", left, right)

    def over(self, interval: Interval, divisor: int, floored: bool) -> Interval:
        """Quotients by a positive number, rounded towards minus infinity (`floored`) or 0."""
        if interval.is_vague:
            return ANY
        return self._make("over", interval, str(divisor), str(int(floored)))

    def times(self, factor: int, interval: Interval) -> Interval:
        if interval.is_vague or factor == 1:
            return ANY if interval.is_vague else interval
        return self._make("times", str(factor), interval)

    def shifted(self, interval: Interval, by: int) -> Interval:
        if not by or interval.is_vague:
            return ANY if by else interval
        return self._make("sum", interval, self.constant(by))

    def natural(self, interval: Interval) -> Interval:
        """Of an unsigned type of 64 bits: what may be negative is any number."""
        return interval if interval.is_vague or interval is NONE else self._make("natural", interval)

    def held(self, interval: Interval, ctype: ScalarType) -> Interval:
        """The interval after a conversion to a type."""
        if ctype.bits == 64 or interval is NONE:
            return interval
        if interval.is_vague or ctype.name == PLAIN:
            return self.of_type(ctype)
        return self._make("held", interval, *limits(ctype.name))

    # ------------------------------------------------------------------------------------------- order

    def join(self, first: Interval, second: Interval) -> Interval:
        if first is second or NONE in (first, second):
            return second if first is NONE else first
        ends = (first.open_low or second.open_low, first.open_high or second.open_high)
        return self._make("join", first, second, opened=ends)

    def meet(self, interval: Interval, op: str, bound: Interval, unsigned: bool) -> Interval:
        """What is left of an interval of numbers x with `x op y` for some y of another; `unsigned`: of 64 bits."""
        u, low = str(int(unsigned)), interval.open_low
        if op in ("<", "<=", "==") and not bound.open_high:
            low = low and not unsigned
            interval = self._make("below", interval, bound, str(int(op == "<")), u, opened=(low, False))
        if op in (">", ">=", "==") and not bound.open_low:
            high = interval.open_high
            interval = self._make("above", interval, bound, str(int(op == ">")), u, opened=(False, high))
        return interval

    def widened(self, entry: Interval, ctype: ScalarType | None, up: bool, down: bool) -> Interval:
        """What a number that begins as `entry` may be in a loop that never makes it less (`up`) or greater (`down`)."""
        if ctype is not None and ctype.bits < 64 and not up and not down:
            return self.of_type(ctype)
        low, high = limits(ctype.name) if ctype is not None else ("pe_lo", "pe_hi")
        narrow = ctype is not None and ctype.bits < 32
        return self.between(
            End(entry, "low") if up else low,
            End(entry, "high") if down else high,
            (not narrow and (not up or entry.open_low), not narrow and (not down or entry.open_high)),
        )

    # -------------------------------------------------------------------------------------------- text

    def span(self, base: str, elements: Interval) -> str:
        """The name of what holds the first byte of elements behind a pointer, and the end."""
        found = self._make("spanned", base, elements, f"(long)sizeof *{base}")
        self._spans[found] = None
        return self._name(found)

    def declarations(self) -> str:
        """C declarations of everything that the spans are made of, in order; what is used once stands in its place."""
        needed = self._needed()
        uses = Counter(i for interval in needed for i in _intervals(interval.operands))
        texts = {ANY: "pe_between(pe_lo, pe_hi)", NONE: "pe_between(0, -1)"}
        lines = []
        for interval in needed:
            whole = self._text(interval, texts)
            small = uses[interval] == 1 or interval.function == "between"
            if small and interval not in self._spans and len(whole) < _WIDEST:
                texts[interval] = f"({whole})" if "?" in whole else whole
            else:
                texts[interval] = self._name(interval)
                kind = "span" if interval in self._spans else "range"
                lines.append(f"const struct pe_{kind} {texts[interval]} = {whole};\n")
        return "".join(lines)

    def _needed(self) -> list[Interval]:
        """Each behind what it is made of."""
        needed = set(self._spans)
        kept = []
        for interval, _ in reversed(self._made.values()):
            if interval in needed:
                kept.append(interval)
                needed.update(_intervals(interval.operands))
        return kept[::-1]

    def _name(self, interval: Interval) -> str:
        kind = "s" if interval in self._spans else "q"
        return f"pe_{kind}{self._made[interval.function, interval.operands][1]}_"

    def _text(self, interval: Interval, texts: dict[Interval, str]) -> str:
        def text(operand: Operand) -> str:
            if isinstance(operand, Interval):
                return texts[operand]
            if isinstance(operand, End):
                return f"{texts[operand.interval]}.pe_{operand.side}"
            return operand if isinstance(operand, str) else self.printer.integer(operand)[0]

        if interval.function == "?:":
            condition, low, high, otherwise = interval.operands
            assert isinstance(condition, Affine | IntOp)
            when = wrap(self.printer.integer(condition), OR)
            return f"{when} ? pe_between({text(low)}, {text(high)}) : {text(otherwise)}"
        return f"pe_{interval.function}({', '.join(map(text, interval.operands))})"


def _intervals(operands: Iterable[Operand]) -> Iterator[Interval]:
    for operand in operands:
        if isinstance(operand, Interval):
            yield operand
        elif isinstance(operand, End):
            yield operand.interval
