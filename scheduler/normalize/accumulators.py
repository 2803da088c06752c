"""Private sums and temporaries as if nobody had written them: a sum is kept in the array where it ends, and a value
that is used once stands where it is used.

`for i { t = 0; for k t += A[i][k]; C[i] = t; }` becomes `for i { C[i] = 0; for k C[i] += A[i][k]; }`. That computes the
same to the bit, and is a step of schedules (`transform.forward_array`). How nests are compared goes further: there
`C[i] += t` becomes a sum in another order.
Source: Allen and Kennedy, Optimizing Compilers for Modern Architectures (2001): forward substitution (chapter 4), and
scalar replacement (chapter 8) backwards.

Long, because both ways ask the same of an array's uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile

from scheduler.ir.affine import Affine
from scheduler.ir.arithmetic import literal_value
from scheduler.ir.mapping import Accesses, map_actions, map_operands
from scheduler.ir.nest import (
    Access,
    Assign,
    Binary,
    Cast,
    Expr,
    Guard,
    Literal,
    Loop,
    LoopNest,
    Node,
    Predicate,
    Read,
    Statement,
    Storage,
)
from scheduler.ir.rename import renamed_nodes
from scheduler.ir.walk import AccessUse, Placed, action_uses, expression_names, placed_statements, reads, uses

_STEPS = 64  # each takes one array away


def without_accumulators(nest: LoopNest) -> LoopNest:
    """The nest (private arrays expanded) without the private arrays that it only needs for how it is written; the same
    nest where there are none. Sums may be added up in another order.
    """
    return _without_all(nest, False)[0]


def accumulators(nest: LoopNest) -> tuple[str, ...]:
    """The private arrays (expanded) that can be taken away one after the other, with the same result to the bit."""
    return _without_all(nest, True)[1]


def without_accumulator(nest: LoopNest, array: str) -> LoopNest | None:
    """The nest (private arrays expanded) without this private array, with the same result to the bit; None where it
    is needed.
    """
    return _Private(nest, array, exact=True).removed()


def _without_all(nest: LoopNest, exact: bool) -> tuple[LoopNest, tuple[str, ...]]:
    """The nest, and what was taken away, in that order."""
    removed: list[str] = []
    for _ in range(_STEPS):
        for array in nest.arrays:
            private = array.storage is Storage.PRIVATE
            changed = _Private(nest, array.name, exact).removed() if private else None
            if changed is not None:
                nest = changed
                removed.append(array.name)
                break
        else:
            break
    return nest, tuple(removed)


@dataclass(frozen=True, slots=True)
class _Use:
    placed: Placed
    access: AccessUse

    @property
    def name(self) -> str:
        return self.placed.statement.name

    @property
    def rows(self) -> tuple[tuple[str, Affine], ...]:
        """Of `[i][j - m]`: (i, 0) and (j, -m). Raises ValueError where a subscript is something else than an iterator
        and parameters.
        """
        loops = {loop.name for loop in self.placed.loops}
        found = []
        for subscript in self.access.access.subscripts:
            if not isinstance(subscript, Affine):
                raise ValueError("a subscript is not affine")
            (iterator,) = subscript.names() & loops
            rest = subscript - Affine.of(iterator)
            if iterator in rest.names():
                raise ValueError("a subscript has a factor")
            found.append((iterator, rest))
        if len({name for name, _ in found}) < len(found):
            raise ValueError("an iterator is there twice")
        return tuple(found)

    @property
    def iterators(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.rows)


class _Private:
    """One private array: its `uses`, the nodes `around` all of them, and the statements `between` the first and the
    last, in all nodes in which there are some.
    """

    def __init__(self, nest: LoopNest, name: str, exact: bool) -> None:
        self.nest, self.array, self.exact = nest, nest.array(name), exact
        placed = tuple(placed_statements(nest))
        self.order = {p.statement.name: n for n, p in enumerate(placed)}
        self.uses = tuple(_Use(p, use) for p in placed for use in uses(p) if use.access.array == name)
        chains = zip(*(use.placed.ancestors for use in self.uses), strict=False)
        self.around = tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, chains))
        body = self.around[-1].body if self.around else nest.body
        inside = [number for number, node in enumerate(body) if any(self._is_in(use, node) for use in self.uses)]
        nodes = body[min(inside, default=0) : max(inside, default=-1) + 1]
        self.between = tuple(placed_statements(replace(nest, body=nodes)))

    def _is_in(self, use: _Use, node: Node) -> bool:
        path = (*use.placed.ancestors, use.placed.statement)
        return path[len(self.around)] == node

    def removed(self) -> LoopNest | None:
        """The nest without it, or None."""
        if not self.uses:
            return self._without(set(), {})
        if not all(self._own(use) for use in self.uses):
            return None
        return self._inlined() or self._in_place()

    def _own(self, use: _Use) -> bool:
        """Its statement reads or writes it itself (no bound, no subscript), at iterators and parameters."""
        try:
            iterators = use.iterators
        except ValueError:
            return False
        access = use.access.access
        own = {u.access for u in action_uses(use.placed.statement.body)}
        return access in own and len(iterators) == len(access.subscripts)

    def _at_once(self, begin: _Use, end: _Use) -> bool:
        """Whether they run equally often, under conditions and bounds that no data decide: those are the same text and
        need not have the same value."""
        inside = [node for use in (begin, end) for node in use.placed.ancestors[len(self.around) :]]
        if any(isinstance(node, Predicate) or (isinstance(node, Loop) and node.is_opaque) for node in inside):
            return False
        both_ways = self._same_place(begin, end) and self._same_place(end, begin)
        return both_ways and all(self._within(use) <= set(use.iterators) for use in (begin, end))

    # ------------------------------------------------------------------------ a value used once

    def _inlined(self) -> LoopNest | None:
        define, *others = self.uses
        if len(others) != 1 or not define.access.is_write or others[0].access.is_write:
            return None
        (read,) = others
        assign, into = _assignment(define.placed.statement), _assignment(read.placed.statement)
        if assign is None or into is None or assign.op != "=" or define.name == read.name:
            return None
        if not self._at_once(define, read):
            return None
        apart = read.placed.ancestors != define.placed.ancestors
        both = {define.name} if apart else {define.name, read.name}
        passed = [placed for placed in self.between if placed.statement.name not in both]
        written = {use.access.array for placed in passed for use in uses(placed) if use.is_write}
        if written & {use.access.array for use in reads(assign.value)}:
            return None
        (moved,) = renamed_nodes((define.placed.statement,), dict(zip(define.iterators, read.iterators, strict=True)))
        assert isinstance(moved, Statement) and isinstance(moved.body[0], Assign)
        value = moved.body[0].value
        value = value if value.ctype == self.array.ctype else Cast(self.array.ctype, value)

        def inlined(expr: Expr) -> Expr:
            if isinstance(expr, Read) and expr.access.array == self.array.name:
                return value
            return map_operands(expr, inlined)

        body = (replace(into, value=inlined(into.value)),)
        return self._without({define.name}, {read.name: replace(read.placed.statement, body=body)})

    # ------------------------------------------------------------------------ a sum where it ends

    def _in_place(self) -> LoopNest | None:
        begin = _assignment(self.uses[0].placed.statement)
        if begin is None or begin.op != "=" or not self.uses[0].access.is_write:
            return None
        for home in self.uses:
            assign = _assignment(home.placed.statement)
            if assign is None or home.access.is_write or not self._ends_at(home, assign.target):
                continue
            if self.exact and not self._at_once(self.uses[0], home):
                continue
            own_element = self._within(home) <= self._alone(assign.target)
            if assign.op == "=" and assign.value == Read(home.access.access, self.array.ctype) and own_element:
                return self._moved(home, assign.target, set())
            if not self.exact and _added(assign, self.array.name) and (zeros := self._zeros(home)):
                return self._moved(home, assign.target, zeros)
        return None

    def _ends_at(self, home: _Use, target: Access) -> bool:
        """All its elements were written when `home` takes them, each once, to an array that is otherwise left alone."""
        if target.array == self.array.name or not target.is_affine:
            return False
        if self.nest.array(target.array).ctype != self.array.ctype or not self._within(home) <= set(home.iterators):
            return False
        others = [use for use in self.uses if use.name != home.name]
        if not all(self._same_place(use, home) for use in others):
            return False
        if any(use.access.is_write and self.order[use.name] > self.order[home.name] for use in others):
            return False
        begun = {use.name for use in others if self._copies(use, target, home)}
        touching = {p.statement.name for p in self.between for use in uses(p) if use.access.array == target.array}
        return touching <= {home.name, *begun}

    def _copies(self, use: _Use, target: Access, home: _Use) -> bool:
        """It begins with what is in the element where it ends."""
        assign = _assignment(use.placed.statement)
        if assign is None or not use.access.is_write or assign.op != "=" or not isinstance(assign.value, Read):
            return False
        return assign.value.access == _at(target, home, use)

    def _alone(self, target: Access) -> set[str]:
        """The iterators that are a subscript of their own: another value, another element."""
        fixed = {parameter.name for parameter in self.nest.parameters}
        names: set[str] = set()
        for subscript in target.subscripts:
            own = expression_names(subscript) - fixed
            if len(own) == 1 and isinstance(subscript, Affine) and subscript.is_linear:
                names |= own
        return names

    def _zeros(self, home: _Use) -> set[str]:
        """The statements that set it to zero, when all others only add to it; nothing else."""
        zeros = set()
        for use in self.uses:
            assign = _assignment(use.placed.statement)
            if use.name == home.name:
                continue
            if assign is None or assign.target != use.access.access:
                return set()
            if assign.op == "=" and _is_zero(assign.value):
                zeros.add(use.name)
            elif assign.op not in ("+=", "-=") or self.array.name in {u.access.array for u in reads(assign.value)}:
                return set()
        return zeros

    def _moved(self, home: _Use, target: Access, dropped: set[str]) -> LoopNest | None:
        changed: dict[str, Statement] = {}
        for use in self.uses:
            if use.name != home.name:
                statement = use.placed.statement
                body = map_actions(statement.body, _put(self.array.name, _at(target, home, use)))
                changed[use.name] = replace(statement, body=body)
        copies = {name for name, statement in changed.items() if _is_copy(_assignment(statement))}
        return self._without({home.name, *dropped, *copies}, changed)

    # ------------------------------------------------------------------------ both

    def _within(self, use: _Use) -> set[str]:
        """The loops around a use that are not around all."""
        return {node.name for node in use.placed.ancestors[len(self.around) :] if isinstance(node, Loop)}

    def _same_place(self, one: _Use, other: _Use) -> bool:
        """The same elements: as to subscripts, bounds of their loops, and the conditions around `other`."""
        if [rest for _, rest in one.rows] != [rest for _, rest in other.rows]:
            return False
        names = dict(zip(other.iterators, one.iterators, strict=True))
        fixed = {node.name for node in self.around if isinstance(node, Loop)}
        if any(mine != theirs and fixed & {mine, theirs} for theirs, mine in names.items()):
            return False
        mine = [_bare(node) for node in one.placed.ancestors]
        theirs = [_bare(n) for n in other.placed.ancestors if not isinstance(n, Loop) or n.name in names]
        return all(node in mine for node in renamed_nodes(tuple(theirs), names))

    def _without(self, dropped: set[str], changed: dict[str, Statement]) -> LoopNest | None:
        """None where something still uses it: a value put into a subscript stays where it is."""

        def kept(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
            found: list[Node] = []
            for node in nodes:
                if isinstance(node, Statement):
                    if node.name not in dropped:
                        found.append(changed.get(node.name, node))
                elif body := kept(node.body):
                    found.append(replace(node, body=body))
            return tuple(found)

        arrays = tuple(array for array in self.nest.arrays if array.name != self.array.name)
        made = replace(self.nest, arrays=arrays, body=kept(self.nest.body))
        left = (use.access.array for placed in placed_statements(made) for use in uses(placed))
        return made if self.array.name not in left else None


def _bare(node: Loop | Guard | Predicate) -> Loop | Guard | Predicate:
    return replace(node, body=(), span=None) if isinstance(node, Loop) else replace(node, body=())


def _at(target: Access, home: _Use, use: _Use) -> Access:
    """The element where it ends, in the loops of another statement that uses it."""
    values = {mine: Affine.of(theirs) for mine, theirs in zip(home.iterators, use.iterators, strict=True)}
    subscripts = tuple(s.substitute(values) if isinstance(s, Affine) else s for s in target.subscripts)
    return Access(target.array, subscripts)


def _put(array: str, place: Access) -> Accesses:
    return lambda access: place if access.array == array else access


def _assignment(statement: Statement) -> Assign | None:
    """What the statement does, if it does one thing without a condition."""
    return statement.body[0] if len(statement.body) == 1 and isinstance(statement.body[0], Assign) else None


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Literal) and not literal_value(value.text, value.ctype)


def _added(assign: Assign, array: str) -> bool:
    """It adds the array's element to its target: `C += t`, `C = C + t`."""
    if assign.op == "+=":
        return isinstance(assign.value, Read) and assign.value.access.array == array
    value = assign.value
    if assign.op != "=" or not isinstance(value, Binary) or value.op != "+":
        return False
    sides = value.left, value.right
    return all(isinstance(side, Read) for side in sides) and {
        side.access.array for side in sides if isinstance(side, Read)
    } == {assign.target.array, array}


def _is_copy(assign: Assign | None) -> bool:
    return (
        assign is not None
        and assign.op == "="
        and isinstance(assign.value, Read)
        and assign.value.access == assign.target
    )
