"""A small C syntax tree: what `lower` makes of libclang's cursors, with implicit conversions explicit.

Offsets are byte offsets into the file being read; nodes from headers carry -1.
Long, because it has one kind of node beside the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard, Union
from typing import Literal as OneOf

from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.clang.dialect import Dialect
from scheduler.frontend.clang.source_text import SourceText
from scheduler.ir.types import FUNCTIONS

# ------------------------------------------------------------------------------------------ types


@dataclass(frozen=True, slots=True)
class CType:
    """`name` is the canonical spelling without qualifiers. `extent`: elements of an array type.

    `extent` of an array is an int, an expression (variable length) or None (unknown).
    """

    kind: OneOf["int", "float", "pointer", "array", "record", "void", "function", "other"]
    name: str
    element: CType | None = None
    extent: int | CExpr | None = None
    is_const: bool = False
    is_volatile: bool = False
    is_restrict: bool = False

    @property
    def is_scalar(self) -> bool:
        return self.kind in ("int", "float")


INT = CType("int", "int")


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a structure, `offset` bytes from its beginning."""

    name: str
    ctype: CType
    offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """A structure; `problem` is why its members cannot be told apart by their offsets (a union, bit-fields, ...)."""

    size: int
    fields: tuple[Field, ...]
    problem: str = ""


@dataclass(eq=False, slots=True)
class Variable:
    """One declared object; compared by identity.

    A member of a structure variable can be a variable of its own (`sroa`): `owner` is the structure, and `base`
    what C calls the member.
    """

    name: str
    ctype: CType
    storage: OneOf["global", "static", "local", "param", "other"]
    offset: int
    internal: bool = False  # file-scope `static`
    init: CExpr | None = None
    init_text: str = ""  # of the initializer, where it stands in the file
    address_taken: bool = False
    writes: int = 0  # assignments in all function bodies read so far, its declaration not counted
    oddity: str = ""  # what makes it something else than a variable of C; it is then never touched
    base: str = ""
    owner: Variable | None = None

    @property
    def text(self) -> str:
        """What C calls it."""
        return self.base or self.name

    @property
    def whole(self) -> Variable:
        """The variable that is declared."""
        return self.owner or self


# ------------------------------------------------------------------------------------ expressions


@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """`value` is None for a string."""

    text: str
    value: int | float | None
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    var: Variable
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    base: CExpr
    index: CExpr
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    base: CExpr
    name: str
    arrow: bool
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Un:
    """`-`, `+`, `!`, `~`, `*` (dereference) or `&` (address)."""

    op: str
    operand: CExpr
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """`++` or `--`; as the value of an expression, `prefix` says which."""

    op: OneOf["++", "--"]
    operand: CExpr
    prefix: bool
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Bin:
    """Any binary operator but assignments; `,` included."""

    op: str
    left: CExpr
    right: CExpr
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """`left op right`, op `=` or a compound assignment."""

    op: str
    left: CExpr
    right: CExpr
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class CCall:
    """`name` may be that of a member of what a function returns; it ends with a point where that only looks like a
    function of the C library. `depth`: how many inlined functions it comes from; `within`: those of them whose text
    is not where it is."""

    name: str
    arguments: tuple[CExpr, ...]
    ctype: CType
    at: int
    depth: int = 0
    within: tuple[str, ...] = ()

    @property
    def is_pure(self) -> bool:
        """Whether it is a function of the C library, or one of the compiler's, that only computes a number."""
        return self.library in FUNCTIONS or (self.name.startswith("__builtin_") and self.library in BUILTINS)

    @property
    def library(self) -> str:
        """What the C library calls it."""
        return self.name.removeprefix("__builtin_")

    @property
    def function(self) -> str:
        """What C calls it."""
        return self.name.partition(".")[0]

    @property
    def text(self) -> str:
        """The call in words, by all functions that lead to it."""
        last = "uses assert" if self.name in ASSERTIONS else f"calls '{self.function}'"
        return ", which ".join((*(f"calls '{name}'" for name in self.within), last))


