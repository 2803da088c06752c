"""The machine of the reference interpreter: storage, and expressions and statements turned into closures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scheduler.ir.affine import Affine
from scheduler.ir.arithmetic import InterpreterError, Value, converter, literal_value
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Constraint,
    Expr,
    If,
    Literal,
    LoopNest,
    Name,
    Read,
    Storage,
    Unary,
)
from scheduler.ir.types import FUNCTIONS, binary_type, is_floating, known_type, unary_type
from tests.doubles.arithmetic import binary_operation, library_function, numpy_type, unary_operation

Evaluate = Callable[[], Value]
Execute = Callable[[], bool | None]  # True: the `while` around is left
Key = tuple[int, ...]
_MOST_ROUNDS = 100_000
POISON_INTEGER = 0x5A


class ArrayStorage:
    """The elements of one array. PRIVATE arrays start without values: reading one before its write is an error,
    or, with `poison`, gives NaN or a garbage integer."""

    def __init__(self, array: Array, extents: tuple[int | None, ...], initial: np.ndarray[Any, Any] | None) -> None:
        self.array = array
        self.extents = extents
        self.initial = initial
        self.poison: Value | None = None
        self.values: dict[Key, Value] = {}
        if initial is not None:
            self.values = {index: _plain(value) for index, value in np.ndenumerate(initial)}

    def load(self, key: Key) -> Value:
        try:
            return self.values[key]
        except KeyError:
            self.check(key)
            if self.poison is None:
                raise InterpreterError(f"{self.array.name}{list(key)} is read before it is written") from None
            return self.poison

    def check(self, key: Key) -> None:
        """Raises InterpreterError for an index out of bounds."""
        for value, extent in zip(key, self.extents, strict=True):
            if extent is not None and not 0 <= value < extent:
                shape = list(self.extents)
                raise InterpreterError(f"{self.array.name}{list(key)} is out of bounds: {self.array.name} is {shape}")

    def result(self) -> np.ndarray[Any, Any]:
        assert self.initial is not None
        output = np.empty(self.initial.shape, numpy_type(self.array.ctype))
        for key, value in self.values.items():
            output[key] = value
        return output


def _plain(value: Any) -> Value:
    if isinstance(value, np.longdouble):
        return value
    return int(value) if isinstance(value, np.bool_) else value.item()


class Machine:
    """`values` holds the iterators and parameters; the closures read it when they are called."""

    def __init__(self, nest: LoopNest, parameters: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]]):
        self.nest = nest
        self.values: dict[str, int] = {}
        for parameter in nest.parameters:
            if parameter.name not in parameters:
                raise InterpreterError(f"parameter {parameter.name} has no value")
            self.values[parameter.name] = int(parameters[parameter.name])
        self.storage = {array.name: self._allocate(array, arrays) for array in nest.arrays}
        self.pending: dict[tuple[ArrayStorage, Key], Value] | None = None  # writes held back (see `races`)

    def _allocate(self, array: Array, arrays: Mapping[str, np.ndarray[Any, Any]]) -> ArrayStorage:
        try:
            extents = tuple(None if e is None else e.evaluate(self.values) for e in array.shape)
        except KeyError:  # a variable-length array inside the nest
            extents = (None,) * len(array.shape)
        if array.storage is Storage.PRIVATE:
            return ArrayStorage(array, extents, None)
        if array.name not in arrays:
            raise InterpreterError(f"array {array.name} has no value")
        given = np.asarray(arrays[array.name])
        if given.dtype != numpy_type(array.ctype):
            raise InterpreterError(f"array {array.name} is {array.ctype}, not {given.dtype}")
        fits = len(extents) == given.ndim and all(e in (None, g) for e, g in zip(extents, given.shape, strict=True))
        if not fits:
            raise InterpreterError(f"array {array.name} has shape {list(given.shape)}, not {list(extents)}")
        return ArrayStorage(array, given.shape, given)

    def poison_privates(self) -> None:
        """Reading a private element that was not written gives garbage from now on, not an error."""
        for storage in self.storage.values():
            scalar = known_type(storage.array.ctype)
            storage.poison = converter(scalar.name)(np.nan if scalar.kind == "floating" else POISON_INTEGER)

    def results(self) -> dict[str, np.ndarray[Any, Any]]:
        return {name: s.result() for name, s in self.storage.items() if s.array.storage is not Storage.PRIVATE}

    def commit(self) -> None:
        """Makes the held-back writes visible."""
        for (storage, key), value in (self.pending or {}).items():
            storage.values[key] = value
        self.pending = None

    # ------------------------------------------------------------------------------------ closures

    def affine(self, affine: Affine) -> Callable[[], int]:
        values = self.values
        if not affine.terms:
            return lambda: affine.const
        if affine.is_linear:
            terms = [(str(atom), coefficient) for atom, coefficient in affine.terms]
            constant = affine.const
            if len(terms) == 1 and terms[0][1] == 1:
                name = terms[0][0]
                return lambda: values[name] + constant
            return lambda: sum([c * values[n] for n, c in terms], constant)
        return lambda: affine.evaluate(values)

    def constraint(self, constraint: Constraint) -> Callable[[], bool]:
        value, modulus = self.affine(constraint.affine), constraint.modulus
        if constraint.kind == ">=":
            return lambda: value() >= 0
        return (lambda: value() == 0) if constraint.kind == "==" else (lambda: value() % modulus == 0)

    def key(self, access: Access) -> Callable[[], Key]:
        parts = [self.affine(s) if isinstance(s, Affine) else self.integer(s) for s in access.subscripts]
        if len(parts) != len(self.storage[access.array].extents):
            raise InterpreterError(f"access to {access.array} with {len(parts)} subscripts")
        if not parts:
            return lambda: ()
        if len(parts) == 1:
            only = parts[0]
            return lambda: (only(),)
        return lambda: tuple([part() for part in parts])

    def integer(self, expr: Expr) -> Callable[[], int]:
        if is_floating(expr.ctype):
            raise InterpreterError(f"an index or a bound of type {expr.ctype}")
        return self.expr(expr)

    def load(self, access: Access) -> Evaluate:
        storage, key = self.storage[access.array], self.key(access)

        def read() -> Value:
            index = key()
            if self.pending is not None and (storage, index) in self.pending:
                return self.pending[storage, index]
            return storage.load(index)

        return read

    def store(self, storage: ArrayStorage, index: Key, value: Value) -> None:
        if index not in storage.values:
            storage.check(index)
        if self.pending is None:
            storage.values[index] = value
        else:
            self.pending[storage, index] = value

    def expr(self, expr: Expr) -> Evaluate:
        evaluate, natural = self._expr(expr)
        return evaluate if natural == known_type(expr.ctype).name else _after(converter(expr.ctype), evaluate)

    def _expr(self, expr: Expr) -> tuple[Evaluate, str | None]:
        """The value, and the canonical type it has (None: any integer)."""
        if isinstance(expr, Literal):
            constant = literal_value(expr.text, expr.ctype)
            return (lambda: constant), known_type(expr.ctype).name
        if isinstance(expr, Name):
            name, values = expr.name, self.values
            return (lambda: values[name]), None
        if isinstance(expr, Read):
            return self.load(expr.access), known_type(self.storage[expr.access.array].array.ctype).name
        if isinstance(expr, Cast):
            return self.expr(expr.operand), known_type(expr.operand.ctype).name
        if isinstance(expr, Unary):
            operand = self.expr(expr.operand)
            return _after(unary_operation(expr.op, expr.operand.ctype), operand), unary_type(
                expr.op, expr.operand.ctype
            )
        if isinstance(expr, Binary):
            return self._binary(expr), binary_type(expr.op, expr.left.ctype, expr.right.ctype)
        if isinstance(expr, Call):
            function, (parameters, result) = library_function(expr.function), FUNCTIONS[expr.function]
            if len(parameters) != len(expr.arguments):
                raise InterpreterError(f"{expr.function} with {len(expr.arguments)} arguments")
            arguments = [_after(converter(p), self.expr(a)) for p, a in zip(parameters, expr.arguments, strict=True)]
            return (lambda: function(*[argument() for argument in arguments])), result
        return self._conditional(expr), known_type(expr.ctype).name

    def _binary(self, expr: Binary) -> Evaluate:
        left, right = self.expr(expr.left), self.expr(expr.right)
        if expr.op == "&&":
            return lambda: int(left() != 0 and right() != 0)
        if expr.op == "||":
            return lambda: int(left() != 0 or right() != 0)
        operation = binary_operation(expr.op, expr.left.ctype, expr.right.ctype)
        return lambda: operation(left(), right())

    def _conditional(self, expr: Conditional) -> Evaluate:
        condition, convert = self.expr(expr.condition), converter(expr.ctype)
        then, orelse = self.expr(expr.then), self.expr(expr.orelse)
        return lambda: convert(then() if condition() != 0 else orelse())

    # ---------------------------------------------------------------------------------- statements

    def actions(self, actions: tuple[Action, ...]) -> Execute:
        parts = [self.assign(a) if isinstance(a, Assign) else self._branch(a) for a in actions]
        if len(parts) == 1:
            return parts[0]

        def run() -> bool | None:
            return any(part() for part in parts)

        return run

    def _branch(self, action: If) -> Execute:
        condition = self.expr(action.condition)
        then, orelse = self.actions(action.then), self.actions(action.orelse)
        if action.flow == "while":
            return _repeated(condition, then)
        leaves = action.flow == "break"

        def run() -> bool | None:
            if condition() != 0:
                return then() or leaves
            return orelse()

        return run

    def assign(self, action: Assign) -> Execute:
        storage, key = self.storage[action.target.array], self.key(action.target)
        ctype, value = storage.array.ctype, self.expr(action.value)
        convert = converter(ctype)
        if action.op == "=":
            same = known_type(ctype) == known_type(action.value.ctype)
            converted = value if same else _after(convert, value)
            return lambda: self.store(storage, key(), converted())
        operation = binary_operation(action.op[:-1], ctype, action.value.ctype)

        def update() -> None:
            operand, index = value(), key()
            pending = self.pending or {}
            old = pending[storage, index] if (storage, index) in pending else storage.load(index)
            self.store(storage, index, convert(operation(old, operand)))

        return update


def _repeated(condition: Evaluate, body: Execute) -> Execute:
    def run() -> None:
        for _ in range(_MOST_ROUNDS):
            if condition() == 0 or body():
                return
        raise InterpreterError(f"a while loop goes round more than {_MOST_ROUNDS} times")

    return run


def _after(convert: Callable[[Value], Value], evaluate: Evaluate) -> Evaluate:
    return lambda: convert(evaluate())
