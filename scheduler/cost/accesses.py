"""The accesses of a statement as matrices over its iterators, for footprints and strides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.domain import Domain, evaluate, sample_domain
from scheduler.cost.operations import Operations, count_operations
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Action, Array, Assign
from scheduler.ir.types import is_floating, scalar_type
from scheduler.ir.walk import AccessUse, action_uses, expression_names
from scheduler.polyhedral.model import Model

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_MAY = 0.5  # weight of an access that may not happen
_FAR = 1 << 20  # elements: an extent nobody knows


@dataclass(frozen=True, slots=True)
class AccessFacts:
    """One distinct access, counting iterations, not iterator values (a step of 2 doubles the coefficients).

    `matrix` [dimensions, iterators] and `constants` [dimensions]: its subscripts; rows of `opaque` dimensions are
    zero. `flat` [iterators]: elements it moves. `varies` [iterators]: those an opaque subscript mentions.
    `exposed`: a read that may see what an earlier instance wrote (the statement did not write it first).
    """

    array: int
    element_bytes: int
    is_write: bool
    weight: float
    matrix: Floats
    constants: Floats
    opaque: npt.NDArray[np.bool_]
    flat: Floats
    varies: npt.NDArray[np.bool_]
    exposed: bool

    @property
    def indirect(self) -> bool:
        return bool(self.opaque.any())


@dataclass(frozen=True, slots=True)
class Groups:
    """Accesses of one array with equal coefficients; what footprints are computed of.

    The rows of all groups' dimensions stand below each other: `matrix` [rows, iterators], `spread` [rows] is the
    difference of their constants, `extents` [rows] the array's (infinite where unknown), `starts` [groups] the first
    row of each, `last` [groups] its last row. `members` [groups]: how many accesses.
    """

    matrix: Floats
    spread: Floats
    extents: Floats
    opaque: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]
    arrays: npt.NDArray[np.intp]
    members: Floats
    element_bytes: Floats
    indirect: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """What does not depend on the schedule.

    `flats` [accesses, iterators] and `bytes` [accesses]: `flat` and `element_bytes` of all; `jumping`: the numbers of
    the indirect ones. `update_cycles`: the latency of the operation where the body is one `a op= …`, else 0;
    `reorderable`: it may be summed in any order (integers).
    """

    name: str
    iterators: tuple[str, ...]
    domain: Domain
    operations: Operations
    accesses: tuple[AccessFacts, ...]
    flats: Floats
    bytes: Floats
    jumping: tuple[int, ...]
    groups: Groups
    update_cycles: float
    reorderable: bool
    widest_bytes: int


def statement_facts(
    model: Model, statement: str, parameters: Mapping[str, int], contracted: frozenset[str], numbers: Mapping[str, int]
) -> StatementFacts:
    """`contracted` arrays are taken without their added dimensions; `numbers` gives the index of each array."""
    placed = model.placed[statement]
    iterators = model.iterators(statement)
    domain = sample_domain(placed, parameters)
    weights: dict[tuple[Access, bool], float] = {}
    for use in model.uses(statement):
        key = (use.access, use.is_write)
        weights[key] = max(weights.get(key, 0.0), 1.0 if use.must else _MAY)
    read = _exposed(placed.statement.body)
    accesses = []
    extents: list[Floats] = []
    for (access, is_write), weight in weights.items():
        array = model.nest.array(access.array)
        dropped = array.expanded if array.name in contracted else 0
        shape = _extents(array, parameters)[dropped:]
        facts = _access(
            AccessUse(access, is_write, weight == 1.0),
            array,
            dropped,
            shape,
            iterators,
            domain,
            numbers,
            access in read,
        )
        accesses.append(facts)
        extents.append(shape)
    body = placed.statement.body
    only = body[0] if len(body) == 1 else None
    updates = isinstance(only, Assign) and only.op != "="
    floating = isinstance(only, Assign) and is_floating(model.nest.array(only.target.array).ctype)
    latency = (13.0 if isinstance(only, Assign) and only.op == "/=" else 4.0) if floating else 1.0
    widest = max((a.element_bytes for a in accesses if a.matrix.size), default=8)
    return StatementFacts(
        statement,
        iterators,
        domain,
        count_operations(placed.statement),
        tuple(accesses),
        np.array([a.flat for a in accesses]).reshape(len(accesses), len(iterators)),
        np.array([float(a.element_bytes) for a in accesses]),
        tuple(k for k, a in enumerate(accesses) if a.indirect),
        _groups(tuple(accesses), extents, len(iterators)),
        latency if updates else 0.0,
        updates and not floating,
        widest,
    )


def array_bytes(array: Array, parameters: Mapping[str, int]) -> float:
    """Its size; infinite where an extent is unknown."""
    return float(np.prod(_extents(array, parameters))) * element_bytes(array)


def element_bytes(array: Array) -> int:
    known = scalar_type(array.ctype)
    return max(1, known.bits // 8) if known is not None else 8


def _extents(array: Array, parameters: Mapping[str, int]) -> Floats:
    values = {name: float(value) for name, value in parameters.items()}
    return np.array([math.inf if e is None else max(1.0, float(evaluate(e, values))) for e in array.shape])


def _access(
    use: AccessUse,
    array: Array,
    dropped: int,
    shape: Floats,
    iterators: tuple[str, ...],
    domain: Domain,
    numbers: Mapping[str, int],
    exposed: bool,
) -> AccessFacts:
    subscripts = use.access.subscripts[dropped:]
    matrix = np.zeros((len(subscripts), len(iterators)))
    constants, opaque = np.zeros(len(subscripts)), np.zeros(len(subscripts), dtype=bool)
    varies = np.zeros(len(iterators), dtype=bool)
    for row, subscript in enumerate(subscripts):
        if isinstance(subscript, Affine):
            linear, constant = linearized(subscript, iterators)
            matrix[row], constants[row] = linear * domain.scales, constant
        else:
            opaque[row] = True
            names = expression_names(subscript)
            varies |= np.array([name in names for name in iterators], dtype=bool)
    flat, factor = np.zeros(len(iterators)), 1.0
    for row in range(len(subscripts) - 1, -1, -1):
        flat = flat + factor * matrix[row]
        factor *= shape[row] if math.isfinite(shape[row]) else _FAR
    return AccessFacts(
        numbers[array.name],
        element_bytes(array),
        use.is_write,
        1.0 if use.must else _MAY,
        matrix,
        constants,
        opaque,
        flat,
        varies,
        exposed,
    )


def _exposed(body: tuple[Action, ...]) -> frozenset[Access]:
    """The accesses a body may read before it writes them; conditional writes hide nothing."""
    written: set[Access] = set()
    found: set[Access] = set()
    for action in body:
        for use in action_uses((action,)):
            if not use.is_write and use.access not in written:
                found.add(use.access)
        if isinstance(action, Assign):
            written.add(action.target)
    return frozenset(found)


def linearized(expr: Affine, iterators: tuple[str, ...]) -> tuple[Floats, float]:
    """(coefficient of each iterator, constant) with every floor taken as a plain division."""
    linear, constant = np.zeros(len(iterators)), float(expr.const)
    for atom, coefficient in expr.terms:
        if not isinstance(atom, str):
            inner, add = linearized(atom.numerator, iterators)
            linear, constant = linear + coefficient * inner / atom.denominator, constant + coefficient * add
        elif atom in iterators:
            linear[iterators.index(atom)] += coefficient
    return linear, constant


def _groups(accesses: tuple[AccessFacts, ...], extents: list[Floats], iterators: int) -> Groups:
    """Scalars stay out: they live in registers."""
    found: dict[tuple[int, bytes, bytes], list[int]] = {}
    for k, access in enumerate(accesses):
        if len(access.matrix):
            found.setdefault((access.array, access.matrix.tobytes(), access.opaque.tobytes()), []).append(k)
    members = [[accesses[k] for k in ks] for ks in found.values()]
    rows = [len(ms[0].matrix) for ms in members]
    ends = np.cumsum(rows, dtype=np.intp) if rows else np.zeros(0, dtype=np.intp)
    constants = [np.array([a.constants for a in ms]) for ms in members]

    def stacked(parts: list[Floats]) -> Floats:
        return np.concatenate(parts) if parts else np.zeros(0)

    return Groups(
        np.concatenate([ms[0].matrix for ms in members]) if members else np.zeros((0, iterators)),
        stacked([c.max(0) - c.min(0) for c in constants]),
        stacked([extents[ks[0]] for ks in found.values()]),
        np.concatenate([ms[0].opaque for ms in members]) if members else np.zeros(0, dtype=bool),
        ends - np.array(rows, dtype=np.intp),
        ends - 1,
        np.array([ms[0].array for ms in members], dtype=np.intp),
        np.array([float(len({a.constants.tobytes() for a in ms})) for ms in members]),
        np.array([float(ms[0].element_bytes) for ms in members]),
        np.array([ms[0].indirect for ms in members], dtype=bool),
    )
