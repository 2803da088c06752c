"""Register blocking: blocks of loops move innermost and run unrolled on vector registers.

`for i { for j { for k: C[i][j] += … } }` with loops (i, j), sizes (4, 8) becomes
`for i_r { for j_r { for k { for i in block { for j in block: … } } } }`, where a full block keeps its
elements of C in registers over the whole k loop. The last loop named becomes the vector dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import Leaf, RegisterMark, TreeLoop, replace_loop
from scheduler.transform.common import Tree, chain, clear_marks, fresh_name, listed, nest_chain, the_loop
from scheduler.transform.tile import tile_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching, Unmatched


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """Tiles `loops` by `sizes`, moves the blocks innermost and runs full blocks unrolled in vector registers.

    `vector_bytes` are those of one register; 0: the usual ones of the machine the code is made for.
    """

    keyword: ClassVar[str] = "register_block"
    loops: tuple[str, ...]
    sizes: tuple[int, ...]
    vector_bytes: int = 0

    def apply(self, tree: Tree) -> Tree:
        if not self.loops or len(self.loops) != len(self.sizes) or len(set(self.loops)) != len(self.loops):
            raise NotApplicable("register_block needs as many sizes as loops, each loop once")
        if any(not 1 <= size <= 64 for size in self.sizes):
            raise NotApplicable("a register block has 1 to 64 iterations of each loop")
        if self.vector_bytes not in VECTOR_BYTES:
            raise NotApplicable(f"a vector register has {', '.join(map(str, VECTOR_BYTES[1:]))} bytes")
        order = [loop for loop in _innermost_chain(tree, self.loops[0])]
        names = [loop.name for loop in order]
        for name in self.loops:
            the_loop(tree, name)
            if name not in names:
                raise NotApplicable(f"loops {', '.join(self.loops)} are not in one innermost perfect chain")
        first = min(names.index(name) for name in self.loops)
        loops = chain(tree, names[first], names[-1])
        body = loops[-1].children
        if not all(isinstance(node, Leaf) for node in body):
            raise NotApplicable("a register block holds statements only")
        if any(loop.register for loop in loops):
            raise NotApplicable("the loops are register blocked already")
        if any(loop.opaque for loop in loops if loop.name in self.loops):
            raise NotApplicable("a loop with data-dependent bounds cannot be register blocked")
        outside: list[TreeLoop] = []
        points: dict[str, TreeLoop] = {}
        taken: frozenset[str] = frozenset()
        sizes = dict(zip(self.loops, self.sizes, strict=True))
        for loop in loops:
            if loop.name not in sizes:
                outside.append(loop)
                continue
            points[loop.name] = clear_marks(loop)
            if sizes[loop.name] > 1:
                tile = tile_loop(tree, loop, sizes[loop.name], "r", taken)
            else:
                tile = replace(loop, name=fresh_name(tree, f"{loop.name}_r", taken))
            taken |= {tile.name}
            outside.append(tile)
        inner = [points[name] for name in self.loops]
        inner[0] = replace(inner[0], register=RegisterMark(self.loops, self.sizes, self.vector_bytes))
        return replace_loop(tree, loops[0].name, (nest_chain((*outside, *inner), body),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """As many rows, and vectors a row, of the target's vectors. Raises Unmatched, NoCounterpart."""
        given = dict(zip(self.loops, self.sizes, strict=False))
        pairs = tuple(p for name in given if (p := matching.loops.get(name)))
        if not pairs or pairs[-1].donor != self.loops[-1]:
            raise Unmatched(f"no loop of the target stands for the vectorized loop {self.loops[-1]}")
        loops = tuple(matching.loop(pair.target) for pair in pairs)
        names = tuple(loop.name for loop in loops)
        order = matching.order(names)
        if not matching.writes_along(loops[-1]):
            raise NoCounterpart(f"what is written does not stay together along {names[-1]}")
        literal = tuple(given[pair.donor] for pair in pairs)
        adapted = RegisterBlock(names, *matching.register_sizes(literal, self.vector_bytes, loops))
        missing = [name for name in given if name not in matching.loops]
        note = f"without {', '.join(missing)}" if missing else ""
        made = (adapted,), (RegisterBlock(names, literal, self.vector_bytes),)
        return Counterpart(*made, pairs, order, True, note)

    def words(self) -> str:
        loops, sizes = listed(self.loops), " x ".join(map(str, self.sizes))
        width = f" of {self.vector_bytes} bytes" if self.vector_bytes else ""
        plural = "s" if len(self.loops) > 1 else ""
        return (
            f"Compute loop{plural} {loops} in blocks of {sizes} that stay in vector registers{width}: what is computed "
            "is loaded and stored once a block."
        )


VECTOR_BYTES = (0, 16, 32, 64)  # 0: the machine's usual ones


def _innermost_chain(tree: Tree, name: str) -> list[TreeLoop]:
    """The maximal perfect chain that holds the loop and ends innermost."""

    def search(nodes: Tree, current: list[TreeLoop]) -> list[TreeLoop] | None:
        for node in nodes:
            if not isinstance(node, TreeLoop):
                continue
            extended = [*current, node] if len(nodes) == 1 else [node]
            found = search(node.children, extended)
            if found is not None:
                return found
            if any(loop.name == name for loop in extended) and not any(
                isinstance(child, TreeLoop) for child in node.children
            ):
                return extended
        return None

    return search(tree, []) or []
