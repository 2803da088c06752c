"""Limits that a process sets itself: never more than it was given."""

from __future__ import annotations

import resource


def lower_limit(what: int, value: int) -> None:
    """Lowers a limit (`resource.RLIMIT_…`) to `value`, or leaves it where that is less, as under `ulimit`."""
    soft, hard = (value if old == resource.RLIM_INFINITY else min(value, old) for old in resource.getrlimit(what))
    resource.setrlimit(what, (min(soft, hard), hard))
