"""Whether a scheduled nest keeps every dependence: one check, on the final tree with all its marks.

Theorem. Let T(s) be the time vector the tree gives instance s. The schedule computes what the source
computes if for every dependence s -> t: T(s) < T(t) lexicographically; and a loop whose iterations run
concurrently (parallel, vector, register block) is safe if no dependence has its first difference
between T(s) and T(t) in that loop's row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Union

import islpy as isl

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.tree import TreeLoop, TreeNode, concurrent_loops, paths_of, tree_loops
from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.model import Model, QuotaExceeded, affine_text
from scheduler.polyhedral.reductions import choice_over, reduction_over
from scheduler.polyhedral.verdict import Illegal, Legal, Unknown, values_at

_MEMO_ENTRIES = 20_000

Legality = Union[Legal, Illegal, Unknown]  # noqa: UP007
# Whether floating-point reductions may change their order: all, or those of these arrays.
Reassociate = bool | frozenset[str]


class Checker:
    """Checks trees of one nest; what siblings in a search share is computed once."""

    def __init__(self, model: Model, dependences: tuple[Dependence, ...], reassociate: Reassociate = False) -> None:
        self.model = model
        self.dependences = dependences
        self.reassociate = reassociate
        self._comparisons: dict[tuple[str, str, Affine, Affine, str], isl.Map] = {}
        self._split: dict[tuple[object, ...], tuple[isl.Map | None, isl.Map | None, isl.Map | None]] = {}

    def check(self, tree: tuple[TreeNode, ...]) -> Legality:
        """Legal, or the first violated dependence with a witness, or Unknown when isl gives up."""
        if len(self._split) > _MEMO_ENTRIES:
            self._split.clear()
            self._comparisons.clear()
        concurrent = concurrent_loops(tree)
        paths = paths_of(tree)
        try:
            with self.model.quota():
                for index, dependence in enumerate(self.dependences):
                    verdict = self._check_one(index, dependence, paths, concurrent, exact=False)
                    if verdict is not None:
                        verdict = self._check_one(index, dependence, paths, concurrent, exact=True)
                    if verdict is not None:
                        return verdict
        except QuotaExceeded as error:
            return Unknown(str(error))
        return Legal()

    def carried(self, tree: tuple[TreeNode, ...], loop: str) -> tuple[Dependence, ...]:
        """The dependences whose first difference is in `loop`'s row, in a legal tree."""
        return tuple(d for d in self.dependences if any(name == loop for name, _ in self.carried_pairs(d, tree)))

    def carried_pairs(self, dependence: Dependence, tree: tuple[TreeNode, ...]) -> tuple[tuple[str, isl.Map], ...]:
        """By the loops of a legal tree that carry a dependence: the pairs of instances whose first difference is there.

        Outermost first.
        """
        index = self.dependences.index(dependence)
        levels = self._levels(index, dependence, paths_of(tree))
        return tuple((node.name, forward) for node, _, forward in levels if forward is not None)

    def sequential_loops(self, tree: tuple[TreeNode, ...], reductions: bool = False) -> frozenset[str]:
        """The loops of a legal tree that carry a dependence; all others may run in parallel.

        With `reductions`, those that carry nothing but reductions that may run in parallel are no part of it.
        """
        paths = paths_of(tree)
        found: set[str] = set()
        for index, dependence in enumerate(self.dependences):
            for node, back, forward in self._levels(index, dependence, paths):
                carried = forward is not None or back is not None
                if carried and not (reductions and self._reduced(dependence, node)):
                    found.add(node.name)
        return frozenset(found)

    def reductions(self, tree: tuple[TreeNode, ...]) -> tuple[tuple[str, str, str], ...]:
        """(loop, statement, array) for each reduction that a parallel or vector loop carries and has a clause for."""
        concurrent = concurrent_loops(tree)
        marked = {loop.name for loop in tree_loops(tree) if _has_clause(loop, concurrent)}
        found: dict[tuple[str, str, str], None] = {}
        if marked:
            paths = paths_of(tree)
            for index, dependence in enumerate(self.dependences):
                if not dependence.reduction:
                    continue
                for node, back, forward in self._levels(index, dependence, paths):
                    carried = forward is not None or back is not None
                    if carried and node.name in marked and self._reduced(dependence, node):
                        found[node.name, dependence.source, dependence.array] = None
        return tuple(found)

    def relaxed(self, dependence: Dependence) -> bool:
        """Whether both ends may change places: a reduction whose order does not matter, or need not."""
        update, asked = dependence.update, self.reassociate
        asked = asked if isinstance(asked, bool) else dependence.array in asked
        return update is not None and (update.exact or (update.loose and asked))

    def _reduced(self, dependence: Dependence, node: TreeLoop) -> bool:
        """Whether threads (or lanes) may each update something of their own; in order, where that must be kept."""
        if self.relaxed(dependence) and reduction_over(self.model, node, dependence.array) is not None:
            return True
        return dependence.update is not None and choice_over(self.model, node, dependence.array) is not None

    def never_decreases(
        self, tree: tuple[TreeNode, ...], outer: str | None, rows: Callable[[str], Affine], within: Collection[str]
    ) -> bool:
        """Whether `rows` (statement -> a row) never decreases along a dependence between statements `within`.

        Only dependences count that the loops around `outer` leave unsatisfied (None: all). This is what
        makes a loop with these rows part of a permutable band that starts at `outer`.
        """
        return not any(
            self._split_rows(index, dependence, rows(dependence.source), rows(dependence.sink), left)[0] is not None
            for index, dependence, left in self.unsatisfied(tree, outer, within)
        )

    def unsatisfied(
        self, tree: tuple[TreeNode, ...], outer: str | None, within: Collection[str]
    ) -> Iterator[tuple[int, Dependence, isl.Map]]:
        """The dependences between statements `within`, with their numbers, as far as the common loops around `outer`
        leave them unsatisfied (None: all common loops).
        """
        paths = paths_of(tree)
        for index, dependence in enumerate(self.dependences):
            if dependence.source not in within or dependence.sink not in within:
                continue
            remaining: isl.Map | None = dependence.relation
            for (p, node), (q, _) in zip(paths[dependence.source], paths[dependence.sink], strict=False):
                if p != q or not isinstance(node, TreeLoop) or node.name == outer or remaining is None:
                    break
                remaining = self._split_at(index, dependence, node, remaining)[2]
            if remaining is not None:
                yield index, dependence, remaining

    def _check_one(
        self,
        index: int,
        dependence: Dependence,
        paths: dict[str, tuple[tuple[int, TreeNode], ...]],
        concurrent: dict[str, str],
        exact: bool,
    ) -> Illegal | None:
        """A violation or None. Without `exact` tile rows are not followed into blocks, which is quicker and
        may report a violation that is none, but never misses one."""
        relaxed = self.relaxed(dependence)
        source_path, sink_path = paths[dependence.source], paths[dependence.sink]
        remaining: isl.Map | None = dependence.relation
        for (p, node), (q, _) in zip(source_path, sink_path, strict=False):
            if p != q:
                if p < q or relaxed:
                    return None
                return self._witness(dependence, remaining, None)
            if not isinstance(node, TreeLoop):
                # One leaf reached with equal rows: two instances at the same time.
                return self._witness(dependence, remaining, None)
            if not exact and node.name not in concurrent and self._never_backward(index, dependence, node, remaining):
                continue
            backward, forward, remaining = self._split_at(index, dependence, node, remaining)
            if backward is not None and not relaxed:
                return self._witness(dependence, backward, None)
            carried = forward if forward is not None else backward  # backward: the order of a sum
            if (
                carried is not None
                and node.name in concurrent
                and not self._held_in_registers(dependence, node, concurrent)
                and not (_has_clause(node, concurrent) and self._reduced(dependence, node))
            ):
                return self._witness(dependence, carried, node.name)
            if remaining is None:
                return None
        return None

    def _held_in_registers(self, dependence: Dependence, node: TreeLoop, concurrent: dict[str, str]) -> bool:
        """Around a register block (kind "accumulate") only an accumulator's own chain may be carried."""
        return concurrent[node.name] == "accumulate" and dependence.same_subscripts

    def _never_backward(self, index: int, dependence: Dependence, node: TreeLoop, remaining: isl.Map | None) -> bool:
        """floor is monotone: if no r_i decreases, no sum of positive c_i * floor(r_i / T_i) does."""
        source_row, sink_row = node.row(dependence.source), node.row(dependence.sink)
        if source_row.is_linear and sink_row.is_linear:
            return False
        source_parts, sink_parts = _monotone_parts(source_row), _monotone_parts(sink_row)
        if [p[:2] for p in source_parts] != [p[:2] for p in sink_parts]:
            return False
        for (coefficient, _, a), (_, _, b) in zip(source_parts, sink_parts, strict=True):
            if coefficient < 0:
                return False
            if self._split_rows(index, dependence, a, b, remaining)[0] is not None:
                return False
        return True

    def _levels(
        self, index: int, dependence: Dependence, paths: dict[str, tuple[tuple[int, TreeNode], ...]]
    ) -> list[tuple[TreeLoop, isl.Map | None, isl.Map | None]]:
        remaining: isl.Map | None = dependence.relation
        levels = []
        for (p, node), (q, _) in zip(paths[dependence.source], paths[dependence.sink], strict=False):
            if p != q or not isinstance(node, TreeLoop) or remaining is None:
                break
            backward, forward, remaining = self._split_at(index, dependence, node, remaining)
            levels.append((node, backward, forward))
        return levels

    def _split_at(
        self, index: int, dependence: Dependence, node: TreeLoop, remaining: isl.Map | None
    ) -> tuple[isl.Map | None, isl.Map | None, isl.Map | None]:
        """Splits a dependence by the sign of row(sink) - row(source): (negative, positive, zero); None is empty."""
        return self._split_rows(index, dependence, node.row(dependence.source), node.row(dependence.sink), remaining)

    def _split_rows(
        self, index: int, dependence: Dependence, source_row: Affine, sink_row: Affine, remaining: isl.Map | None
    ) -> tuple[isl.Map | None, isl.Map | None, isl.Map | None]:
        assert remaining is not None
        # `remaining` is a dependence's relation or a value of the memo: it lives, so its id is its own.
        key = (index, id(remaining), source_row, sink_row)
        if key not in self._split:
            parts = [
                remaining.intersect(self._comparison(dependence, source_row, sink_row, op)) for op in ("<", ">", "=")
            ]
            kept = [None if part.is_empty() else part for part in parts]
            self._split[key] = (kept[0], kept[1], kept[2])
        return self._split[key]

    def _comparison(self, dependence: Dependence, source_row: Affine, sink_row: Affine, op: str) -> isl.Map:
        """{source -> sink : row(sink) op row(source)}"""
        key = (dependence.source, dependence.sink, source_row, sink_row, op)
        known = self._comparisons.get(key)
        if known is not None:
            return known
        model = self.model
        source = affine_text(source_row, "", frozenset(model.iterators(dependence.source)))
        sink = affine_text(sink_row, "_t", frozenset(model.iterators(dependence.sink)))
        found = isl.Map.read_from_str(
            model.context,
            f"{model.parameter_prefix()}{{ {model.tuple_text(dependence.source)} -> "
            f"{model.tuple_text(dependence.sink, '_t')} : {sink} {op} {source} }}",
        )
        self._comparisons[key] = found
        return found

    def _witness(self, dependence: Dependence, violated: isl.Map | None, loop: str | None) -> Illegal:
        assert violated is not None
        point = violated.sample()

        return Illegal(
            str(dependence),
            dependence.source,
            dependence.sink,
            values_at(point, isl.dim_type.in_, self.model.iterators(dependence.source)),
            values_at(point, isl.dim_type.out, self.model.iterators(dependence.sink)),
            values_at(point, isl.dim_type.param, self.model.parameter_names()),
            loop,
        )


def _has_clause(node: TreeLoop, concurrent: dict[str, str]) -> bool:
    """A pragma of its own stands before the loop that a reduction clause can be part of.

    Loops of register blocks have none, nor have those that another loop's `collapse` takes in.
    """
    if concurrent.get(node.name) == "parallel":
        return node.parallel is not None and node.parallel.collapse == 1
    return concurrent.get(node.name) == "vector"


def _monotone_parts(row: Affine) -> list[tuple[int, int, Affine]]:
    """(coefficient, denominator, numerator) of each floor, and (1, 1, the linear rest)."""
    parts = [(c, a.denominator, a.numerator) for a, c in row.terms if isinstance(a, FloorDiv)]
    rest = Affine.build([(a, c) for a, c in row.terms if isinstance(a, str)], row.const)
    return [*sorted(parts, key=lambda part: part[:2]), (1, 1, rest)]
