"""Random schedules: a walk through the decisions the other searches make, each drawn instead of compared.

What comes up is the same for the same seed, however long anything takes (but for structures that isl computes: of
those that take it longest there may be fewer on a machine that is slow or busy): the baseline of the searches, and
what a database or a training set is filled with beside what searches find.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from scheduler.ir.tree import tree_loops
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Chain, chains_with
from scheduler.moves.time_tiling import computed_time_tiled, time_tiled
from scheduler.schedule import Schedule
from scheduler.search.explorer import DrawingExplorer
from scheduler.search.free import free_sequence
from scheduler.transform import Interchange, Parallelize, Tile, Unroll, UnrollJam

_TIME_TILINGS = 6
_COMPUTED_TILINGS = 3
_CHAINS = 4
_ORDERS = 6
_IN_VAIN = 60  # walks in a row that end where others have been: the space is exhausted
_FACTORS = (2, 3, 4, 8, 16)
_FREE = 0.2  # of the walks begin with a free sequence
_SEQUENCE = 4  # of its steps, at most


class RandomSearch(DrawingExplorer):
    """Draws until the limit, the time or the space is used up."""

    def _search(self) -> None:
        bases: list[Schedule] = list(self.space.structures())
        tiled = [self.space.vectorized(s) for s in islice(time_tiled(self.space), _TIME_TILINGS)]
        tiled += [self.space.vectorized(s) for s in islice(computed_time_tiled(self.space, 1), _COMPUTED_TILINGS)]
        seen: set[Schedule] = set()
        in_vain = 0
        waiting: list[Schedule] = [()]
        while in_vain < _IN_VAIN:
            found = self._rng.choice(tiled) if tiled and self._rng.random() < 0.15 else self._walk(bases)
            in_vain = in_vain + 1 if found in seen else 0
            if found not in seen:
                seen.add(found)
                waiting.append(found)
            if len(waiting) >= self.batch:
                before = len(self._seconds)
                self.best(waiting, 1)
                in_vain += len(waiting) * (len(self._seconds) == before)
                waiting = []
        self.best(waiting, 1)

    def _walk(self, bases: Sequence[Schedule]) -> Schedule:
        rng, space = self._rng, self.space
        schedule = rng.choice(bases)
        if rng.random() < _FREE:
            schedule = free_sequence(space, rng, schedule, rng.randint(1, _SEQUENCE))
        return self.completed(schedule)

    def completed(self, schedule: Schedule) -> Schedule:
        """A legal structure with its heaviest chains shaped, and with marks: each drawn."""
        rng, space = self._rng, self.space
        heads = [chain[-1].name for chain in space.leaf_chains(schedule)[:_CHAINS]]
        for head in heads:
            if rng.random() < 0.8:
                schedule = self._shaped(schedule, head)
        draw = rng.random()
        if any(loop.parallel for loop in tree_loops(space.replayer.tree(schedule))):
            pass  # a wavefront is in there
        elif draw < 0.8:
            schedule = space.parallelized(schedule)
        elif draw < 0.9:
            schedule = self._parallel_somewhere(schedule)
        return space.vectorized(schedule) if rng.random() < 0.75 else schedule

    def _shaped(self, schedule: Schedule, head: str) -> Schedule:
        """One chain: its order, then blocks or tiles, then its innermost loops."""
        rng, space = self._rng, self.space
        chain = self._chain(schedule, head)
        if not chain:
            return schedule
        if rng.random() < 0.6:
            schedule = rng.choice(space.orders(schedule, chain, _ORDERS))
        elif len(chain) > 1:
            schedule = self._kept(schedule, Interchange(*(x.name for x in rng.sample(chain, 2))))
        chain = self._chain(schedule, head)
        kind = rng.choice(("none", "tile", "tile", "register", "wavefront"))
        if kind == "tile":
            schedule = self._tiled(schedule, chain)
        elif kind == "register":
            schedule = self._one_of(schedule, list(register_moves(space, schedule, chain)))
        elif kind == "wavefront":
            schedule = self._one_of(schedule, list(space.wavefronts(schedule, chain)))
        chain = self._chain(schedule, head)
        if chain and rng.random() < 0.4:
            schedule = self._inner(schedule, chain)
        return schedule

    def _tiled(self, schedule: Schedule, chain: Chain) -> Schedule:
        """One to three neighbouring loops of the chain, each in tiles of a power of two or half as much again."""
        rng = self._rng
        loops = [loop for loop in chain if not loop.opaque and not loop.tile and self.space.extent(loop) >= 8]
        if not loops:
            return schedule
        count = rng.randint(1, min(3, len(loops)))
        first = rng.randint(0, len(loops) - count)
        sizes = []
        for loop in loops[first : first + count]:
            largest = max(2, (self.space.extent(loop) // 2).bit_length() - 1)
            size = 1 << rng.randint(2, min(largest, 10))
            sizes.append(size * 3 // 2 if rng.random() < 0.2 else size)
        names = tuple(loop.name for loop in loops[first : first + count])
        return self._kept(schedule, Tile(names, tuple(sizes)))

    def _inner(self, schedule: Schedule, chain: Chain) -> Schedule:
        rng = self._rng
        moves: list[Schedule] = list(self.space.inner_moves(schedule, chain))
        innermost = chain[-1]
        if not innermost.opaque:
            moves.append((*schedule, Unroll(innermost.name, rng.choice(_FACTORS))))
        if len(chain) > 1 and not chain[-2].opaque:
            moves.append((*schedule, UnrollJam(chain[-2].name, rng.choice(_FACTORS))))
        return self._one_of(schedule, moves)

    def _parallel_somewhere(self, schedule: Schedule) -> Schedule:
        chains = self.space.leaf_chains(schedule)
        if not chains or self.space.target.threads < 2:
            return schedule
        return self._kept(schedule, Parallelize(self._rng.choice(self._rng.choice(chains)).name))

    def _one_of(self, schedule: Schedule, moves: Sequence[Schedule]) -> Schedule:
        if not moves:
            return schedule
        found = self._rng.choice(moves)
        return found if self.space.legal(found) else schedule

    def _kept(self, schedule: Schedule, step: Interchange | Tile | Parallelize) -> Schedule:
        """With the step where that is legal, without it otherwise."""
        found = (*schedule, step)
        return found if self.space.legal(found) else schedule

    def _chain(self, schedule: Schedule, head: str) -> Chain:
        return chains_with(self.space.replayer.tree(schedule), head) or ()