@dataclass(frozen=True, slots=True, eq=False)
class Conv:
    """A conversion, written (`explicit`) or implied; decays and loads are dropped before."""

    operand: CExpr
    explicit: bool
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Cond:
    condition: CExpr
    then: CExpr
    orelse: CExpr
    ctype: CType
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A braced initializer."""

    items: tuple[CExpr, ...]
    ctype: CType
    at: int


# What <math.h> writes for INFINITY, HUGE_VAL, NAN, isnan, isinf and isfinite.
BUILTINS = frozenset({"inf", "inff", "huge_val", "huge_valf", "nan", "nanf", "isnan", "isinf_sign", "isfinite"})
ASSERTIONS = frozenset({"__assert_fail", "__assert", "__assert_perror_fail"})  # what assert calls where it fails
TOO_DEEP = "an expression nested too deeply"
RECORD_VALUE = "an initializer of a structure"
RECORD_COPY = "an assignment of structures"


@dataclass(frozen=True, slots=True, eq=False)
class Unmodelled:
    """An expression we do not model: `what` says which, `parts` are its operands."""

    what: str
    parts: tuple[CExpr, ...]
    ctype: CType
    at: int


CExpr = Union[Lit, Ref, Index, Member, Un, Step, Bin, Set, CCall, Conv, Cond, Items, Unmodelled]  # noqa: UP007

# ------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True, eq=False)
class ExprStmt:
    expr: CExpr
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class DeclStmt:
    variables: tuple[Variable, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Compound:
    """`kept`: the loop of the file that the statements stand for; none of them is anything without the others."""

    body: tuple[CStmt, ...]
    begin: int
    end: int
    kept: ForStmt | None = None


@dataclass(frozen=True, slots=True, eq=False)
class IfStmt:
    condition: CExpr
    then: CStmt
    orelse: CStmt | None
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class ForStmt:
    """`end` is behind the `;` of an unbraced body. `foreign`: which part of its header is which is not known.

    `bottom`: the condition is tested behind each iteration only. `macro`: it begins in what a macro expands to.
    `positive`: an integer that must be at least 1, or else the loop is another one; `left_at`: then, what the iterator
    as it was written is behind the loop. `call`: it stands for a call (`passes.memory_calls`).
    """

    init: CStmt | None
    condition: CExpr | None
    increment: CExpr | None
    body: CStmt
    begin: int
    end: int
    foreign: bool = False
    bottom: bool = False
    macro: bool = False
    positive: CExpr | None = None
    left_at: CExpr | None = None
    call: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReturnStmt:
    value: CExpr | None
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class JumpStmt:
    """`break`, `continue` or `goto`."""

    what: OneOf["break", "continue", "goto"]
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class OtherStmt:
    """`while`, `do`, `for` (see `passes.opaque`), `switch`, `case`, `label`, `asm`, `null`, or something unknown.

    Its expressions and statements are kept, for liveness and for the loops inside. Of a `case` the expressions are its
    values (none: `default`), of a loop its condition (none: it always holds). `foreign`: its text comes from a macro.
    """

    what: str
    exprs: tuple[CExpr, ...]
    body: tuple[CStmt, ...]
    begin: int
    end: int
    foreign: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """In place of a `branch` that ends the program or leaves the loops of a region (`passes.exits`); only liveness
    still looks at that. `reason` and `advice`: of a refusal. `error`: it looks like what is done about an error.
    """

    branch: CStmt
    reason: str
    advice: str
    error: bool
    begin: int
    end: int


LOOPS = ("while", "do", "for")  # of `OtherStmt.what`

CStmt = Union[ExprStmt, DeclStmt, Compound, IfStmt, ForStmt, ReturnStmt, JumpStmt, OtherStmt, Leave]  # noqa: UP007


@dataclass(eq=False, slots=True)
class CFunction:
    """`oddity`: what makes its body something else than what a call runs, as `which ...`. `text`: of one that another
    file holds, where it can be read and has no preprocessor lines."""

    name: str
    parameters: tuple[Variable, ...]
    result: CType
    body: Compound
    begin: int
    end: int
    is_static: bool
    in_file: bool
    parameter_texts: tuple[tuple[str, str], ...] = ()
    has_goto: bool = False
    part_of: str = ""  # the function that returns a structure of which this one returns a member
    oddity: str = ""
    text: bytes = b""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name or an operator at an offset stood for. `declared`: where, -1 at file scope."""

    at: int
    text: str
    meaning: int | CType
    declared: int = -1


@dataclass(slots=True)
class FromMacros:
    """`torn`: ends of statements in the middle of what a macro expands to. `exact`: identities of loops from macros
    that are all that is in their bytes.
    """

    torn: set[int] = field(default_factory=set)
    exact: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Meanings:
    """`constants`: enumerators and sizes that were folded; `type_names`: typedef names used."""

    constants: list[Meaning] = field(default_factory=list)
    type_names: list[Meaning] = field(default_factory=list)


@dataclass(slots=True)
class Unit:
    """All function bodies of a file, and those of helpers from its headers."""

    path: str
    source: SourceText
    dialect: Dialect = field(default_factory=Dialect)
    functions: dict[str, CFunction] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    function_values: set[str] = field(default_factory=set)  # functions used other than by calling them
    own: set[str] = field(default_factory=set)  # as in Processes
    from_macros: FromMacros = field(default_factory=FromMacros)
    meanings: Meanings = field(default_factory=Meanings)
    records: dict[str, Record] = field(default_factory=dict)  # by the name of the type
    never_return: set[str] = field(default_factory=set)  # functions that are declared so
    macros: dict[str, str] = field(default_factory=dict)  # as in SourceFile
    headers: tuple[bytes, ...] = ()  # texts of the included files that are not the system's; with helpers from there


# ------------------------------------------------------------------------------------------ walks


