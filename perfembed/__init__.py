"""perfembed: makes the loops of a C program faster without changing what they compute.

`tune` and `embed` are what the command line does, for Python; see `perfembed.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfembed.api import embed, tune

__all__ = ["embed", "tune"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the command line starts without."""
    if name in __all__:
        from perfembed import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
