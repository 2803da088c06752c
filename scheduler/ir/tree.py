"""The loop tree of a scheduled nest: the order in which statement instances run, and the marks on loops.

A tree says, for every statement, its *time map*: walking from a root to the statement's leaf gives a
position among siblings, then a loop's row, then a position, … ; instances run in lexicographic order
of that vector. Nothing but this tree and the nest decides what code is generated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import Union

from scheduler.ir.affine import Affine


@dataclass(frozen=True, slots=True)
class Parallel:
    """`#pragma omp parallel for`; `collapse` counts this loop and perfectly nested ones below it."""

    schedule: OneOf["static", "dynamic"] = "static"
    chunk: int = 0  # 0: the runtime's default
    collapse: int = 1


@dataclass(frozen=True, slots=True)
class PackMark:
    """At the top of every iteration of the loop, the block of `array` read below is copied to a local buffer.

    `order` permutes the dimensions of the buffer (outermost first); the innermost dimension of the
    *array* named by `panel_dim` is split in panels of `panel` elements that become innermost (0: none).
    """

    array: str
    order: tuple[int, ...]
    panel_dim: int = -1
    panel: int = 0


@dataclass(frozen=True, slots=True)
class RegisterMark:
    """The point loops of a register block: full blocks run unrolled on local accumulators.

    `loops` are the names of the point loops with constant extents `sizes`; the last one is vectorized, with registers
    of `vector_bytes` (0: the usual ones of the machine).
    """

    loops: tuple[str, ...]
    sizes: tuple[int, ...]
    vector_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """One statement of the nest."""

    statement: str


@dataclass(frozen=True, slots=True)
class TreeLoop:
    """A loop of the schedule: a row (time expression over the statement's iterators) for each statement below."""

    name: str
    rows: tuple[tuple[str, Affine], ...]
    children: tuple[TreeNode, ...]
    origin: str  # the nest loop its name came from
    tile: int = 0  # > 0: a tile loop that steps over blocks of this size
    opaque: bool = False  # its bounds depend on data
    parallel: Parallel | None = None
    vector: bool = False
    unroll: int = 1  # 0: completely
    packs: tuple[PackMark, ...] = ()
    register: RegisterMark | None = None
    streams: tuple[str, ...] = ()  # arrays that are written past the caches

    def row(self, statement: str) -> Affine:
        """Raises KeyError."""
        for name, row in self.rows:
            if name == statement:
                return row
        raise KeyError(statement)


TreeNode = Union[TreeLoop, Leaf]  # noqa: UP007
NodePath = tuple[tuple[int, TreeNode], ...]


def statements_below(node: TreeNode) -> tuple[str, ...]:
    """The statements of a tree, in its order."""
    if isinstance(node, Leaf):
        return (node.statement,)
    return tuple(s for child in node.children for s in statements_below(child))


def tree_loops(nodes: tuple[TreeNode, ...]) -> Iterator[TreeLoop]:
    """Every loop, outer before inner."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if isinstance(node, TreeLoop):
            yield node
            waiting.extend(reversed(node.children))


def find_loop(nodes: tuple[TreeNode, ...], name: str) -> TreeLoop | None:
    """The loop of that name; None where there is none."""
    return next((loop for loop in tree_loops(nodes) if loop.name == name), None)


def path_to(nodes: tuple[TreeNode, ...], statement: str) -> NodePath:
    """(position among siblings, node) from the root to the statement's leaf. Raises KeyError."""
    return paths_of(nodes)[statement]


def paths_of(nodes: tuple[TreeNode, ...]) -> dict[str, NodePath]:
    """`path_to` every statement."""
    found: dict[str, NodePath] = {}

    def visit(level: tuple[TreeNode, ...], around: NodePath) -> None:
        for position, node in enumerate(level):
            path = (*around, (position, node))
            if isinstance(node, Leaf):
                found.setdefault(node.statement, path)
            else:
                visit(node.children, path)

    visit(nodes, ())
    return found


def concurrent_loops(tree: tuple[TreeNode, ...]) -> dict[str, str]:
    """Loops whose iterations need not run one after another: name -> block, parallel, vector or accumulate.

    Of several kinds that a loop has, the one listed first is what the generated code does with it.
    """
    kinds: dict[str, set[str]] = {"block": set(), "parallel": set(), "vector": set(), "accumulate": set()}
    for loop in tree_loops(tree):
        if loop.vector:
            kinds["vector"].add(loop.name)
        if loop.register is not None:
            kinds["block"].update(loop.register.loops)
        if len(loop.children) == 1 and isinstance(loop.children[0], TreeLoop) and loop.children[0].register:
            kinds["accumulate"].add(loop.name)
        if loop.parallel is not None:
            inner: TreeLoop = loop
            kinds["parallel"].add(loop.name)
            for _ in range(loop.parallel.collapse - 1):
                child = inner.children[0] if len(inner.children) == 1 else None
                if not isinstance(child, TreeLoop):
                    break
                inner = child
                kinds["parallel"].add(inner.name)
    return {name: kind for kind in reversed(kinds) for name in kinds[kind]}


def replace_loop(nodes: tuple[TreeNode, ...], name: str, new: tuple[TreeNode, ...]) -> tuple[TreeNode, ...]:
    """The same forest with the loop `name` replaced by the nodes `new`; what is not around it stays the same object."""
    for position, node in enumerate(nodes):
        if isinstance(node, TreeLoop):
            if node.name == name:
                return (*nodes[:position], *new, *nodes[position + 1 :])
            children = replace_loop(node.children, name, new)
            if children is not node.children:
                return (*nodes[:position], replace(node, children=children), *nodes[position + 1 :])
    return nodes


def format_tree(nodes: tuple[TreeNode, ...], indent: int = 0) -> str:
    """One line a loop (name, row, marks) and statement, for people and tests; not a stored form."""
    lines: list[str] = []
    for node in nodes:
        if isinstance(node, Leaf):
            lines.append("  " * indent + node.statement)
            continue
        rows = dict(node.rows)
        shared = next(iter(rows.values()))
        same = all(row == shared for row in rows.values())
        text = str(shared) if same else ", ".join(f"{s}: {row}" for s, row in rows.items())
        marks = []
        if node.parallel:
            p = node.parallel
            marks.append(
                f"parallel {p.schedule}{f' {p.chunk}' * bool(p.chunk)}{f' collapse {p.collapse}' * (p.collapse > 1)}"
            )
        if node.vector:
            marks.append("vector")
        if node.unroll != 1:
            marks.append(f"unroll {node.unroll or 'completely'}")
        marks += [f"pack {mark.array}" for mark in node.packs]
        marks += [f"stream {array}" for array in node.streams]
        if node.register:
            wide = node.register.vector_bytes
            marks.append("register " + "x".join(map(str, node.register.sizes)) + f" of {wide} bytes" * bool(wide))
        lines.append("  " * indent + f"{node.name} ({text})" + "".join(f" [{mark}]" for mark in marks))
        lines.append(format_tree(node.children, indent + 1))
    return "\n".join(lines)
