"""The loop-nest IR: what the front end makes and everything else reads.

All nodes are frozen; loops, arrays, parameters and statements are referred to by name. Loop names
are unique within a nest (the second loop over `i` is `i_2`), statement names are `S0`, `S1`, … in
textual order.
Long, because it has one kind of node beside the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal as OneOf
from typing import Union

from scheduler.ir.affine import Affine
from scheduler.ir.types import scalar_type

# ---------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Literal:
    """A C literal as the user spelled it (`0.5f`, `1`, `1e-9`), or a folded macro constant."""

    text: str
    ctype: str


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a loop iterator or of a parameter."""

    name: str
    ctype: str


@dataclass(frozen=True, slots=True)
class Read:
    access: Access
    ctype: str


@dataclass(frozen=True, slots=True)
class Unary:
    op: OneOf["-", "+", "!", "~"]
    operand: Expr
    ctype: str


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is any C binary operator without side effects, comparison and logic included."""

    op: str
    left: Expr
    right: Expr
    ctype: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a pure function of the C library (`sqrt`, `expf`, `fmin`, `abs`, …)."""

    function: str
    arguments: tuple[Expr, ...]
    ctype: str


@dataclass(frozen=True, slots=True)
class Cast:
    """An explicit cast, or an implicit conversion the emitted text would otherwise lose."""

    ctype: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expr
    then: Expr
    orelse: Expr
    ctype: str


Expr = Union[Literal, Name, Read, Unary, Binary, Call, Cast, Conditional]  # noqa: UP007
Subscript = Union[Affine, Expr]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Access:
    """One reference to an array; a scalar is an array without subscripts.

    A subscript is an `Affine` of iterators and parameters, or, where it depends on data (`col[p]`)
    or is not affine, the opaque expression itself, which dependences over-approximate.
    """

    array: str
    subscripts: tuple[Subscript, ...] = ()

    @property
    def is_affine(self) -> bool:
        return all(isinstance(s, Affine) for s in self.subscripts)


# ----------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op value`, op one of `=`, `+=`, `-=`, `*=`, `/=`, `%=`, `&=`, `|=`, `^=`, `<<=`, `>>=`."""

    target: Access
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class If:
    """A data-dependent condition inside one statement; its writes are may-writes.

    `flow`: `while`: `then` is repeated as long as the condition holds. `break`: behind `then` the innermost such
    `while` around is left. `exit`, in an inspector only: the nest is left. None of them has an `orelse`.
    """

    condition: Expr
    then: tuple[Action, ...]
    orelse: tuple[Action, ...] = ()
    flow: OneOf["", "while", "break", "exit"] = ""


Action = Union[Assign, If]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands in the user's file: byte offsets [begin, end), line and column from 1."""

    file: str
    begin: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Statement:
    """Executed as a whole for every point of its domain: what schedules move."""

    name: str
    body: tuple[Action, ...]
    span: Span | None = None


# ---------------------------------------------------------------------------------------- loops


@dataclass(frozen=True, slots=True)
class Constraint:
    """`affine >= 0`, `affine == 0`, or affine divisible by `modulus`."""

    affine: Affine
    kind: OneOf[">=", "==", "mod"] = ">="
    modulus: int = 0


# A bound: of a start, the maximum (step > 0) or minimum (step < 0) of the expressions; of a stop, the
# other way round. Or an opaque expression (`rowptr[i + 1]`).
Bound = Union[tuple[Affine, ...], Literal, Name, Read, Unary, Binary, Call, Cast, Conditional]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Loop:
    """`for (name = start; name < stop; name += step)`; with a negative step `name > stop`.

    The stop is always exclusive. |step| > 1 requires a start with a single affine expression.
    """

    name: str
    ctype: str
    start: Bound
    stop: Bound
    step: int
    body: tuple[Node, ...]
    span: Span | None = None

    @property
    def is_opaque(self) -> bool:
        return not (isinstance(self.start, tuple) and isinstance(self.stop, tuple))


