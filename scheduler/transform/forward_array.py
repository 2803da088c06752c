"""ForwardArray: a private scalar or array that a nest needs only for how it is written is taken away.

`for i { t = 0; for k: t += A[i][k]; C[i] = t; }` becomes `for i { C[i] = 0; for k: C[i] += A[i][k]; }`, and
`t = f(i); C[i] = t;` becomes `C[i] = f(i);`: fewer statements to keep together, and nothing to keep for every iteration
when loops change places.
Source: see `normalize.accumulators`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.nest import LoopNest, Storage
from scheduler.normalize.accumulators import without_accumulator
from scheduler.polyhedral.model import Model
from scheduler.transform.common import Tree


@dataclass(frozen=True, slots=True)
class ForwardArray:
    """Keeps a sum in the array where it ends instead of in a private one, or computes a value where it is used.

    It stands before all other steps: it changes the nest that these are for. The result is the same to the bit.
    """

    keyword: ClassVar[str] = "eliminate"
    array: str

    def apply(self, tree: Tree) -> Tree:
        raise NotApplicable("eliminate stands before all other steps")

    def cut(self, model: Model) -> LoopNest:
        """The nest without the array. Raises NotApplicable."""
        nest = model.nest
        if not any(a.name == self.array and a.storage is Storage.PRIVATE for a in nest.arrays):
            raise NotApplicable(f"there is no private {self.array}")
        changed = without_accumulator(nest, self.array)
        if changed is None:
            raise NotApplicable(f"{self.array} is no value used once, and no sum that is stored when it is complete")
        return changed

    def words(self) -> str:
        return (
            f"Before anything else do without {self.array}: keep its sum in the array where it ends, or compute its "
            "value where it is used."
        )
