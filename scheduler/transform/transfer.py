"""How a step of one nest's schedule (the donor's) becomes one of another's (the target's), and why it may not.

Every transformation that can be carried over has `transfer(matching)` beside its `apply`: the step for the loops,
statements and arrays that stand for its own, its parameters fitted to the target.
Source: Trümper et al. 2023, section 4, where recipes are matched step by step, their parameters left as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from typing import Literal as OneOf

from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.ir.walk import AccessUse
from scheduler.transform.common import Tree


class NoCounterpart(SchedulerError):
    """A step that has no equivalent on the target, and why."""


class Unmatched(NoCounterpart):
    """An operand of the step has no partner in the matching."""


class AlreadySo(SchedulerError):
    """A step whose effect the target has without it, and why."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A donor's node and the target's node that stands for it; `distance` of their embeddings, 0 to 1."""

    kind: OneOf["loop", "array", "statement"]
    donor: str
    target: str
    distance: float


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The step for the target: `adapted` parameters, and the donor's own (`literal`) on the same loops.

    `chain` are the loops that have to be perfectly nested, `innermost` whether that goes down to the statements.
    """

    adapted: tuple[Any, ...]
    literal: tuple[Any, ...]
    pairs: tuple[Pair, ...]
    chain: tuple[str, ...] = ()
    innermost: bool = False
    note: str = ""


class StepMatching(Protocol):
    """The nodes of a donor matched with a target's, as both are before a step; `rest` are the donor's later steps."""

    @property
    def rest(self) -> Sequence[Any]: ...
    @property
    def loops(self) -> Mapping[str, Pair]:
        """By the donor's loop."""
        ...

    @property
    def statements(self) -> Mapping[str, Pair]:
        """By the donor's statement."""
        ...

    @property
    def donor_tree(self) -> Tree: ...
    @property
    def target_tree(self) -> Tree: ...

    def pair(self, loop: str) -> Pair:
        """Of a loop of the donor. Raises Unmatched."""
        ...

    def loop(self, name: str) -> TreeLoop:
        """A loop of the target. Raises NoCounterpart."""
        ...

    def order(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Loops of the target as they are nested. Raises NoCounterpart where they are not inside each other."""
        ...

    def beside(self, statement: str) -> tuple[str, ...]:
        """The target's statements that stand in the same loop as one, it among them."""
        ...

    def donor_uses(self, statement: str) -> Sequence[AccessUse]: ...
    def target_uses(self, statement: str) -> Sequence[AccessUse]: ...

    def array_distance(self, donor: str, target: str) -> float:
        """Of the embeddings of two arrays, 0 to 1."""
        ...

    def extent(self, loop: TreeLoop) -> int:
        """Iterations of a loop of the target's nest."""
        ...

    @property
    def threads(self) -> int:
        """Of the target's machine."""
        ...

    def worth_threads(self, loop: TreeLoop) -> bool:
        """Whether a loop of the target has enough to do for the target's threads."""
        ...

    def writes_along(self, loop: TreeLoop) -> bool:
        """Whether all that is written below a loop of the target moves by one element along it."""
        ...

    def streamable(self, loop: TreeLoop) -> tuple[str, ...]:
        """Arrays that a loop of the target may better write past the caches."""
        ...

    def tile_sizes(
        self, given: Mapping[str, int], wanted: Mapping[str, int], waves: bool, split: Collection[str]
    ) -> Mapping[str, int]:
        """Sizes for the target's loops of `wanted`, as `given` are at the donor's; none for those too short to tile.

        `waves`: the tiles will be skewed; `split`: loops whose tiles are shared among threads.
        """
        ...

    def register_sizes(
        self, sizes: Sequence[int], vector_bytes: int, loops: Sequence[TreeLoop]
    ) -> tuple[tuple[int, ...], int]:
        """(sizes, bytes of a vector) of a donor's register block for these loops of the target, the vectors' last."""
        ...

    def grain(self, step: Any, loop: TreeLoop, collapse: int) -> Any:
        """A donor's `Parallelize` with the kind and the chunk that suit a loop of the target."""
        ...


def statement_pair(matching: StepMatching, name: str) -> Pair:
    """Raises NoCounterpart."""
    found = matching.statements.get(name)
    if found is None:
        raise NoCounterpart(f"no statement of the target stands for {name}")
    return found


def over_target(matching: StepMatching, expression: Affine) -> Affine:
    """The expression over the target's iterators. Raises NoCounterpart where it names a parameter."""
    origins = {
        loop.name: loop.origin for tree in (matching.donor_tree, matching.target_tree) for loop in tree_loops(tree)
    }
    names = {origins[a]: origins[pair.target] for a, pair in matching.loops.items()}
    unknown = sorted(expression.names() - names.keys())
    if unknown:
        raise NoCounterpart(f"nothing of the target stands for {', '.join(unknown)}")
    return expression.substitute({n: Affine.of(names[n]) for n in expression.names()})
