"""How commands without a progress display say how far they are."""

from __future__ import annotations

import sys


def say(text: str, quiet: bool) -> None:
    """A line of progress on stderr."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)
