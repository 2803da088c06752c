"""perfembed: makes the loops of a C program faster without changing what they compute.

`tune` and `embed` are what the command line does, for Python; see `perfembed.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfembed.api import embed, tune

    __version__: str

__all__ = ["__version__", "embed", "tune"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the command line starts without."""
    if name == "__version__":
        from importlib.metadata import version

        return version("perfembed")
    if name in __all__:
        from perfembed import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