@dataclass(frozen=True, slots=True)
class Guard:
    """An affine `if` without else: any of the conjunctions holds (disjunctive normal form)."""

    condition: tuple[tuple[Constraint, ...], ...]
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A data-dependent `if` around several nodes whose condition nothing inside changes."""

    condition: Expr
    body: tuple[Node, ...]


Node = Union[Loop, Guard, Predicate, Statement]  # noqa: UP007

# ----------------------------------------------------------------------------------------- nest


@dataclass(frozen=True, slots=True)
class Parameter:
    """A symbolic integer the nest does not change; `low <= value <= high` where known.

    `base`: the C text of the object that holds it where that is not `name`, and `where` a condition in C under which
    that can be read. `exposed`: stores to arrays of the nest might change that object, which has to be tested.
    """

    name: str
    ctype: str
    value: int | None = None
    low: int | None = None
    high: int | None = None
    base: str | None = None
    where: str = ""
    exposed: bool = False

    @property
    def text(self) -> str:
        """C text of the value."""
        if self.base is None:
            return self.name
        return f"{self.where} ? {self.base} : 0" if self.where else self.base


def not_null(pointer: str) -> str:
    """C text of the value of a parameter that says whether a pointer is not NULL."""
    return f"({pointer} != 0)"


class Storage(Enum):
    """Where an array lives, which decides how it may overlap others and how a driver declares it."""

    GLOBAL = "global"  # file scope or static: distinct from every other named array
    LOCAL = "local"  # an automatic array or scalar of the function, outside the nest
    POINTER = "pointer"  # a pointer (parameter or variable): may overlap other pointers and globals
    RESTRICT = "restrict"  # a restrict-qualified pointer
    PRIVATE = "private"  # declared inside the nest, or a scalar proved dead outside: see `scope`


@dataclass(frozen=True, slots=True)
class Array:
    """`shape` has one extent a dimension; None (unknown) is allowed for the outermost only, and behind pointers.

    `rows`: each of the first so many subscripts of `a[i][j]` picks a pointer out of a table, which leads to the next
    table or to the row: the dimensions behind them have no known extent, and nothing is known of how rows lie.

    `flat`: the user writes one linear subscript (`A[i*n + j]`) of a one-dimensional object, which the
    front end delinearized to `shape`. `scope`: of a PRIVATE array, the loop whose every iteration has
    its own copy (None: the nest as a whole). `base`: the C text of the object where it is not `name`.
    `expanded`: how many leading dimensions `scheduler.normalize.scalars` added to a PRIVATE array (one a
    loop around its scope, extent None where unknown); code generation drops them again where it can.
    `members`: the numbers of one type in an array of structures, whose last dimension is the place in the structure,
    counted in such numbers: what C calls each of them (`.re`, `.x[1]`), "" for what is something else.
    `untyped`: it may share memory with objects of other types (-fno-strict-aliasing).
    """

    name: str
    ctype: str
    shape: tuple[Affine | None, ...] = ()
    storage: Storage = Storage.GLOBAL
    flat: bool = False
    scope: str | None = None
    base: str | None = None
    const: bool = False
    expanded: int = 0
    members: tuple[str, ...] = ()
    rows: int = 0
    untyped: bool = False

    def shares(self, other: Array) -> bool:
        """Both are members of the same structures, of different types."""
        return bool(self.members and other.members) and self.base == other.base and self.base is not None

    def same_memory(self, other: Array) -> bool:
        """By their types: objects of different ones do not share memory in C, character types excepted."""
        if self.untyped or other.untyped:
            return True
        a, b = scalar_type(self.ctype), scalar_type(other.ctype)
        if a is None or b is None or 8 in (a.bits, b.bits) or 1 in (a.bits, b.bits):
            return True
        return (a.kind, a.bits) == (b.kind, b.bits)

    def may_overlap(self, other: Array) -> bool:
        """That they do not is only so where it is tested at run time; a store may change a table of rows, too."""
        places = {self.storage, other.storage}
        if not places <= {Storage.POINTER, Storage.GLOBAL, Storage.LOCAL} or self.shares(other):
            return False
        if any(a.storage is Storage.LOCAL and a.is_scalar for a in (self, other)):
            return False
        return bool(self.rows or other.rows) or (Storage.POINTER in places and self.same_memory(other))

    @property
    def is_scalar(self) -> bool:
        return not self.shape


@dataclass(frozen=True, slots=True)
class LoopNest:
    """One loop tree, or a region: a run of adjacent trees that may be fused.

    `assumptions` are affine conditions on parameters that must hold for the IR to mean what the C text
    means (sizes, delinearization, no wrap-around); generated code tests them and falls back.
    """

    name: str
    parameters: tuple[Parameter, ...]
    arrays: tuple[Array, ...]
    body: tuple[Node, ...]
    assumptions: tuple[Constraint, ...] = ()
    span: Span | None = None
    function: str | None = None

    def array(self, name: str) -> Array:
        """Raises KeyError."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)
