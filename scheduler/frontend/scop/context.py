"""The state of one extraction: names, arrays, parameters, enclosing loops.

Long, because it is the state that every part of an extraction shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from scheduler.frontend.analysis.aliases import Aliases
from scheduler.frontend.analysis.magnitude import Magnitudes
from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.analysis.prove import Domain, Facts
from scheduler.frontend.c_ast.arith import value_range
from scheduler.frontend.c_ast.csyntax import (
    CExpr,
    CFunction,
    CStmt,
    CType,
    DeclStmt,
    ForStmt,
    Unit,
    Variable,
    statements,
    whole_statements,
)
from scheduler.frontend.c_ast.folding import known_value
from scheduler.frontend.c_ast.liveness import Frame
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.clang.lexical import Lines
from scheduler.ir.names import ascii_name, free_name
from scheduler.ir.nest import Action, Expr, Literal, Parameter, Span, Statement, Storage


@dataclass(slots=True)
class Work:
    """Counts steps, so that no file takes for ever: for one region, and for the file."""

    region_limit: int = 40_000
    file_limit: int = 250_000
    region: int = 0
    file: int = 0
    changes: dict[int, dict[tuple[Variable, tuple[str, ...]], int]] = field(default_factory=dict)  # of `changed_paths`
    magnitudes: Magnitudes | None = None  # of the variables of the file, where somebody asked

    def spend(self, steps: int, at: int) -> None:
        self.region += steps
        self.file += steps
        if self.region > self.region_limit or self.file > self.file_limit:
            what = "the loop nest" if self.file <= self.file_limit else "the file"
            raise Reject(at, f"{what} is too large to analyse", "split it into smaller functions or files")


@dataclass(frozen=True, slots=True)
class Root:
    """The object an access goes through: a variable, or a path from one (`g->data`, `g->level[2].u`).

    A step of the path is a member and whether an arrow leads to it, or a subscript that the nest does not change.
    """

    variable: Variable
    path: tuple[tuple[str, bool], ...] = ()

    @property
    def text(self) -> str:
        steps = (name if name.startswith("[") else ("->" if arrow else ".") + name for name, arrow in self.path)
        return self.variable.text + "".join(steps)


@dataclass(slots=True)
class Dimension:
    """One subscript of a pending access: a polynomial where there is one, and the expression itself."""

    poly: Poly | None
    expr: Expr


ZERO = Dimension(Poly(), Literal("0", "int"))


@dataclass(frozen=True, slots=True)
class Inside:
    """A place in a structure that is an element of an array.

    `offset` bytes from the beginning of the structure, and for each subscript on the way the bytes of a step;
    `steps`: the names of the members on the way.
    """

    record: CType
    offset: int
    parts: tuple[tuple[int, Dimension], ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The object an lvalue designates: the element `indices` of `root`, or what is inside of that."""

    root: Root
    indices: tuple[Dimension, ...]
    ctype: CType
    inside: Inside | None = None


@dataclass(slots=True)
class Pending:
    """An access whose subscripts are decided when all accesses of the nest are known.

    `moved`: through a pointer into the array, which may have left the row it was made of.
    """

    array: str
    dimensions: tuple[Dimension, ...]
    domain: Domain
    is_write: bool = False
    moved: bool = False


