"""What the transformations share: finding loops, perfect chains, fresh names, rewriting a chain of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, find_loop, tree_loops

Tree = tuple[TreeNode, ...]


def the_loop(tree: Tree, name: str) -> TreeLoop:
    """Raises NotApplicable when the tree has no such loop."""
    loop = find_loop(tree, name)
    if loop is None:
        raise NotApplicable(f"there is no loop {name} (loops: {', '.join(x.name for x in tree_loops(tree))})")
    return loop


def chain(tree: Tree, outer: str, inner: str) -> tuple[TreeLoop, ...]:
    """The loops from outer to inner, both included, each the only child of the one before.

    Raises NotApplicable when they are not perfectly nested.
    """
    loop = the_loop(tree, outer)
    found = [loop]
    while loop.name != inner:
        if len(loop.children) != 1 or not isinstance(loop.children[0], TreeLoop):
            the_loop(tree, inner)
            raise NotApplicable(f"loops {outer} and {inner} are not perfectly nested: distribute {loop.name} first")
        loop = loop.children[0]
        found.append(loop)
    return tuple(found)


def chain_of(tree: Tree, names: tuple[str, ...]) -> tuple[TreeLoop, ...]:
    """The perfect chain spanned by `names`, which may leave out loops between; names in order outer to inner."""
    if not names:
        raise NotApplicable("no loops are named")
    if len(set(names)) != len(names):
        raise NotApplicable(f"a loop is named twice: {', '.join(names)}")
    found = chain(tree, names[0], names[-1])
    inside = [loop.name for loop in found if loop.name in names]
    if inside != list(names):
        raise NotApplicable(f"loops {', '.join(names)} are not nested in this order")
    return found


def nest_chain(loops: tuple[TreeLoop, ...], body: Tree) -> TreeLoop:
    """Builds loops[0] { loops[1] { … body } }."""
    for loop in reversed(loops):
        body = (replace(loop, children=body),)
    (top,) = body
    assert isinstance(top, TreeLoop)
    return top


def with_rows(loop: TreeLoop, change: Callable[[str, Affine], Affine]) -> TreeLoop:
    return replace(loop, rows=tuple((s, change(s, row)) for s, row in loop.rows))


def fresh_name(tree: Tree, wanted: str, taken: frozenset[str] = frozenset()) -> str:
    """`wanted`, or with the first number that makes it unique."""
    return free_name(wanted, {loop.name for loop in tree_loops(tree)} | taken, "")


def clear_marks(loop: TreeLoop) -> TreeLoop:
    return replace(loop, parallel=None, vector=False, unroll=1, packs=(), register=None, streams=())


def renamed(node: TreeNode, names: dict[str, str]) -> TreeNode:
    """The same tree with loops renamed."""
    if isinstance(node, Leaf):
        return node
    return replace(
        node, name=names.get(node.name, node.name), children=tuple(renamed(child, names) for child in node.children)
    )


def siblings(tree: Tree, name: str) -> tuple[TreeLoop | None, Tree, int]:
    """(parent loop or None, the nodes beside it, its position). Raises NotApplicable."""

    def search(nodes: Tree, parent: TreeLoop | None) -> tuple[TreeLoop | None, Tree, int] | None:
        for position, node in enumerate(nodes):
            if (isinstance(node, TreeLoop) and node.name == name) or (
                isinstance(node, Leaf) and node.statement == name
            ):
                return parent, nodes, position
            if isinstance(node, TreeLoop):
                found = search(node.children, node)
                if found is not None:
                    return found
        return None

    found = search(tree, None)
    if found is None:
        raise NotApplicable(f"there is no loop or statement {name}")
    return found


def with_children(tree: Tree, parent: TreeLoop | None, nodes: Tree) -> Tree:
    """The tree with the children of `parent` (None: the roots) exchanged."""
    if parent is None:
        return nodes

    def visit(current: Tree) -> Tree:
        return tuple(
            node
            if isinstance(node, Leaf)
            else replace(node, children=nodes if node.name == parent.name else visit(node.children))
            for node in current
        )

    return visit(tree)


def listed(names: Sequence[str]) -> str:
    """i, j and k"""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
