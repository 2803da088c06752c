"""C text of statements on GNU vector types: the same operation on every lane, in the order of the scalar code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import POSTFIX, PRODUCT, SUM, UNARY, Rendered, wrap
from scheduler.codegen.emit.text import vector_type
from scheduler.codegen.tree.nodes import IntExpr, add
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Assign, Binary, Cast, Conditional, Expr, Read, Unary
from scheduler.ir.types import COMPARISONS, common_type, scalar_type
from scheduler.ir.walk import children

_ARITHMETIC = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


def canonical(ctype: str) -> str:
    kind = scalar_type(ctype)
    return kind.name if kind is not None else ctype


Places = dict[tuple[Access, tuple[IntExpr | None, ...]], tuple[tuple[IntExpr, ...], str]]
"""By access and what its iterators stand for: where its element is, and the C text of that."""


@dataclass(frozen=True)
class Lanes:
    """The instances of one statement that make up one vector; `printers` print each of them as scalar code.

    Whatever has no vector form is computed lane by lane and put together, which is always right.
    """

    printers: tuple[Printer, ...]
    element: str
    held: Mapping[str, tuple[str, int]]  # C text of an element -> (vector variable, lane)
    written: frozenset[str] = frozenset()  # arrays whose loads are not shared
    loads: dict[str, str] = field(default_factory=dict)  # C text of a shared load -> variable
    fresh: Callable[[str], str] = str
    memo: dict[int, tuple[Expr, list[str]]] = field(default_factory=dict)  # id -> expression (kept alive), texts
    holding: list[Printer] = field(default_factory=list)
    accesses: dict[Access, tuple[list[str], str]] = field(default_factory=dict)  # their texts and shapes
    places: Places = field(default_factory=dict)  # shared by vectors whose printers differ in `values` only
    varying: dict[int, tuple[Expr, bool]] = field(default_factory=dict)  # by id, as in `memo`

    @property
    def vector(self) -> str:
        name = vector_type(self.element, len(self.printers))
        assert name is not None
        return name

    # ------------------------------------------------------------------------------- accesses

    def shape(self, access: Access) -> str:
        """How an access moves over the lanes: invariant, contiguous or scattered."""
        return self._seen(access)[1]

    def texts(self, access: Access) -> list[str]:
        return self._seen(access)[0]

    def _seen(self, access: Access) -> tuple[list[str], str]:
        if access not in self.accesses:
            if access.is_affine:
                placed = [self._place(printer, access) for printer in self.printers]
                texts = [printer.held.get(text, text) for printer, (_, text) in zip(self.printers, placed, strict=True)]
                self.accesses[access] = texts, _shape([index for index, _ in placed])
            else:
                self.accesses[access] = [printer.access(access) for printer in self.printers], "scattered"
        return self.accesses[access]

    def _place(self, printer: Printer, access: Access) -> tuple[tuple[IntExpr, ...], str]:
        names = (n for s in access.subscripts if isinstance(s, Affine) for n in sorted(s.names()))
        key = access, tuple(printer.values.get(name) for name in names)
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = printer.place(access)
        return found

    def load(self, access: Access) -> Rendered:
        texts = self.texts(access)
        if self.shape(access) == "contiguous" and self._is_element(access):
            return f"*(const {self.vector} *)&{texts[0]}", UNARY
        return self._together(texts)

    def store(self, access: Access, value: str) -> list[str]:
        texts = self.texts(access)
        if self.shape(access) == "contiguous":
            return [f"*({self.vector} *)&{texts[0]} = {value};"]
        if value.isidentifier():
            return [f"{text} = {value}[{lane}];" for lane, text in enumerate(texts)]
        name = self.fresh("value")
        return [f"const {self.vector} {name} = {value};", *self.store(access, name)]

    def _is_element(self, access: Access) -> bool:
        array: Array = self.printers[0].arrays[access.array]
        redirect = self.printers[0].redirection(access)
        return canonical(redirect.ctype if redirect is not None else array.ctype) == self.element

    def _together(self, texts: list[str]) -> Rendered:
        return f"({self.vector}){{{', '.join(texts)}}}", POSTFIX

    # ---------------------------------------------------------------------------- expressions

    def _lane_texts(self, e: Expr) -> list[str]:
        """Each lane's scalar code, held elements taken from their vectors."""
        if id(e) not in self.memo:
            self.memo[id(e)] = e, [printer.expr(e)[0] for printer in self._holding()]
        return self.memo[id(e)][1]

    def _holding(self) -> tuple[Printer, ...]:
        if not self.holding:
            known = {text: f"{name}[{lane}]" for text, (name, lane) in self.held.items()}
            self.holding.extend(replace(printer, held=known) for printer in self.printers)
        return tuple(self.holding)

    def varies(self, e: Expr) -> bool:
        if id(e) not in self.varying:
            self.varying[id(e)] = e, self._varies(self.printers[0].packed.get(e, e))
        return self.varying[id(e)][1]

    def _varies(self, e: Expr) -> bool:
        if isinstance(e, Read):
            return len(set(self.texts(e.access))) > 1
        inner = tuple(children(e))
        return any(map(self.varies, inner)) if inner else len(set(self._lane_texts(e))) > 1

    def scalar(self, e: Expr) -> Rendered:
        """A value that is the same in all lanes, of the element type."""
        rendered = self._holding()[0].expr(e)
        return rendered if canonical(e.ctype) == self.element else (f"({self.element}){wrap(rendered, UNARY)}", UNARY)

    def lanewise(self, e: Expr) -> Rendered:
        return self._together(self._lane_texts(e))

    def value(self, e: Expr) -> Rendered:
        """A vector of the element type."""
        e = self.printers[0].packed.get(e, e)
        if not self.varies(e) or canonical(e.ctype) != self.element:
            return self.lanewise(e)
        if isinstance(e, Read):
            return self._read(e.access)
        if isinstance(e, Unary) and e.op in ("-", "+") and canonical(e.operand.ctype) == self.element:
            inner = wrap(self.value(e.operand), UNARY)
            return e.op + (f"({inner})" if inner.startswith(e.op) else inner), UNARY
        if isinstance(e, Cast) and canonical(e.operand.ctype) == self.element:
            return self.value(e.operand)
        if isinstance(e, Binary) and self._has_vector_form(e.op):
            level = _ARITHMETIC[e.op]
            right = self.operand(e.right)
            tail = f"({right[0]})" if right[1] == level else wrap(right, level)
            return f"{wrap(self.operand(e.left), level)} {e.op} {tail}", level
        if isinstance(e, Conditional):
            return self._select(e)
        return self.lanewise(e)

    def operand(self, e: Expr) -> Rendered:
        """An operand of a vector operation whose other operand is a vector: scalars are broadcast by it."""
        return self.value(e) if self.varies(e) else self.scalar(e)

    def _has_vector_form(self, op: str) -> bool:
        return op in _ARITHMETIC and (op != "/" or self.element in ("double", "float"))

    def _select(self, e: Conditional) -> Rendered:
        test = e.condition
        if not isinstance(test, Binary) or test.op not in COMPARISONS:
            return self.lanewise(e)
        types = {canonical(x.ctype) for x in (test.left, test.right, e.then, e.orelse)}
        if types != {self.element}:
            return self.lanewise(e)
        left, right, then, orelse = (self.value(x) for x in (test.left, test.right, e.then, e.orelse))
        parts = (f"{wrap(left, SUM)} {test.op} {wrap(right, SUM)}", then[0], orelse[0])
        # It is a macro: braces do not protect commas.
        arguments = ", ".join(f"({part})" if "{" in part else part for part in parts)
        return f"pe_select_{self.vector.removeprefix('pe_')}({arguments})", POSTFIX

    def _read(self, access: Access) -> Rendered:
        places = [self.held.get(text) for text in self.texts(access)]
        first = places[0]
        if first is not None and places == [(first[0], lane) for lane in range(len(places))]:
            return first[0], POSTFIX
        if any(place is not None for place in places) or self.shape(access) != "contiguous":
            return self._together([p.access(access) for p in self._holding()])
        loaded = self.load(access)
        if access.array in self.written or not self._is_element(access):
            return loaded
        if loaded[0] not in self.loads:
            self.loads[loaded[0]] = self.fresh(f"{access.array}_v")
        return self.loads[loaded[0]], POSTFIX

    # ----------------------------------------------------------------------------- statements

    def assign(self, action: Assign) -> list[str]:
        places = [self.held.get(text) for text in self.texts(action.target)]
        name = places[0][0] if places[0] is not None else None
        op = action.op[:-1]
        if op and (not self._has_vector_form(op) or common_type(self.element, action.value.ctype) != self.element):
            joined = common_type(self.element, action.value.ctype)
            whole = Binary(op, Read(action.target, self.element), action.value, joined)
            value, op = self.lanewise(whole)[0], ""
        elif op:
            rendered = self.operand(action.value)
            if name is not None:
                return [f"{name} {op}= {rendered[0]};"]
            tail = wrap(rendered, _ARITHMETIC[op] + 1)
            value = f"{wrap(self.load(action.target), UNARY)} {op} {tail}"
        else:
            value = self.value(action.value)[0]
        return [f"{name} = {value};"] if name is not None else self.store(action.target, value)


def _shape(indices: list[tuple[IntExpr, ...]]) -> str:
    first = indices[0]
    if all(index == first for index in indices):
        return "invariant"
    for lane, index in enumerate(indices):
        if index[:-1] != first[:-1] or index[-1] != add(first[-1], Affine.constant(lane)):
            return "scattered"
    return "contiguous"
