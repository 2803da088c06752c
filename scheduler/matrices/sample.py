"""Random legal schedule matrices, dimension by dimension, with no order of the source in mind.

A matrix has one row of time after the other. Each row keeps all dependences that no row before it has carried, and
carries some of them, chosen at random: it is a point of a polyhedron (`polyhedral.farkas`), drawn as a vertex and few
rays and lines of it. Statements that no dependence links are drawn apart. Where a polyhedron has too many generators,
the statements are put in a sequence, or their outermost common loop stays.

Source: Ganser et al. 2017 (TACO), section 4. The decomposition into linked statements is ours; so is choosing freely
what is carried: where rows keep all dependences and single rows can carry some, their sum carries them all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.matrices.linked import components, sequences
from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.farkas import How, Pairs, Row, RowSpace, convex_parts
from scheduler.polyhedral.generators import Generators, TooManyGenerators, Vector
from scheduler.polyhedral.model import Model
from scheduler.transform.reschedule import rank

LARGEST = 4  # of the coefficients of iterators
_TRIES = 8
_MEMO_ENTRIES = 20_000
_APART = 0.75  # how often statements without dependences between them do not share the next loops
_CARRY = (0.0, 0.0, 0.4, 0.8, 1.0)  # of what a row may carry, which share it has to

Matrix = tuple[Row, ...]


class Unsampled(SchedulerError):
    """No schedule matrix can be drawn for a nest."""


@dataclass
class State:
    """A matrix as far as it is drawn: `left` is not carried, `groups` are statements that no row has put apart."""

    rows: list[Row]
    left: tuple[Pairs, ...]
    groups: list[list[str]]
    matrices: dict[str, list[list[int]]]


class MatrixSampler:
    """Draws matrices for one nest; what polyhedra have in common is computed once.

    Raises Unsampled for nests with loops whose bounds depend on data, QuotaExceeded.
    """

    def __init__(self, model: Model, dependences: Iterable[Dependence], rng: random.Random) -> None:
        for statement, placed in model.placed.items():
            if opaque := [loop.name for loop in placed.loops if loop.is_opaque]:
                raise Unsampled(f"loop {opaque[0]} around statement {statement} has data-dependent bounds")
        self.model = model
        self.space = RowSpace(model)
        self.pairs = convex_parts(dependences)
        self._rng = rng
        self._known: dict[tuple[frozenset[Pairs], frozenset[Pairs] | None], Generators | None] = {}
        self._carriable: dict[frozenset[Pairs], tuple[Pairs, ...]] = {}
        self._too_large: set[frozenset[Pairs]] = set()
        self._left: dict[tuple[Pairs, Row], tuple[Pairs, ...]] = {}

    def sample(self, outer_parallel: bool = False) -> Matrix:
        """A matrix that keeps the dependences; with `outer_parallel` its first row has no distance along any, where
        there is such a row. Raises Unsampled, QuotaExceeded.
        """
        return self._completed(self._begun(), outer_parallel)

    def _begun(self) -> State:
        """Without rows."""
        if len(self._known) + len(self._left) > _MEMO_ENTRIES:
            self._known.clear()
            self._carriable.clear()
            self._left.clear()
        return State([], self.pairs, [list(self.model.placed)], {name: [] for name in self.model.placed})

    def _completed(self, state: State, parallel: bool = False) -> Matrix:
        """The rows that are there, and drawn ones until all iterations are separated and all dependences carried."""
        deepest = max((len(names) for names in self.space.iterators.values()), default=0)
        most = len(state.rows) + 3 * (deepest + 1) + len(state.matrices)
        while state.left or self._unfinished(state):
            if len(state.rows) >= most:
                raise Unsampled(f"no schedule matrix with {most} rows was found")
            if self._rng.random() < _APART and (row := self._put_apart(state)):
                self._add(state, row)
                continue
            self._add(state, self._row(state, parallel, forced=len(state.rows) >= deepest))
            parallel = False
        return tuple(state.rows)

    # ------------------------------------------------------------------------------------ rows

    def _row(self, state: State, parallel: bool, forced: bool) -> Row:
        """One row for all statements, drawn for each set of linked ones on its own."""
        drawn: dict[str, Affine] = {}
        for names in components(self.model.placed, state.left):
            mine = tuple(p for p in state.left if p.source in names)
            part = self._component(state, names, mine, parallel, forced) if mine else self._free(state, names[0])
            drawn.update((name, part[name]) for name in names)
        return Row(tuple((name, drawn[name]) for name in self.model.placed))

    def _component(
        self, state: State, names: Sequence[str], pairs: tuple[Pairs, ...], parallel: bool, forced: bool
    ) -> Row:
        every = frozenset(pairs)
        if parallel:
            row = self._drawn(state, names, pairs, self._equal(every))
            if row is not None:
                return row
        carriable = self._may_carry(every)
        share = 1.0 if forced else self._rng.choice(_CARRY)
        for chosen in (share, 1.0):
            carried = frozenset(p for p in carriable if self._rng.random() < chosen)
            found = self._generators(every, carried)
            row = self._drawn(state, names, pairs, found) if found is not None else None
            if row is not None:
                return row
        return self._as_written(names, pairs)

    def _drawn(
        self, state: State, names: Sequence[str], pairs: tuple[Pairs, ...], found: Generators | None
    ) -> Row | None:
        """The sparsest of a few rows that separate iterations or carry something; None if there are none."""
        if found is None or found.is_empty:
            return None
        best: tuple[float, Row] | None = None
        for _ in range(_TRIES):
            vector = self._combination(found)
            row = self.space.row(vector)
            size, terms = self._size(names, vector)
            if size > LARGEST or not (self._separates(state, names, row) or self._carries(pairs, row)):
                continue
            score = terms * self._rng.uniform(0.5, 1.5)
            if best is None or score < best[0]:
                best = score, row
        return best[1] if best is not None else None

    def _combination(self, found: Generators) -> Vector:
        """A vertex, with few rays and lines added."""
        rng = self._rng
        vertex, denominator = rng.choice(found.vertices)
        total, scale = list(vertex), denominator
        for kind, least in ((found.rays, 1), (found.lines, -2)):
            count = min(len(kind), rng.choice((0, 1, 1, 2, 3)))
            for vector in self._few(kind, count):
                factor = rng.choice([k for k in (1, 1, 1, 1, 2, -1, -1, -2) if k >= least])
                total = [x + factor * scale * y for x, y in zip(total, vector, strict=True)]
        return tuple(total)

    def _few(self, vectors: Sequence[Vector], count: int) -> list[Vector]:
        """Different ones, sparse ones and those that move iterators rather than shift statements more often."""
        iterators = [k for name in self.space.iterators for k in self.space.columns(name)]
        weights = [(1.0 if any(v[k] for k in iterators) else 0.15) / (1 + sum(map(bool, v))) for v in vectors]
        return list(dict.fromkeys(self._rng.choices(vectors, weights, k=count))) if count else []

    def _free(self, state: State, name: str) -> Row:
        """A row of a statement that nothing is left to keep of: one iterator more is separated."""
        iterators, rng = self.space.iterators[name], self._rng
        matrix = state.matrices[name]
        before = rank(matrix)
        row = Affine()
        if before < len(iterators):
            units = [[int(k == one) for k in range(len(iterators))] for one in range(len(iterators))]
            useful = [one for one, unit in enumerate(units) if rank([*matrix, unit]) > before]
            first = rng.choice(useful)
            row = Affine.of(iterators[first], -1 if rng.random() < 0.1 else 1)
            others = [one for one in useful if one != first]
            if others and rng.random() < 0.15:
                row = row + Affine.of(iterators[rng.choice(others)])
        return Row(((name, row),))

    def _as_written(self, names: Sequence[str], pairs: tuple[Pairs, ...]) -> Row:
        """Where there are too many generators: statements in a sequence, or their next common loop as in the source."""
        order = sequences(names, pairs)
        if len(order) > 1:
            cut = self._rng.randint(1, len(order) - 1)
            later = {name for group in order[cut:] for name in group}
            return Row(tuple((name, Affine.constant(int(name in later))) for name in names))
        first = names[0]
        for depth in range(min(self.model.common_loops(first, name) for name in names)):
            loop = self.model.placed[first].loops[depth]
            row = Row(tuple((name, Affine.of(loop.name, 1 if loop.step > 0 else -1)) for name in names))
            if all(self.space.keeps(one, row) for one in pairs) and self._carries(pairs, row):
                return row
        raise Unsampled(f"too many rows are possible for statements {', '.join(names)}")

    def _put_apart(self, state: State) -> Row | None:
        """Constants that put statements that no dependence links one after the other; None if they are already."""
        rng = self._rng
        values: dict[str, int] = {}
        for group in state.groups:
            parts = components(group, state.left)
            if len(parts) == 1:
                continue
            rng.shuffle(parts)
            parts.sort(key=lambda part: all(self._finished(state, name) for name in part))
            value = 0
            for part in parts:
                values.update(dict.fromkeys(part, value))
                value += rng.random() < 0.7
        if not any(values.values()):
            return None
        return Row(tuple((name, Affine.constant(values.get(name, 0))) for name in self.model.placed))

    # --------------------------------------------------------------------------------- progress

    def _add(self, state: State, row: Row) -> None:
        state.rows.append(row)
        state.left = tuple(dict.fromkeys(one for pairs in state.left for one in self._remaining(pairs, row)))
        for name, matrix in state.matrices.items():
            matrix.append(self._coefficients(name, row))
        groups: list[list[str]] = []
        for group in state.groups:
            parts: dict[Affine, list[str]] = {}
            constant = all(row[name].is_constant for name in group)
            for name in group:
                parts.setdefault(row[name] if constant else Affine(), []).append(name)
            groups += parts.values()
        state.groups = groups

    def _remaining(self, pairs: Pairs, row: Row) -> tuple[Pairs, ...]:
        key = (pairs, row)
        if key not in self._left:
            self._left[key] = self.space.left(pairs, row)
        return self._left[key]

    def _carries(self, pairs: Iterable[Pairs], row: Row) -> bool:
        """Whether a row that keeps the pairs carries any of them, in part at least."""
        return any(self._remaining(one, row) != (one,) for one in pairs)

    def _separates(self, state: State, names: Iterable[str], row: Row) -> bool:
        return any(
            rank([*state.matrices[name], self._coefficients(name, row)]) > rank(state.matrices[name]) for name in names
        )

    def _finished(self, state: State, name: str) -> bool:
        return rank(state.matrices[name]) == len(self.space.iterators[name])

    def _unfinished(self, state: State) -> bool:
        return not all(self._finished(state, name) for name in state.matrices)

    def _coefficients(self, name: str, row: Row) -> list[int]:
        return [row[name].coefficient(iterator) for iterator in self.space.iterators[name]]

    def _size(self, names: Iterable[str], vector: Vector) -> tuple[int, int]:
        """The largest coefficient of an iterator; how many coefficients there are, those of sizes and 1 included."""
        largest = max((abs(vector[k]) for name in names for k in self.space.columns(name)), default=0)
        return largest, 1 + sum(map(bool, vector))

    # ------------------------------------------------------------------------------- polyhedra

    def _may_carry(self, every: frozenset[Pairs]) -> tuple[Pairs, ...]:
        """What some row that keeps all these pairs can carry: what the sum of all rays does."""
        if every not in self._carriable:
            found = self._generators(every, frozenset())
            inner = tuple(map(sum, zip(*found.rays, strict=True))) if found is not None else ()
            ordered = sorted(every, key=lambda p: p.text) if inner else ()
            self._carriable[every] = tuple(p for p in ordered if self.space.carriable(p, inner))
        return self._carriable[every]

    def _generators(self, every: frozenset[Pairs], carried: frozenset[Pairs]) -> Generators | None:
        """Of the rows that keep all these pairs and carry some of them; None where there are too many."""
        key = (every, carried)
        if key not in self._known:
            self._known[key] = self._computed(every, lambda p: "carried" if p in carried else "kept")
        return self._known[key]

    def _equal(self, every: frozenset[Pairs]) -> Generators | None:
        """Of the rows without a distance along any of the pairs."""
        key = (every, None)
        if key not in self._known:
            self._known[key] = self._computed(every, lambda _: "equal")
        return self._known[key]

    def _computed(self, every: frozenset[Pairs], how: Callable[[Pairs], How]) -> Generators | None:
        names = {name for p in every for name in (p.source, p.sink)}
        ordered = sorted(every, key=lambda p: p.text)
        if every in self._too_large:
            return None
        try:
            return self.space.generators(names, [c for p in ordered for c in self.space.constraints(p, how(p))])
        except TooManyGenerators:
            self._too_large.add(every)
            return None
