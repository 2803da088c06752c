"""A C parser that is stopped for lack of time, as where there is none to spare: a real one, with a tiny limit."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from scheduler.frontend import ParseOptions, SourceFile, read_source


def no_time_to_read(patch: pytest.MonkeyPatch, name: str) -> None:
    """Files of that name are not read."""

    def reading(path: str, options: ParseOptions, content: bytes) -> SourceFile:
        late = os.path.basename(path) == name
        return read_source(path, replace(options, timeout_s=0.01) if late else options, content)

    patch.setattr("perfembed.reading.read_source", reading)
