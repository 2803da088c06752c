"""What patterns write a program with: extents, arrays, loops and statements, every access proved in bounds."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from math import ceil, log10, prod

from scheduler.generator.programs.declarations import Declarations, Extent, Iterator, least, most, trips
from scheduler.generator.programs.values import LARGEST, Array, Opaque, Ref, format_affine, literal
from scheduler.ir.affine import Affine

Range = Affine | int | tuple[Extent, Extent]
Subscript = Affine | int | Opaque
_ITERATORS = "ijklmpqr"
_CALLS = ("exp", "tanh", "sqrt", "pow", "log", "sin", "cos")  # cost about ten plain operations


class OutOfBounds(AssertionError):
    """A pattern wrote a subscript that cannot be proved in bounds: a mistake in the pattern."""


class TooLarge(Exception):
    """A value may not fit its type: the program is drawn anew."""


class Style(Enum):
    """How the kernel sees its arrays."""

    GLOBAL = "global"  # static arrays, extents are macros
    VLA = "vla"  # double A[n][m]
    FLAT = "flat"  # double *A, subscript i * m + j
    RESTRICT = "restrict"  # the same, restrict-qualified


@dataclass(slots=True)
class Block:
    """A braced region: what stands before the brace, and lines or blocks in it."""

    head: str
    body: list[Block | str] = field(default_factory=list)


@dataclass(slots=True)
class Kernel(Declarations):
    """The kernel function so far. All subscripts are proved in bounds when they are written, at both sizes.

    `around`: the loops around what is written next, outermost first. `work`: statements it executes, by their cost.
    """

    style: Style
    index_type: str = "int"
    root: Block = field(default_factory=lambda: Block(""))
    around: list[Iterator] = field(default_factory=list)
    depth: int = 0
    loop_count: int = 0
    work: float = 0.0
    _blocks: list[Block] = field(default_factory=list)
    _stride_cost: float = 0.0

    def __post_init__(self) -> None:
        self._blocks.append(self.root)

    # ------------------------------------------------------------------------------------ accesses

    def ref(self, array: Array, *subscripts: Subscript) -> Ref:
        """The text of an element. Raises OutOfBounds unless it is proved to be inside."""
        if len(subscripts) != len(array.shape):
            raise OutOfBounds(f"{array.name} has {len(array.shape)} dimensions")
        texts = []
        for subscript, extent in zip(subscripts, array.shape, strict=True):
            where = Affine.constant(subscript) if isinstance(subscript, int) else subscript
            for sizes in self.sizes:
                if isinstance(where, Opaque):
                    low, high = 0, where.below.evaluate(sizes) - 1
                else:
                    low, high = least(where, self.around, sizes), most(where, self.around, sizes)
                if low < 0 or high >= extent.evaluate(sizes):
                    raise OutOfBounds(f"{array.name}[{where}] is not within [0, {extent}): {low} to {high}")
            texts.append(where.text if isinstance(where, Opaque) else self.text(where))
        array.used = True
        self._charge(array, subscripts)
        if self.style in (Style.GLOBAL, Style.VLA) or len(texts) == 1:
            return Ref.of(array.name + "".join(f"[{t}]" for t in texts), array)
        linear = texts[0]
        for text, extent in zip(texts[1:], array.shape[1:], strict=True):
            scaled = f"({linear})" if not linear.isidentifier() else linear
            size = self.text(extent)
            linear = f"{scaled} * {size if size.isidentifier() or size.isdigit() else f'({size})'} + {text}"
        return Ref.of(f"{array.name}[{linear}]", array)

    def read(self, array: Array, *subscripts: Subscript, largest: float = LARGEST) -> str:
        """The value of an element, scaled down where it could exceed `largest` (integers: 15)."""
        return self.tamed(self.ref(array, *subscripts), largest)

    def tamed(self, ref: Ref, largest: float = LARGEST) -> str:
        array = ref.array
        if array.bound <= largest:
            return ref
        if not array.is_floating:
            return f"({ref} & 15)"
        scale = 10.0 ** -_digits(array.bound)
        return f"{literal(f'{scale:.0e}', array.ctype)} * {ref}"

    def entry(self, array: Array, *subscripts: Subscript) -> Opaque:
        """An element of an index array as a subscript."""
        return Opaque(self.ref(array, *subscripts), array.below)

    def _charge(self, array: Array, subscripts: Sequence[Subscript]) -> None:
        """Long strides of the innermost loop over a large array cost more than their share."""
        size = self.bytes(array)
        if not self.around or size < 1 << 19:
            return
        inner = self.around[-1].name
        far = any(isinstance(s, Affine) and s.coefficient(inner) for s in subscripts[:-1])
        if far or any(isinstance(s, Opaque) for s in subscripts):
            self._stride_cost += 2.0 if size < 1 << 23 else 6.0

    def text(self, affine: Extent) -> str:
        """As it stands in the kernel function."""
        return format_affine(affine, lower=self.style is not Style.GLOBAL)

    # --------------------------------------------------------------------------------------- nodes

    def line(self, text: str, cost: float = 1.0) -> None:
        """A statement."""
        cost += 0.12 * text.count("[")
        cost += 8 * sum(text.count(f"{name}(") + text.count(f"{name}f(") for name in _CALLS)
        self.work += (cost + self._stride_cost) * prod(trips(self.around, self.sizes[1]))
        self._stride_cost = 0.0
        self.depth = max(self.depth, len(self.around))
        self._blocks[-1].body.append(text)

    def store(self, target: Ref, op: str, value: str, bound: float = LARGEST, cost: float = 1.0) -> None:
        """An assignment. `bound`: of the value; of `+=` and `-=` of all that is added to one element."""
        array = target.array
        array.written = True
        array.bound = array.bound + bound if op in ("+=", "-=") else max(array.bound, bound)
        if array.bound > (2.0**31 - 1 if not array.is_floating else 1e30):
            raise TooLarge
        self.line(f"{target} {op} {value};", cost)

    def local(self, wish: str, value: str, ctype: str | None = None) -> str:
        """A local variable of the innermost block with its first value."""
        name = self.free(wish)
        self.line(f"{ctype or self.ctype} {name} = {value};", cost=0.2)
        return name

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        block = Block(head)
        self._blocks[-1].body.append(block)
        self._blocks.append(block)
        yield
        self._blocks.pop()

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        self._stride_cost += 0.5
        with self.block(f"if ({condition})"):
            yield

    @contextmanager
    def loop(
        self, start: Extent | Iterable[Extent], stop: Extent | Iterable[Extent], *, step: int = 1, down: bool = False,
        wish: str = "",
    ) -> Generator[Affine]:  # fmt: skip
        """A loop over [start, stop), downwards with `down`; several bounds mean their maximum and minimum."""
        starts, stops = _affines(start), _affines(stop)
        used = {i.name for i in self.around}
        name = next(n for n in (*([wish] if wish else []), *_ITERATORS) if n not in used)
        low = self._extreme(starts, ">")
        high = self._extreme(stops, "<")
        change = "++" if step == 1 else f" += {step}"
        head = f"for ({self.index_type} {name} = {low}; {name} < {high}; {name}{change})"
        if down:
            last = self.text(stops[0] - 1) if len(stops) == 1 else f"{high} - 1"
            change = "--" if step == 1 else f" -= {step}"
            head = f"for ({self.index_type} {name} = {last}; {name} >= {low}; {name}{change})"
        with self._entered(head, Iterator(name, starts, stops, step)) as iterator:
            yield iterator

    def _extreme(self, affines: tuple[Affine, ...], comparison: str) -> str:
        texts = [self.text(a) for a in affines]
        return texts[0] if len(texts) == 1 else f"({texts[0]} {comparison} {texts[1]} ? {texts[0]} : {texts[1]})"

    @contextmanager
    def segment(self, begins: Array, row: Affine) -> Generator[Affine]:
        """A loop over the entries of a row: for (p = begins[row]; p < begins[row + 1]; p++)."""
        first, last = self.ref(begins, row), self.ref(begins, row + 1)
        used = {i.name for i in self.around}
        name = next(n for n in ("p", "q", "r", "m", "l") if n not in used)
        iterator = Iterator(name, (Affine(),), (begins.below,), 1, float(begins.each))
        with self._entered(f"for (int {name} = {first}; {name} < {last}; {name}++)", iterator) as affine:
            yield affine

    @contextmanager
    def _entered(self, head: str, iterator: Iterator) -> Generator[Affine]:
        self.loop_count += 1
        self._stride_cost = 0.0
        self.around.append(iterator)
        with self.block(head):
            yield Affine.of(iterator.name)
        self.around.pop()

    @contextmanager
    def loops(
        self, *ranges: Range, order: Sequence[int] | None = None, down: float = 0.0
    ) -> Generator[tuple[Affine, ...]]:
        """Perfectly nested loops over ranges, the `order`-th outermost; iterators come in the order of the ranges."""
        found: dict[int, Affine] = {}
        outer = sum(i.name != "t" for i in self.around)
        with ExitStack() as stack:
            for place in order if order is not None else range(len(ranges)):
                given = ranges[place]
                start, stop = given if isinstance(given, tuple) else (0, given)
                backwards = self.rng.random() < down
                found[place] = stack.enter_context(
                    self.loop(start, stop, down=backwards, wish=_ITERATORS[min(place + outer, 7)])
                )
            yield tuple(found[place] for place in range(len(ranges)))

    def order(self, count: int, natural: float = 0.6) -> list[int]:
        """The order of loops or of dimensions: as written, or any."""
        places = list(range(count))
        if self.rng.random() >= natural:
            self.rng.shuffle(places)
        return places


def _affines(bound: Extent | Iterable[Extent]) -> tuple[Affine, ...]:
    many = (bound,) if isinstance(bound, int | Affine) else tuple(bound)
    return tuple(Affine.constant(b) if isinstance(b, int) else b for b in many)


def _digits(value: float) -> int:
    return ceil(log10(value))
