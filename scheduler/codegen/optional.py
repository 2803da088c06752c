"""Arrays that may be NULL: a parameter of the nest says whether one is."""

from __future__ import annotations

from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import Array, LoopNest, not_null


class Given:
    """What a nest knows about which of its arrays there are."""

    def __init__(self, nest: LoopNest) -> None:
        self._names = {p.base: p.name for p in nest.parameters if p.base is not None}

    def of(self, array: Array) -> str | None:
        """The name of the parameter that is 0 where the array is NULL; None where there is none."""
        return self._names.get(not_null(array.base or array.name))

    def check(self, array: Array, problem: CodegenUnsupported | None = None) -> None:
        """Raises CodegenUnsupported, or the problem that is given, where the array may be NULL."""
        if self.of(array) is not None:
            raise problem or CodegenUnsupported(f"{array.name} may be NULL: its distance to rows cannot be told")

    def where(self, test: str, *arrays: Array) -> str:
        """A test, as C text, that is made only where none of the arrays is NULL, and passed otherwise."""
        names = [name for array in arrays if (name := self.of(array)) is not None]
        return f"({' || '.join([*(f'!{name}' for name in names), test])})" if names else test
