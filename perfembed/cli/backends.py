"""`--backend`: who counts what a nest does to the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfembed.cli.session import Session
from perfembed.errors import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from profilers.backend import Backend

BACKENDS = ("auto", "likwid", "perf", "simulated")


def backend_of(name: str, session: Session) -> Backend:
    """Raises UsageError, EnvironmentMissing where it does not count here."""
    from profilers.backends import BackendMissing, choose

    if name not in BACKENDS:
        raise UsageError(f"--backend {name!r}: expected {', '.join(BACKENDS)}")
    try:
        return choose(name, session.environment)
    except BackendMissing as problem:
        raise EnvironmentMissing(str(problem), "--backend simulated works everywhere") from None
