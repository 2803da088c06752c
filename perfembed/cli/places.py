"""Prints findings by their places in files: for programs that show them there, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfembed.report.findings import Finding


def print_sarif(findings: Sequence[Finding], path: str, content: bytes) -> None:
    """Of the file `path`, which was read as `content`; what is below the working folder is named relative to it."""
    from importlib.metadata import version

    from perfembed.report.sarif import sarif

    print(sarif(findings, path, content, Path.cwd(), version("perfembed")))


def print_lines(lines: Sequence[str]) -> None:
    """Nothing at all where there are none."""
    for line in lines:
        print(line)
