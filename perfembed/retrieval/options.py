"""What a search for donors can be asked for; light, for the command line."""

from __future__ import annotations

from typing import Literal, get_args

Same = Literal["machine", "type", "assumptions"]
SAME: tuple[Same, ...] = get_args(Same)
