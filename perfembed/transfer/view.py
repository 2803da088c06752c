"""A nest in the middle of a transfer: its tree, the paths from roots to statements, and its nodes' embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from perfembed.transfer.embedders import NodeEmbedder, Tree, Vectors, sequential_loops
from scheduler.ir.tree import Leaf, TreeLoop, tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import access_stride, minimize_strides
from scheduler.replay import Replayer
from scheduler.schedule import Schedule

Kind = OneOf["point", "tile", "block", "register", "opaque"]


@dataclass(frozen=True, slots=True)
class Part:
    """What of a nest takes part: only these statements (None: all), and not the loops that came from `hidden`."""

    statements: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()


WHOLE = Part()
_REGION_WORK = 10_000  # statement instances: some microseconds, several times what starting threads takes


@dataclass(frozen=True, slots=True)
class Path:
    """The loops from a root to statements that stand in the same loop, outermost first; `work` is their instances."""

    loops: tuple[TreeLoop, ...]
    statements: tuple[str, ...]
    work: float


@dataclass(frozen=True, slots=True)
class View:
    """A tree with everything that matching asks about it."""

    tree: Tree
    paths: tuple[Path, ...]
    kinds: Mapping[str, Kind]
    loops: Vectors
    arrays: Vectors
    statements: Vectors

    def loop(self, name: str) -> TreeLoop | None:
        return next((loop for loop in tree_loops(self.tree) if loop.name == name), None)

    def path_of(self, loop: str) -> Path | None:
        """The path with most work that a loop stands on."""
        found = [path for path in self.paths if any(x.name == loop for x in path.loops)]
        return max(found, key=lambda path: path.work, default=None)


class Side:
    """A donor or a target: a nest, the sizes it runs with, the machine, and how its nodes are embedded.

    Remembers a view for every tree, so that many donors can be held against one target.
    """

    def __init__(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        embedder: NodeEmbedder,
        first: Schedule = (),
    ) -> None:
        """`first`: the steps that made the nest of the one that is written (`NEST_STEPS`)."""
        self.replayer = replayer
        self.first = first
        self.parameters = dict(parameters)
        self.machine = target
        self.space = Space(replayer, target, parameters)
        self._embedder = embedder
        self._views: dict[Tree, View] = {}
        self._after: dict[Schedule, View] = {}
        self._schedules: dict[str, Schedule] = {}
        self._work = {s: self._instances(s) for s in replayer.model.placed}
        self.total_work = sum(self._work.values())

    def view(self, schedule: Schedule) -> View:
        """Raises NotApplicable."""
        if schedule in self._after:
            return self._after[schedule]
        tree = self.replayer.tree(schedule)
        if tree not in self._views:
            given = (self.replayer, tree, self.parameters)
            self._views[tree] = View(
                tree,
                self._paths(tree),
                _kinds(tree),
                self._embedder.loops(*given),
                self._embedder.arrays(*given),
                self._embedder.statements(*given),
            )
        self._after[schedule] = self._views[tree]
        return self._views[tree]

    def sequential(self, view: View, reductions: bool = False) -> frozenset[str]:
        """The loops that carry dependences; with `reductions` those that a reduction clause is enough for are none."""
        return sequential_loops(self.replayer, view.tree, reductions)

    def remembered(self, name: str, compute: Callable[[], Schedule]) -> Schedule:
        """A schedule that depends on this side alone, computed once."""
        if name not in self._schedules:
            self._schedules[name] = compute()
        return self._schedules[name]

    def extent(self, loop: TreeLoop) -> int:
        """Iterations of the loop that a tree loop came from."""
        return self.space.extent(loop)

    def trips(self, loop: TreeLoop) -> int:
        """Iterations of a tree loop: of a tile loop, its blocks."""
        return -(-self.extent(loop) // max(loop.tile, 1))

    def worth_threads(self, path: Path, loop: TreeLoop) -> bool:
        """Enough iterations for the threads, and work enough to start them each time the loop is reached."""
        if self.trips(loop) < self.machine.threads:
            return False
        times = 1.0
        for outer in path.loops:
            if outer.name == loop.name:
                break
            times *= max(self.trips(outer), 1)
        return path.work / times >= _REGION_WORK

    def writes_along(self, loop: TreeLoop) -> bool:
        """Every write of the statements below moves by one element along the loop."""
        for statement, row in loop.rows:
            direction = {n: row.coefficient(n) for n in row.names()}
            for use in self.replayer.model.uses(statement):
                if use.is_write and access_stride(self.replayer.nest, use, direction) != 1:
                    return False
        return True

    def share(self, path: Path) -> float:
        """Of all statement instances, how many are on a path."""
        return path.work / max(self.total_work, 1.0)

    def _instances(self, statement: str) -> float:
        count = 1.0
        for iterator in self.replayer.model.iterators(statement):
            count *= max(self.space.extents.get(iterator, 1), 1)
        return count

    def _paths(self, tree: Tree) -> tuple[Path, ...]:
        found: list[Path] = []

        def visit(nodes: Tree, around: tuple[TreeLoop, ...]) -> None:
            own = tuple(node.statement for node in nodes if isinstance(node, Leaf))
            if own and around:
                found.append(Path(around, own, sum(self._work[s] for s in own)))
            for node in nodes:
                if isinstance(node, TreeLoop):
                    visit(node.children, (*around, node))

        visit(tree, ())
        return tuple(sorted(found, key=lambda path: -path.work))


def normalized(side: Side) -> Schedule:
    """What splits the nest as far as it goes and then orders its loops for small strides."""
    return side.remembered("normalized", lambda: minimize_strides(side.replayer, maximal_fission(side.replayer)))


def outer_sequential(side: Side) -> frozenset[str]:
    """The outermost loops that carry dependences and have loops inside which do not (time loops)."""
    view = side.view(())
    sequential = side.sequential(view)
    found: set[str] = set()

    def visit(nodes: Tree) -> None:
        for node in nodes:
            if isinstance(node, Leaf) or node.name not in sequential:
                continue
            if any(isinstance(child, TreeLoop) for child in node.children):
                found.add(node.origin)
                visit(node.children)

    visit(view.tree)
    return frozenset(found)


def _kinds(tree: Tree) -> dict[str, Kind]:
    """Loops of different kinds are never matched: a recipe's tile loop is not another's loop over elements."""
    blocks = {name for loop in tree_loops(tree) if loop.register for name in loop.register.loops}
    found: dict[str, Kind] = {}
    for loop in tree_loops(tree):
        if loop.opaque:
            found[loop.name] = "opaque"
        elif loop.name in blocks:
            found[loop.name] = "register"
        elif loop.tile:
            over = [x.register for x in tree_loops(loop.children) if x.register]
            inside = any(loop.name.startswith(f"{n}_r") for mark in over for n in mark.loops)
            found[loop.name] = "block" if inside else "tile"
        else:
            found[loop.name] = "point"
    return found
