"""What shapes build a random nest with: names, parameters, arrays by role, loops."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import Access, Action, Array, Expr, Loop, Node, Parameter, Read, Statement, Storage
from scheduler.ir.types import is_floating
from tests.generator.nests.expressions import access, assign, number, scaled, shaped


@dataclass(frozen=True, slots=True)
class Size:
    """How large random nests get: loops inside each other, adjacent loop trees, statements in a body."""

    depth: int = 3
    nests: int = 2
    statements: int = 3


Box = tuple[Affine, Affine]  # the least and the largest value of an iterator


@dataclass(slots=True)
class Builder:
    """The nest so far. Subscripts may be written as they come: `tests.generator.nests.fit` moves them into bounds.

    Arrays have roles. *inputs* are never written and hold values of magnitude <= 1, *states* are written; what is
    stored in a state must not exceed its operands but for sums over inputs. Then nothing overflows.
    """

    rng: random.Random
    size: Size
    ctype: str
    parameters: list[Parameter] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    boxes: dict[str, Box] = field(default_factory=dict)  # of loops with opaque bounds
    used: set[str] = field(default_factory=set)
    loop_type: str = "int"
    statement_count: int = 0

    # -------------------------------------------------------------------------------------- names

    def fresh(self, *wishes: str) -> str:
        """The first wish that is free, else one with a number."""
        name = next((wish for wish in wishes if wish not in self.used), None) or free_name(wishes[0], self.used)
        self.used.add(name)
        return name

    def iterators(self, count: int) -> list[str]:
        return [self.fresh("ijkl"[level % 4]) for level in range(count)]

    def parameter(self) -> Affine:
        """A parameter's value: one in use or a new one."""
        if self.parameters and (len(self.parameters) == 3 or self.rng.random() < 0.6):
            return Affine.of(self.rng.choice(self.parameters).name)
        name = self.fresh("n", "m", "q")
        self.parameters.append(Parameter(name, self.loop_type, low=1))
        return Affine.of(name)

    def extent(self) -> Affine:
        """A number of iterations: mostly a parameter, now and then a small constant."""
        if self.rng.random() < 0.15:
            return Affine.constant(self.rng.randint(2, 5))
        return self.parameter()

    # ------------------------------------------------------------------------------------- arrays

    def declare(self, name: str, rank: int, ctype: str | None = None, storage: Storage | None = None) -> str:
        """An array whose extents `fit` finds from its accesses."""
        storage = storage or self.rng.choice((Storage.RESTRICT, Storage.RESTRICT, Storage.POINTER, Storage.LOCAL))
        if rank == 0 and storage in (Storage.POINTER, Storage.RESTRICT):
            storage = Storage.LOCAL
        flat = rank > 1 and storage in (Storage.POINTER, Storage.RESTRICT) and self.rng.random() < 0.3
        self.arrays[name] = Array(name, ctype or self.ctype, (None,) * rank, storage, flat)
        return name

    def input(self, rank: int) -> str:
        """An array the nest only reads."""
        known = [a for a in self.inputs if len(self.arrays[a].shape) == rank]
        if known and self.rng.random() < 0.4:
            return self.rng.choice(known)
        name = self.declare(self.fresh("X", "Y", "Z", "W", "U", "V"), rank)
        if self.rng.random() < 0.2:
            self.arrays[name] = replace(self.arrays[name], const=True)
        self.inputs.append(name)
        return name

    def state(self, rank: int, fresh: bool = False) -> str:
        """An array the nest writes; without `fresh` it may be one of an earlier shape."""
        known = [a for a in self.states if len(self.arrays[a].shape) == rank]
        if known and not fresh and self.rng.random() < 0.5:
            return self.rng.choice(known)
        name = self.declare(self.fresh("A", "B", "C", "D", "E", "F"), rank)
        self.states.append(name)
        return name

    def scalar(self, ctype: str | None = None) -> str:
        """A scalar the nest writes."""
        name = self.declare(self.fresh("s", "acc"), 0, ctype, self.rng.choice((Storage.LOCAL, Storage.GLOBAL)))
        self.states.append(name)
        return name

    def private(self, rank: int, scope: str | None, ctype: str | None = None) -> str:
        name = self.declare(self.fresh("t", "buf", "tmp"), rank, ctype, Storage.PRIVATE)
        self.arrays[name] = replace(self.arrays[name], scope=scope)
        return name

    def indices(self, name: str) -> str:
        """An array of subscripts or bounds."""
        return self.declare(self.fresh(name), 1, self.rng.choice(("int", "int", "long")))

    def resize(self, name: str, place: int, extent: Affine) -> None:
        """Sets one extent, for a dimension that is not subscripted by an affine expression."""
        shape = list(self.arrays[name].shape)
        shape[place] = extent
        self.arrays[name] = replace(self.arrays[name], shape=tuple(shape))

    def read(self, target: Access | str, *subscripts: Affine | Expr | str) -> Read:
        """Of an access, or of an array's element."""
        place = access(target, *subscripts) if isinstance(target, str) else target
        return Read(place, self.arrays[place.array].ctype)

    def given(self, *subscripts: Affine | str) -> Read:
        """An element of an array that the nest only reads."""
        return self.read(self.input(len(subscripts)), *subscripts)

    # ------------------------------------------------------------------- expressions of the nest's type

    @property
    def floating(self) -> bool:
        return is_floating(self.ctype)

    def number(self, text: str, whole: int) -> Expr:
        return number(text, whole, self.ctype)

    def scaled(self, terms: Sequence[Expr]) -> Expr:
        return scaled(self.rng, terms, self.ctype)

    def shaped(self, value: Expr) -> Expr:
        return shaped(self.rng, value, self.ctype)

    # -------------------------------------------------------------------------------------- nodes

    def statement(self, *actions: Action) -> Statement:
        self.statement_count += 1  # `fit` gives the final names
        return Statement(f"T{self.statement_count}", actions)

    def store(self, target: Access, value: Expr, op: str = "=") -> Statement:
        return self.statement(assign(target, value, op))

    def loop(self, name: str, start: Affine | int, stop: Affine | int, *body: Node, step: int = 1) -> Loop:
        first, last = (b if isinstance(b, Affine) else Affine.constant(b) for b in (start, stop))
        return Loop(name, self.loop_type, (first,), (last,), step, body)

    def counted(self, name: str, extent: Affine, *body: Node, least: int = 0) -> Loop:
        """A loop over `least` … extent - 1, forwards or backwards, with step 1 or now and then 2."""
        roll = self.rng.random()
        if roll < 0.12:
            return self.loop(name, extent - 1, least - 1, *body, step=-1)
        if roll < 0.16:
            return self.loop(name, extent - 1, least - 1, *body, step=-2)
        return self.loop(name, least, extent, *body, step=2 if roll < 0.26 else 1)

    def nested(self, names: list[str], extents: list[Affine], *body: Node, plain: bool = False) -> Loop:
        """A perfect nest of counted loops, the first outermost."""
        nodes = body
        for name, extent in reversed(list(zip(names, extents, strict=True))):
            nodes = (self.loop(name, 0, extent, *nodes) if plain else self.counted(name, extent, *nodes),)
        loop = nodes[0]
        assert isinstance(loop, Loop)
        return loop
