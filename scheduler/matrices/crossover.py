"""Schedule matrices bred from others: each child is a plan of rows, of which what keeps the dependences stays.

What a plan leaves open is drawn as `MatrixSampler` draws it: every child is legal by construction. Mutations replace
rows, a prefix or a suffix, add a ray or line of the polyhedron that a row lies in, negate or exchange rows, or put
statements apart; crossover takes rows by turns (rows of one order of time mixed with another's), or sums of rows, which
lie in the same polyhedra (geometric).

Source: Ganser et al. 2017 (TACO), section 5. Keeping the part of a row that is still legal is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from scheduler.ir.affine import Affine
from scheduler.matrices.linked import components, sequences
from scheduler.matrices.sample import LARGEST, Matrix, MatrixSampler, State
from scheduler.polyhedral.farkas import Row
from scheduler.transform.reschedule import Reschedule

_FACTORS = ((1, 1), (1, 1), (2, 1), (1, 2))  # of a geometric crossover


@dataclass(frozen=True, slots=True)
class Free:
    """A place of a plan where any row may be drawn."""


@dataclass(frozen=True, slots=True)
class Near:
    """A place for a row that differs by one ray or line from `row`."""

    row: Row


@dataclass(frozen=True, slots=True)
class Apart:
    """A place for constants that put statements in a sequence."""


Plan = Sequence[Row | Free | Near | Apart]


class Breeder(MatrixSampler):
    """Draws matrices, alone and from others, for one nest. What breeds may raise Unsampled and QuotaExceeded."""

    def mutated(self, matrix: Matrix, strength: float) -> Matrix:
        """`strength` in (0, 1]: which share of the rows is exchanged."""
        mutations: tuple[Callable[[Matrix, int], Plan], ...] = (
            self._some_replaced, self._prefix_replaced, self._suffix_replaced, self._moved_rows, self._moved_rows,
            self._negated, self._exchanged,
        )  # fmt: skip
        count = max(1, round(strength * len(matrix)))
        return self.completed(self._rng.choice(mutations)(matrix, count))

    def distributed(self, matrix: Matrix) -> Matrix:
        """Statements that shared loops from some row on are put in a sequence there."""
        place = self._rng.randint(0, len(matrix))
        return self.completed([*matrix[:place], Apart(), *matrix[place:]])

    def crossed(self, first: Matrix, second: Matrix) -> Matrix:
        """Each row is that of one of the parents."""
        pairs = zip_longest(first, second)
        return self.completed([row for pair in pairs if (row := self._rng.choice(pair)) is not None])

    def between(self, first: Matrix, second: Matrix) -> Matrix:
        """Each row is a positive combination of the parents' rows: it keeps what both keep."""
        plan: list[Row] = []
        for one, other in zip_longest(first, second):
            if one is None or other is None:
                plan.append(other if one is None else one)
            else:
                a, b = self._rng.choice(_FACTORS)
                plan.append(Row(tuple((name, row * a + other[name] * b) for name, row in one.of)))
        return self.completed(plan)

    def completed(self, plan: Plan) -> Matrix:
        """A matrix that begins with the rows of a plan, as far as they keep what is left of the dependences.

        Of rows that do not keep all of it the part that does remains; what neither separates nor carries is left out.
        """
        state = self._begun()
        for item in plan:
            if not state.left and not self._unfinished(state):
                break
            row = self._planned(state, item)
            if self._useful(state, row):
                self._add(state, row)
        return self._completed(state)

    # ---------------------------------------------------------------------------------- plans

    def _some_replaced(self, matrix: Matrix, count: int) -> Plan:
        chosen = set(self._rng.sample(range(len(matrix)), min(count, len(matrix))))
        return [Free() if k in chosen else row for k, row in enumerate(matrix)]

    def _prefix_replaced(self, matrix: Matrix, count: int) -> Plan:
        return [*[Free()] * min(count, len(matrix)), *matrix[count:]]

    def _suffix_replaced(self, matrix: Matrix, count: int) -> Plan:
        return matrix[: max(0, len(matrix) - count)]

    def _moved_rows(self, matrix: Matrix, count: int) -> Plan:
        chosen = set(self._rng.sample(range(len(matrix)), min(count, len(matrix))))
        return [Near(row) if k in chosen else row for k, row in enumerate(matrix)]

    def _negated(self, matrix: Matrix, count: int) -> Plan:
        chosen = set(self._rng.sample(range(len(matrix)), min(count, len(matrix))))
        turned = [Row(tuple((name, value * -1) for name, value in row.of)) for row in matrix]
        return [turned[k] if k in chosen else row for k, row in enumerate(matrix)]

    def _exchanged(self, matrix: Matrix, count: int) -> Plan:
        rows = list(matrix)
        for _ in range(count if len(rows) > 1 else 0):
            a, b = self._rng.sample(range(len(rows)), 2)
            rows[a], rows[b] = rows[b], rows[a]
        return rows

    # ----------------------------------------------------------------------------------- rows

    def _planned(self, state: State, item: Row | Free | Near | Apart) -> Row:
        match item:
            case Row():
                return self._salvaged(state, item)
            case Near():
                return self._salvaged(state, self._moved(state, item.row))
            case Apart():
                return self._distributed(state)
            case Free():
                return self._row(state, parallel=False, forced=False)

    def _salvaged(self, state: State, row: Row) -> Row:
        """0 for those linked statements of which it does not keep the dependences."""
        kept: dict[str, Affine] = {}
        for names in components(self.model.placed, state.left):
            mine = [p for p in state.left if p.source in names]
            small = all(abs(c) <= LARGEST for name in names for c in self._coefficients(name, row))
            if small and all(self.space.keeps(one, row) for one in mine):
                kept.update((name, row[name]) for name in names)
        return self._row_of(kept)

    def _moved(self, state: State, row: Row) -> Row:
        """With a ray or line of the rows that keep what is left of some linked statements."""
        linked = [
            names for names in components(self.model.placed, state.left) if any(p.source in names for p in state.left)
        ]
        if not linked:
            return row
        names = self._rng.choice(linked)
        found = self._generators(frozenset(p for p in state.left if p.source in names), frozenset())
        if found is None or not (found.rays or found.lines):
            return row
        more = self.space.row(self._few((*found.rays, *found.lines), 1)[0])
        return Row(tuple((name, own + more[name]) for name, own in row.of))

    def _distributed(self, state: State) -> Row:
        """Constants that put the statements of a group in two, where what is left of the dependences allows it."""
        orders = [order for group in state.groups if len(order := sequences(group, state.left)) > 1]
        if not orders:
            return self._row_of({})
        order = self._rng.choice(orders)
        later = order[self._rng.randint(1, len(order) - 1) :]
        return self._row_of({name: Affine.constant(1) for names in later for name in names})

    def _useful(self, state: State, row: Row) -> bool:
        for group in state.groups:
            if all(row[name].is_constant for name in group) and len({row[name] for name in group}) > 1:
                return True
        return self._carries(state.left, row) or self._separates(state, self.model.placed, row)

    def _row_of(self, values: dict[str, Affine]) -> Row:
        return Row(tuple((name, values.get(name, Affine())) for name in self.model.placed))


def matrix_of(maps: Reschedule) -> Matrix:
    """The rows that make a tree: positions and loops by turns."""
    longest = max(len(one.rows) for one in maps.maps)
    rows: list[Row] = []
    for depth in range(longest + 1):
        places = ((m.statement, m.positions[depth] if depth < len(m.positions) else 0) for m in maps.maps)
        rows.append(Row(tuple((name, Affine.constant(place)) for name, place in places)))
        if depth < longest:
            loops = ((m.statement, m.rows[depth] if depth < len(m.rows) else Affine()) for m in maps.maps)
            rows.append(Row(tuple(loops)))
    return tuple(row for row in rows if len({value for _, value in row.of}) > 1 or not row.of[0][1].is_constant)