# By the class of a node: walks take a tenth of the front end's time, and trying one pattern after the other was half.
_OPERANDS: Mapping[type, Callable[[Any], tuple[CExpr, ...]]] = {
    **dict.fromkeys((Bin, Set), lambda expr: (expr.left, expr.right)),
    **dict.fromkeys((Un, Step, Conv), lambda expr: (expr.operand,)),
    Index: lambda expr: (expr.base, expr.index),
    Member: lambda expr: (expr.base,),
    CCall: lambda expr: expr.arguments,
    Items: lambda expr: expr.items,
    Unmodelled: lambda expr: expr.parts,
    Cond: lambda expr: (expr.condition, expr.then, expr.orelse),
}


def operands(expr: CExpr) -> tuple[CExpr, ...]:
    """Direct operands, in textual order."""
    found = _OPERANDS.get(type(expr))
    return () if found is None else found(expr)


def subexpressions(expr: CExpr) -> Iterator[CExpr]:
    """The expression and everything in it, without recursion (expressions can be deep)."""
    stack: list[CExpr] = [expr]
    while stack:
        node = stack.pop()
        yield node
        if (found := _OPERANDS.get(type(node))) is not None:
            stack.extend(found(node)[::-1])


def own_expressions(stmt: CStmt) -> tuple[CExpr, ...]:
    """Expressions of a statement itself, not of the statements inside it."""
    match stmt:
        case ExprStmt(expr=e):
            return (e,)
        case DeclStmt(variables=variables):
            return tuple(e for v in variables for e in (*extents(v.ctype), v.init) if e is not None)
        case IfStmt(condition=c):
            return (c,)
        case ForStmt(condition=c, increment=inc):
            return tuple(e for e in (c, inc) if e is not None)
        case ReturnStmt(value=value):
            return () if value is None else (value,)
        case OtherStmt(exprs=exprs):
            return exprs
        case _:
            return ()


def extents(ctype: CType) -> tuple[CExpr, ...]:
    """Extents of variable length arrays in a declaration."""
    found: list[CExpr] = []
    inner: CType | None = ctype
    while inner is not None:
        if inner.extent is not None and not isinstance(inner.extent, int):
            found.append(inner.extent)
        inner = inner.element
    return tuple(found)


_INNER: Mapping[type, Callable[[Any], tuple[CStmt, ...]]] = {
    **dict.fromkeys((Compound, OtherStmt), lambda stmt: stmt.body),
    IfStmt: lambda stmt: (stmt.then,) if stmt.orelse is None else (stmt.then, stmt.orelse),
    ForStmt: lambda stmt: (stmt.body,) if stmt.init is None else (stmt.init, stmt.body),
}


def inner_statements(stmt: CStmt) -> tuple[CStmt, ...]:
    """Direct sub-statements in textual order."""
    found = _INNER.get(type(stmt))
    return () if found is None else found(stmt)


def statements(stmt: CStmt) -> Iterator[CStmt]:
    """The statement and all inside, in textual order."""
    stack: list[CStmt] = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(inner_statements(node)))


def whole_statements(stmt: CStmt) -> Iterator[CStmt]:
    """As `statements`, with the loops of the file beside what stands for them."""
    stack: list[CStmt] = [stmt]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Compound) and node.kept is not None:
            if id(node) in seen:
                continue
            seen.add(id(node))
            stack.append(node.kept)
        yield node
        stack.extend(reversed(inner_statements(node)))


def whole_expressions(stmt: CStmt) -> Iterator[CExpr]:
    """As `all_expressions`, with the loops of the file beside what stands for them."""
    for inner in whole_statements(stmt):
        for expr in own_expressions(inner):
            yield from subexpressions(expr)


def loop_of(stmt: CStmt) -> ForStmt | None:
    """The loop of the file that a statement is, or stands for."""
    if isinstance(stmt, Compound):
        return stmt.kept
    return stmt if isinstance(stmt, ForStmt) and not stmt.call else None


def all_expressions(stmt: CStmt) -> Iterator[CExpr]:
    """Every expression node below a statement."""
    for inner in statements(stmt):
        for expr in own_expressions(inner):
            yield from subexpressions(expr)


def is_loop(stmt: CStmt) -> TypeGuard[ForStmt | OtherStmt]:
    return isinstance(stmt, ForStmt) or (isinstance(stmt, OtherStmt) and stmt.what in LOOPS)


def strip(expr: CExpr) -> CExpr:
    """Without the implied conversions around it, but for those to an integer of fewer bits."""
    while isinstance(expr, Conv) and not expr.explicit and not _narrows(expr):
        expr = expr.operand
    return expr


def bare(expr: CExpr) -> CExpr:
    """Without the conversions around it whose result nobody uses."""
    while isinstance(expr, Conv) and (not expr.explicit or expr.ctype.kind == "void"):
        expr = expr.operand
    return expr


def _narrows(expr: Conv) -> bool:
    return expr.ctype.kind == expr.operand.ctype.kind == "int" and bits(expr.ctype.name) < bits(expr.operand.ctype.name)
