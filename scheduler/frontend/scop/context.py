"""The state of one extraction: names, arrays, parameters, enclosing loops.

Long, because it is the state that every part of an extraction shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
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
    Leave,
    Unit,
    Variable,
    statements,
    whole_statements,
)
from scheduler.frontend.c_ast.folding import known_value
from scheduler.frontend.c_ast.liveness import Frame
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import Path
from scheduler.frontend.clang.lexical import Lines
from scheduler.frontend.passes.exits import Exits
from scheduler.ir.names import ascii_name, free_name
from scheduler.ir.nest import Action, Expr, Literal, LoopNest, Parameter, Span, Statement, Storage


@dataclass(slots=True)
class Work:
    """Counts steps, so that no file takes for ever: for one region, and for the file."""

    region_limit: int = 40_000
    file_limit: int = 250_000
    region: int = 0
    file: int = 0
    changes: dict[int, tuple[CStmt, dict[Path, int]]] = field(default_factory=dict)  # of `changed_paths`
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


@dataclass(frozen=True, slots=True)
class Region:
    """What the statements of a region do, before any of them is read."""

    stmts: tuple[CStmt, ...] = ()
    writes: Mapping[Variable, int] = field(default_factory=dict)  # scalars assigned in the region: places
    changes: Mapping[Variable, int] = field(default_factory=dict)  # offset of the first assignment in the region
    uses: Mapping[Variable, int] = field(default_factory=dict)  # occurrences in the region
    stored: frozenset[Variable] = frozenset()  # variables through which the region stores
    owned: Mapping[Variable, ForStmt] = field(default_factory=dict)  # by pragma: each iteration of the loop has its own
    only_openmp: bool = False  # without OpenMP one of these would have another value behind the loop

    @property
    def written(self) -> Set[Variable]:
        return self.writes.keys()


@dataclass(slots=True)
class Scope:
    """The loops around what is read, and what names mean there."""

    frames: list[Frame]
    loops: list[Active] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    outside: dict[str, Variable] = field(default_factory=dict)  # names that mean a variable declared outside
    named: dict[str, set[Variable]] = field(default_factory=dict)
    locals_: dict[Variable, str] = field(default_factory=dict)
    privates: dict[tuple[Variable, ForStmt | None], str] = field(default_factory=dict)
    windows: dict[Variable, ForStmt | None] = field(default_factory=dict)  # pointers from outside, as in `privates`
    pending_scopes: dict[str, ForStmt | None] = field(default_factory=dict)
    loop_names: dict[int, str] = field(default_factory=dict)  # identity of a ForStmt -> its name in the nest
    inside: set[Variable] = field(default_factory=set)


@dataclass(slots=True)
class Assumed:
    """What integers are, or are taken to be, and under which conditions."""

    facts: Facts = field(default_factory=Facts)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    maybe_parameters: dict[str, Variable] = field(default_factory=dict)
    given: Mapping[str, int] = field(default_factory=dict)  # what integers are taken to be, by what C calls them
    numbers: dict[str, int] = field(default_factory=dict)  # parameters of which that is so
    conditions: dict[Variable, str] = field(default_factory=dict)  # under which those can be read, in C
    called: set[str] = field(default_factory=set)  # functions of the C library
    trusting: bool = False  # signed arithmetic was taken not to wrap around
    wanted: set[str] = field(default_factory=set)  # parameters that keep something from being affine
    member_variables: dict[Root, Variable] = field(default_factory=dict)  # that stand for integers in memory
    tests: dict[Root, Variable] = field(default_factory=dict)  # that stand for a pointer being no NULL
    derived: dict[Variable, Poly | None] = field(default_factory=dict)  # set once in front of the nest, and affine


@dataclass(slots=True)
class Accesses:
    """The objects that were reached so far, and how."""

    arrays: dict[str, ArrayInfo] = field(default_factory=dict)
    by_root: dict[tuple[Root, str], str] = field(default_factory=dict)  # the type where it is of structures
    pending: list[Pending] = field(default_factory=list)
    substitutions: dict[Variable, Substitution] = field(default_factory=dict)
    derived_pointers: dict[Variable, Pointer | None] = field(default_factory=dict)
    indexed: set[Root] = field(default_factory=set)  # pointers to structures that are used as arrays
    tables: set[Root] = field(default_factory=set)  # of pointers, of which the region picks different ones
    placed: dict[tuple[Root, tuple[str, ...]], tuple[int, CType, CType]] = field(default_factory=dict)
    member_types: dict[Root, CType] = field(default_factory=dict)
    dereferenceable: dict[Root, str] = field(
        default_factory=dict
    )  # pointers that are followed anyway, where C text holds


@dataclass(slots=True)
class Reading:
    """Where in a statement the reading is."""

    may_leave: bool = False  # a `break` leaves a loop inside the statement being read
    may_hoist: bool = False  # statements can be put before the one being read
    hoisted: list[CStmt] = field(default_factory=list)
    statement_count: int = 0
    expansions: dict[tuple[int, bool], tuple[CExpr, Expansion]] = field(default_factory=dict)
    leaves: list[Leave] = field(default_factory=list)  # that were met
    apart: list[tuple[int, int]] = field(default_factory=list)  # byte ranges of those that hold nothing else
    inspected: bool = False  # one of them depends on data: nothing behind it happens for certain


@dataclass(slots=True)
class Context:
    """Everything known while one region is read."""

    unit: Unit
    function: CFunction
    aliases: Aliases
    work: Work
    lines: Lines
    exits: Exits
    begin: int  # offset of the region
    scope: Scope
    assumed: Assumed
    accesses: Accesses = field(default_factory=Accesses)
    reading: Reading = field(default_factory=Reading)
    region: Region = field(default_factory=Region)
    domain: Domain = field(default_factory=Domain)
    inspector: LoopNest | None = None  # of the nest, when it is read

    # ---------------------------------------------------------------------------------- statements

    def span(self, begin: int, end: int) -> Span:
        line, column = self.lines.position(begin)
        return Span(self.unit.path, begin, end, line, column)

    def statement(self, body: tuple[Action, ...], begin: int, end: int) -> Statement:
        self.reading.statement_count += 1
        return Statement(f"S{self.reading.statement_count - 1}", body, self.span(begin, end))

    @contextmanager
    def hoisting(self) -> Iterator[list[CStmt]]:
        """Collects the statements that calls inlined inside need before."""
        saved, self.reading.hoisted = self.reading.hoisted, []
        may, self.reading.may_hoist = self.reading.may_hoist, True
        try:
            yield self.reading.hoisted
        finally:
            self.reading.hoisted, self.reading.may_hoist = saved, may

    def hoist(self, before: tuple[CStmt, ...]) -> None:
        """Run statements of an inlined call before the statement being read; their variables are private."""
        if any(stmt is before[0] for stmt in self.reading.hoisted):
            return
        self.reading.hoisted.extend(before)
        for stmt in before:
            for inner in statements(stmt):
                if isinstance(inner, DeclStmt):
                    for variable in inner.variables:
                        self.private(variable, variable.ctype.name)

    def private(self, variable: Variable, element: str, shape: tuple[CExpr | int | None, ...] = ()) -> str:
        """Register a variable declared inside the nest."""
        if variable in self.scope.locals_:
            return self.scope.locals_[variable]
        name = self.scope.locals_[variable] = self.fresh(variable.name)
        scope = self.scope.loops[-1].name if self.scope.loops else None
        self.accesses.arrays[name] = ArrayInfo(
            name, element, variable.ctype, Storage.PRIVATE, variable, None, scope, False, shape
        )
        return name

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """While operands are read that C evaluates only sometimes: nothing may be computed ahead of them."""
        saved, self.reading.may_hoist = self.reading.may_hoist, False
        try:
            with self.within(self.domain.inexact()):
                yield
        finally:
            self.reading.may_hoist = saved

    # -------------------------------------------------------------------------------------- names

    def fresh(self, name: str) -> str:
        """`name`, or `name_2`, ... where it is taken."""
        found = free_name(ascii_name(re.sub(r"\W", "_", name)) or "v", self.scope.taken)
        self.scope.taken.add(found)
        return found

    def is_parameter_name(self, name: str) -> bool:
        return name in self.assumed.maybe_parameters or name in self.assumed.parameters

    # ----------------------------------------------------------------------------------- variables

    def visible(self, variable: Variable) -> bool:
        """No other variable of the function has its name, so that it can be named anywhere."""
        if not self.scope.named:
            for other in (*self.function.parameters, *self._declared()):
                whole = other.whole
                self.scope.named.setdefault(whole.name, set()).add(whole)
        whole = variable.whole
        return not self.scope.named.get(whole.name, set()) - {whole}

    def _declared(self) -> Iterator[Variable]:
        for stmt in whole_statements(self.function.body):
            if isinstance(stmt, DeclStmt):
                yield from stmt.variables

    def active(self, variable: Variable) -> Active | None:
        return next((a for a in reversed(self.scope.loops) if a.variable is variable), None)

    def private_name(self, variable: Variable) -> str | None:
        """The private array that stands for an outside scalar here, if it was privatized."""
        for active in reversed(self.scope.loops):
            name = self.scope.privates.get((variable, active.stmt))
            if name is not None:
                return name
        return self.scope.privates.get((variable, None))

    def parameter(self, variable: Variable, used: bool = True) -> str:
        """Name of an integer scalar the nest does not write; `used` as one for good."""
        name = variable.name
        if name not in self.assumed.maybe_parameters:
            self.assumed.maybe_parameters[name] = variable
            low, high = value_range(variable.ctype.name)
            narrow = variable.ctype.name not in ("int", "long", "long long")
            narrow = narrow or (self.unit.dialect.wraps and variable.ctype.name == "int")
            self.assumed.facts.ranges[name] = (low if narrow else None, high if narrow and high < 2**33 else None)
            if variable.text in self.assumed.given:
                number = self.assumed.numbers[name] = self.assumed.given[variable.text]
                self.assumed.facts.ranges[name] = (number, number)
        if used and name not in self.assumed.parameters:
            value = known_value(variable)
            low_known, high_known = self.assumed.facts.ranges[name]
            if name in self.assumed.numbers:
                low_known = high_known = None  # it is only assumed to be that
            if value is not None:
                self.assumed.facts.ranges[name] = (value, value)
            base = variable.base or None
            where = self.assumed.conditions.get(variable, "")
            self.assumed.parameters[name] = Parameter(
                name, variable.ctype.name, value, low_known, high_known, base, where
            )
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
        self.scope.frames.append(frame)
        try:
            yield
        finally:
            self.scope.frames.pop()
