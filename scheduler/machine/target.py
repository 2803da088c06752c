"""The machine a nest is scheduled for."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler.machine.microkernel import Core


@dataclass(frozen=True, slots=True)
class Target:
    """The machine a nest is scheduled for: threads, bytes of a vector register, bytes of the data caches.

    These numbers are what models were trained on. `core` has what register blocks are computed from; of its vectors
    a block names those that are not of `vector_bytes`.
    """

    threads: int
    vector_bytes: int = 32
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 512 * 1024
    l3_bytes: int = 8 * 1024 * 1024
    core: Core = field(default_factory=Core)

    def numbers(self) -> dict[str, int]:
        """What stored measurements and weights know of a machine."""
        names = ("threads", "vector_bytes", "l1_bytes", "l2_bytes", "l3_bytes")
        return {name: getattr(self, name) for name in names}
