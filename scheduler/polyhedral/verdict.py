"""What the check of a schedule says: legal, illegal with two instances that show it, or not known."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl


@dataclass(frozen=True, slots=True)
class Legal:
    pass


@dataclass(frozen=True, slots=True)
class Illegal:
    """A dependence the schedule breaks, with a witness: two instances and parameter values.

    `loop` is set when they do not run in the wrong order but may run at the same time in that loop.
    """

    dependence: str
    source: str
    sink: str
    source_instance: tuple[tuple[str, int], ...]
    sink_instance: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, int], ...]
    loop: str | None = None

    def __str__(self) -> str:
        def show(name: str, point: tuple[tuple[str, int], ...]) -> str:
            return f"{name}({', '.join(f'{k}={v}' for k, v in point)})"

        where = f"may run at the same time in loop {self.loop} as" if self.loop else "no longer runs before"
        at = f" for {', '.join(f'{k}={v}' for k, v in self.parameters)}" if self.parameters else ""
        return (
            f"{self.dependence}: {show(self.source, self.source_instance)} {where} "
            f"{show(self.sink, self.sink_instance)}{at}"
        )


@dataclass(frozen=True, slots=True)
class Unknown:
    """No verdict; never treated as legal."""

    reason: str


def values_at(point: isl.BasicMap, kind: isl.dim_type, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """The dimensions of one pair of instances, by name; what is not fixed may be anything, so 0."""
    values = [(name, point.plain_get_val_if_fixed(kind, k)) for k, name in enumerate(names)]
    return tuple((name, 0 if value.is_nan() else value.to_python()) for name, value in values)
