"""What the check of a schedule says: legal, illegal with two instances that show it, or not known."""

from __future__ import annotations

from dataclasses import dataclass


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