@dataclass(slots=True)
class ArrayInfo:
    name: str
    ctype: str
    declared: CType
    storage: Storage
    variable: Variable | None
    base: str | None = None
    scope: str | None = None
    const: bool = False
    shape: tuple[CExpr | int | None, ...] = ()
    path: bool = False  # it is no variable, but what one leads to
    members: tuple[str, ...] = ()
    rows: int = 0  # so many subscripts pick pointers out of tables


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer value: the element `indices` of `root`; the last index is what arithmetic moves.

    Or one to an element of an array `inside` of that, in which arithmetic moves.
    """

    root: Root
    indices: tuple[Dimension, ...]
    target: CType
    inside: Inside | None = None


@dataclass(slots=True)
class Substitution:
    """A scalar replaced by what it was set to: an integer polynomial and/or an expression.

    `exact`: the polynomial is the value, not just a number that is congruent to it (`integers`).
    """

    poly: Poly | None
    expr: Expr | None
    pointer: Pointer | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Expansion:
    """An inlined call: statements that run before, and its value."""

    before: tuple[CStmt, ...]
    result: CExpr


@dataclass(slots=True)
class Active:
    """A loop being read."""

    variable: Variable
    name: str
    ctype: str
    stmt: ForStmt


@dataclass(slots=True)
class Context:
    """Everything known while one region is read."""

    unit: Unit
    function: CFunction
    frames: list[Frame]
    aliases: Aliases
    work: Work
    facts: Facts = field(default_factory=Facts)
    domain: Domain = field(default_factory=Domain)
    loops: list[Active] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    maybe_parameters: dict[str, Variable] = field(default_factory=dict)
    arrays: dict[str, ArrayInfo] = field(default_factory=dict)
    by_root: dict[tuple[Root, str], str] = field(default_factory=dict)  # the type where it is of structures
    pending: list[Pending] = field(default_factory=list)
    substitutions: dict[Variable, Substitution] = field(default_factory=dict)
    privates: dict[tuple[Variable, ForStmt | None], str] = field(default_factory=dict)
    windows: dict[Variable, ForStmt | None] = field(default_factory=dict)  # pointers from outside, as in `privates`
    locals_: dict[Variable, str] = field(default_factory=dict)
    written: set[Variable] = field(default_factory=set)
    inside: set[Variable] = field(default_factory=set)
    statement_count: int = 0
    expansions: dict[tuple[int, bool], tuple[CExpr, Expansion]] = field(default_factory=dict)
    may_leave: bool = False  # a `break` leaves a loop inside the statement being read
    may_hoist: bool = False  # statements can be put before the one being read
    hoisted: list[CStmt] = field(default_factory=list)
    member_types: dict[Root, CType] = field(default_factory=dict)
    region: tuple[CStmt, ...] = ()
    indexed: set[Root] = field(default_factory=set)  # pointers to structures that are used as arrays
    tables: set[Root] = field(default_factory=set)  # of pointers, of which the region picks different ones
    followed: dict[Root, str] = field(default_factory=dict)  # pointers that are followed anyway, where C text holds
    member_variables: dict[Root, Variable] = field(default_factory=dict)  # that stand for integers in memory
    tests: dict[Root, Variable] = field(default_factory=dict)  # that stand for a pointer being no NULL
    conditions: dict[Variable, str] = field(default_factory=dict)  # under which those can be read, in C
    placed: dict[tuple[Root, tuple[str, ...]], tuple[int, CType, CType]] = field(default_factory=dict)
    outside: dict[str, Variable] = field(default_factory=dict)  # names that mean a variable declared outside
    changes: dict[Variable, int] = field(default_factory=dict)  # offset of the first assignment in the region
    named: dict[str, set[Variable]] = field(default_factory=dict)
    derived_pointers: dict[Variable, Pointer | None] = field(default_factory=dict)
    derived: dict[Variable, Poly | None] = field(default_factory=dict)  # set once in front of the nest, and affine
    writes: dict[Variable, int] = field(default_factory=dict)  # scalars assigned in the region: places
    uses: dict[Variable, int] = field(default_factory=dict)  # occurrences in the region
    stored: set[Variable] = field(default_factory=set)  # variables through which the region stores
    lines: Lines | None = None
    begin: int = 0  # offset of the region
    pending_scopes: dict[str, ForStmt | None] = field(default_factory=dict)
    owned: dict[Variable, ForStmt] = field(default_factory=dict)  # by pragma: each iteration of the loop has its own
    only_openmp: bool = False  # without OpenMP one of these would have another value behind the loop
    loop_names: dict[int, str] = field(default_factory=dict)  # identity of a ForStmt -> its name in the nest
    given: Mapping[str, int] = field(default_factory=dict)  # what integers are taken to be, by what C calls them
    numbers: dict[str, int] = field(default_factory=dict)  # parameters of which that is so
    called: set[str] = field(default_factory=set)  # functions of the C library
    trusting: bool = False  # signed arithmetic was taken not to wrap around
    wanted: set[str] = field(default_factory=set)  # parameters that keep something from being affine

    # ---------------------------------------------------------------------------------- statements

    def span(self, begin: int, end: int) -> Span:
        if self.lines is None:
            self.lines = Lines(self.unit.content)
        line, column = self.lines.position(begin)
        return Span(self.unit.path, begin, end, line, column)

    def statement(self, body: tuple[Action, ...], begin: int, end: int) -> Statement:
        self.statement_count += 1
        return Statement(f"S{self.statement_count - 1}", body, self.span(begin, end))

    @contextmanager
    def hoisting(self) -> Iterator[list[CStmt]]:
        """Collects the statements that calls inlined inside need before."""
        saved, self.hoisted = self.hoisted, []
        may, self.may_hoist = self.may_hoist, True
        try:
            yield self.hoisted
        finally:
            self.hoisted, self.may_hoist = saved, may

    def hoist(self, before: tuple[CStmt, ...]) -> None:
        """Run statements of an inlined call before the statement being read; their variables are private."""
        if any(stmt is before[0] for stmt in self.hoisted):
            return
        self.hoisted.extend(before)
        for stmt in before:
            for inner in statements(stmt):
                if isinstance(inner, DeclStmt):
                    for variable in inner.variables:
                        self.private(variable, variable.ctype.name)

    def private(self, variable: Variable, element: str, shape: tuple[CExpr | int | None, ...] = ()) -> str:
        """Register a variable declared inside the nest."""
        if variable in self.locals_:
            return self.locals_[variable]
        name = self.locals_[variable] = self.fresh(variable.name)
        scope = self.loops[-1].name if self.loops else None
        self.arrays[name] = ArrayInfo(
            name, element, variable.ctype, Storage.PRIVATE, variable, None, scope, False, shape
        )
        return name

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """While operands are read that C evaluates only sometimes: nothing may be computed ahead of them."""
        saved, self.may_hoist = self.may_hoist, False
        try:
            with self.within(self.domain.inexact()):
                yield
        finally:
            self.may_hoist = saved

    # -------------------------------------------------------------------------------------- names

    def fresh(self, name: str) -> str:
        """`name`, or `name_2`, ... where it is taken."""
        found = free_name(ascii_name(re.sub(r"\W", "_", name)) or "v", self.taken)
        self.taken.add(found)
        return found

    def is_parameter_name(self, name: str) -> bool:
        return name in self.maybe_parameters or name in self.parameters

    # ----------------------------------------------------------------------------------- variables

    def visible(self, variable: Variable) -> bool:
        """No other variable of the function has its name, so that it can be named anywhere."""
        if not self.named:
            for other in (*self.function.parameters, *self._declared()):
                whole = other.whole
                self.named.setdefault(whole.name, set()).add(whole)
        whole = variable.whole
        return not self.named.get(whole.name, set()) - {whole}

    def _declared(self) -> Iterator[Variable]:
        for stmt in whole_statements(self.function.body):
            if isinstance(stmt, DeclStmt):
                yield from stmt.variables

    def active(self, variable: Variable) -> Active | None:
        return next((a for a in reversed(self.loops) if a.variable is variable), None)

    def private_name(self, variable: Variable) -> str | None:
        """The private array that stands for an outside scalar here, if it was privatized."""
        for active in reversed(self.loops):
            name = self.privates.get((variable, active.stmt))
            if name is not None:
                return name
        return self.privates.get((variable, None))

    def parameter(self, variable: Variable, used: bool = True) -> str:
        """Name of an integer scalar the nest does not write; `used` as one for good."""
        name = variable.name
        if name not in self.maybe_parameters:
            self.maybe_parameters[name] = variable
            low, high = value_range(variable.ctype.name)
            narrow = variable.ctype.name not in ("int", "long", "long long")
            narrow = narrow or (self.unit.dialect.wraps and variable.ctype.name == "int")
            self.facts.ranges[name] = (low if narrow else None, high if narrow and high < 2**33 else None)
            if variable.text in self.given:
                number = self.numbers[name] = self.given[variable.text]
                self.facts.ranges[name] = (number, number)
        if used and name not in self.parameters:
            value = known_value(variable)
            low_known, high_known = self.facts.ranges[name]
            if name in self.numbers:
                low_known = high_known = None  # it is only assumed to be that
            if value is not None:
                self.facts.ranges[name] = (value, value)
            base = variable.base or None
            where = self.conditions.get(variable, "")
            self.parameters[name] = Parameter(name, variable.ctype.name, value, low_known, high_known, base, where)
        return name

    @contextmanager
    def within(self, domain: Domain) -> Iterator[None]:
        saved, self.domain = self.domain, domain
        try:
            yield
        finally:
            self.domain = saved

    @contextmanager
    def frame(self, frame: Frame) -> Iterator[None]:
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
